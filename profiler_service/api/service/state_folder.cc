#include "profiler_service/api/service/state_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"

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

absl::StatusOr<std::string> StateFolder::Identity() const {
  constexpr size_t kBytes = 8;
  const std::filesystem::path file = path_ / "identity";
  const absl::StatusOr<std::string> kept = ReadFile(file);
  if (kept.ok() && kept->size() == 2 * kBytes) return kept;
  if (!kept.ok() && !absl::IsNotFound(kept.status())) return kept.status();
  std::string made = RandomHex(kBytes);
  RETURN_IF_ERROR(WriteFileAtomically(file, made, 0600));
  return made;
}

}  // namespace sassay::api
