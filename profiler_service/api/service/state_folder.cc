#include "profiler_service/api/service/state_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"

namespace sassay::api {

absl::StatusOr<StateFolder> StateFolder::Take(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::create_directories(path, error)) {
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
  }
  if (error) return absl::UnavailableError(absl::StrCat("--state ", path.string(), ": ", error.message()));
  const std::string name = path / "lock";
  UniqueFd lock(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return absl::UnavailableError(absl::StrCat("cannot open ", name, ": ", strerror(errno)));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return StateFolder(path, std::move(lock));
  return absl::FailedPreconditionError(absl::StrCat(
      path.string(), " is locked: another profiler-service uses this state; stop it or choose another --state"));
}

}  // namespace sassay::api
