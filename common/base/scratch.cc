#include "common/base/scratch.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<UniqueFd> Lock(const fs::path& folder, int how) {
  UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.valid() && flock(fd.get(), how) == 0) return fd;
  return absl::UnavailableError(absl::StrCat("cannot lock ", folder.string(), ": ", strerror(errno)));
}

void ClearAbandoned(const fs::path& parent) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    const absl::StatusOr<UniqueFd> abandoned = Lock(entry.path(), LOCK_EX | LOCK_NB);
    if (abandoned.ok()) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

absl::StatusOr<Scratch> Scratch::Create(const fs::path& parent) {
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) return absl::UnavailableError(absl::StrCat("cannot make ", parent.string(), ": ", error.message()));
  // Nobody sees a folder that is made and not locked yet.
  ASSIGN_OR_RETURN(const UniqueFd alone, Lock(parent, LOCK_EX));
  ClearAbandoned(parent);
  ASSIGN_OR_RETURN(TemporaryDirectory directory, TemporaryDirectory::Create("run", parent));
  ASSIGN_OR_RETURN(UniqueFd lock, Lock(directory.path(), LOCK_EX | LOCK_NB));
  return Scratch(std::move(lock), std::move(directory));
}

}  // namespace sassay
