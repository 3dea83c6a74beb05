// --state: the folder with everything that must survive, and the right to be the only service that uses it.
#ifndef SASSAY_PROFILER_SERVICE_API_SERVICE_STATE_FOLDER_H_
#define SASSAY_PROFILER_SERVICE_API_SERVICE_STATE_FOLDER_H_

#include <filesystem>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/fd.h"

namespace sassay::api {

// Blobs, the seed secret, barred digests and, unless --store says otherwise, the database lie in it; each believes that
// nobody else writes there.
//
// Life cycle: taken before anything else is started, held until the process ends; the kernel lets go of it however that
// happens. Move-only.
class StateFolder {
 public:
  // Makes the folder, for its owner only (what tenants submit is nobody else's on this machine; one that was there
  // keeps its mode), and locks it. FAILED_PRECONDITION: another service has it. UNAVAILABLE: it cannot be made.
  static absl::StatusOr<StateFolder> Take(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  // A random name, made when first asked for, kept there: tells this service from others that use the same store.
  absl::StatusOr<std::string> Identity() const;

 private:
  StateFolder(std::filesystem::path path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::filesystem::path path_;
  UniqueFd lock_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_SERVICE_STATE_FOLDER_H_
