// Temporary files that do not outlive a crash for long.
//
// Why: a TemporaryDirectory goes away with its object, and a process that is killed destroys no objects. A long-lived
// service that is killed now and then would fill /tmp with hostile cubins that nobody owns.
#ifndef SASSAY_COMMON_BASE_SCRATCH_H_
#define SASSAY_COMMON_BASE_SCRATCH_H_

#include <filesystem>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/fd.h"
#include "common/base/files.h"

namespace sassay {

// A folder of this process below one that several processes may share. Its owner is known by a lock that the kernel
// lets go of however the process ends; Create clears away every folder that has no owner any more.
//
// Life cycle: lives as long as the object, or until the next Create on the same parent. Move-only.
// Failure: UNAVAILABLE names the folder that cannot be made or locked.
class Scratch {
 public:
  // `parent` is made if it is missing.
  static absl::StatusOr<Scratch> Create(const std::filesystem::path& parent);
  const std::filesystem::path& path() const { return directory_.path(); }

 private:
  Scratch(UniqueFd lock, TemporaryDirectory directory) : lock_(std::move(lock)), directory_(std::move(directory)) {}

  UniqueFd lock_;
  TemporaryDirectory directory_;
};

}  // namespace sassay

#endif  // SASSAY_COMMON_BASE_SCRATCH_H_
