// Bundles that have wedged devices: two are enough, and the digest is never scheduled again.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_BARRED_DIGESTS_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_BARRED_DIGESTS_H_

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"

namespace sassay::pipeline {

// Thread-safe. Kept in a file, one "digest device" a line, so that a restart forgets nothing. An operator who knows
// better deletes the line while the service is stopped.
class BarredDigests {
 public:
  // Devices that a digest must have wedged.
  static constexpr size_t kEnough = 2;

  // An empty path keeps nothing on disk. A missing file is an empty list.
  explicit BarredDigests(std::filesystem::path path = {});

  // `device` took a fresh runner just before `digest` ran alone on it, and none after.
  void Wedged(absl::string_view digest, absl::string_view device) ABSL_LOCKS_EXCLUDED(mutex_);
  // Why the digest is barred, naming the devices; nothing if it is not.
  absl::optional<std::string> WhyBarred(absl::string_view digest) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const std::filesystem::path path_;
  mutable absl::Mutex mutex_;
  std::map<std::string, std::set<std::string>> devices_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_BARRED_DIGESTS_H_
