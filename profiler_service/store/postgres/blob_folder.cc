#include "profiler_service/store/postgres/blob_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/fd.h"
#include "common/base/files.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"

namespace sassay::store::postgres {
namespace fs = std::filesystem;

constexpr char kIdentity[] = "sassay-blobs";

absl::StatusOr<std::unique_ptr<BlobFolder>> BlobFolder::Open(const fs::path& path, const std::string& id, bool fresh) {
  std::unique_ptr<BlobFolder> folder(new BlobFolder(path, id));
  absl::Status usable;
  if (std::error_code error; fresh && !fs::exists(path / kIdentity, error)) {
    fs::create_directories(path, error);
    usable = WriteFileAtomically(path / kIdentity, id, 0600);
  }
  if (usable.ok()) usable = folder->CheckIdentity();
  if (usable.ok()) {
    const absl::StatusOr<std::string> probe = folder->Keep("");
    usable = probe.status();
    if (probe.ok()) folder->Remove(*probe);
  }
  if (usable.ok()) return folder;
  return absl::FailedPreconditionError(
      absl::StrCat("--blobs: ", path.string(), ": ", usable.message(),
                   "; mount the one folder for the service's user on every front end"));
}

absl::Status BlobFolder::CheckIdentity() const {
  const absl::StatusOr<std::string> found = ReadFile(path_ / kIdentity);
  if (found.ok() && *found == id_) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("expected a file ", kIdentity, " with ", id_, " there, got ",
                                             found.ok() ? *found : "none",
                                             ": this is not the folder of this database, or it is not mounted"));
}

absl::StatusOr<std::string> BlobFolder::Keep(absl::string_view bytes) const {
  const std::string name = RandomHex(16);
  const fs::path file = PathOf(name);
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  absl::Status kept = WriteFileAtomically(file, bytes, 0600);
  if (kept.ok()) kept = SyncDirectory(file.parent_path());
  if (kept.ok()) kept = SyncDirectory(path_);
  if (kept.ok()) return name;
  Remove(name);
  return absl::UnavailableError(absl::StrCat("blob store: ", kept.message()));
}

absl::StatusOr<std::string> BlobFolder::Read(const std::string& name, uint64_t offset, uint64_t limit) const {
  const UniqueFd fd(open(PathOf(name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid() && errno == ENOENT) {
    RETURN_IF_ERROR(CheckIdentity());
    return absl::DataLossError(absl::StrCat("blob store: there is no file ", name));
  }
  struct stat info;
  if (!fd.valid() || fstat(fd.get(), &info) != 0) {
    return absl::UnavailableError(absl::StrCat("blob store: cannot open ", name, ": ", strerror(errno)));
  }
  const uint64_t size = static_cast<uint64_t>(info.st_size), begin = std::min(offset, size);
  std::string bytes(std::min(limit, size - begin), '\0');
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t got = pread(fd.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::UnavailableError(absl::StrCat("blob store: cannot read ", name, ": ", strerror(errno)));
    if (got == 0) return absl::DataLossError(absl::StrCat("blob store: the file ", name, " ends too early"));
    done += static_cast<size_t>(got);
  }
  return bytes;
}

void BlobFolder::Remove(const std::string& name) const { unlink(PathOf(name).c_str()); }

std::vector<std::string> BlobFolder::OlderThan(absl::Time before) const {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& part : fs::directory_iterator(path_, error)) {
    if (!part.is_directory(error)) continue;
    for (const fs::directory_entry& file : fs::directory_iterator(part.path(), error)) {
      struct stat info;
      if (lstat(file.path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
      if (absl::TimeFromTimespec(info.st_mtim) < before) names.push_back(file.path().filename().string());
    }
  }
  return names;
}

}  // namespace sassay::store::postgres
