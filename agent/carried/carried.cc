#include "agent/carried/carried.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"

#define CARRIED(path, symbol) extern "C" const char symbol##_begin[], symbol##_end[];
#include "agent/carried/table.inc"
#undef CARRIED

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;

constexpr char kDriver[] = "lib/sassay-capture/libcuda.so.1";

const std::string& Digest() {
  static const std::string* digest = [] {
    std::string list;
    for (const CarriedFile& file : CarriedFiles()) absl::StrAppend(&list, Sha256Hex(file.bytes), "  ", file.path, "\n");
    return new std::string(Sha256Hex(list));
  }();
  return *digest;
}

absl::Status MakeFolder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::FailedPreconditionError(absl::StrCat("cannot make ", folder.string(), ": ", error.message()));
  return absl::OkStatus();
}

// Whatever the umask says: a sandbox of root runs what is in there as another user.
absl::Status Open(const fs::path& path) {
  if (chmod(path.c_str(), 0755) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("chmod ", path.string()));
}

absl::Status Write(const fs::path& folder) {
  for (const CarriedFile& file : CarriedFiles()) {
    const fs::path path = folder / file.path;
    RETURN_IF_ERROR(MakeFolder(path.parent_path()));
    for (fs::path above = path.parent_path(); above != folder.parent_path(); above = above.parent_path())
      RETURN_IF_ERROR(Open(above));
    RETURN_IF_ERROR(WriteFileAtomically(path, file.bytes, 0755));
  }
  // For candidates that open the driver's library.
  std::error_code error;
  fs::create_symlink("libcudart.so.13", folder / kDriver, error);
  if (error)
    return absl::FailedPreconditionError(absl::StrCat("cannot link in ", folder.string(), ": ", error.message()));
  return absl::OkStatus();
}

bool HoldsAll(const fs::path& folder) {
  for (const CarriedFile& file : CarriedFiles()) {
    const absl::StatusOr<std::string> bytes = ReadUntrustedFile(folder / file.path, file.bytes.size());
    if (!bytes.ok() || *bytes != file.bytes || access((folder / file.path).c_str(), X_OK) != 0) return false;
  }
  return access((folder / kDriver).c_str(), R_OK) == 0;
}

// What is run from there has the user's rights, so nobody else may write there, and programs must be allowed to run.
absl::Status CheckPlace(const fs::path& folder) {
  struct stat info;
  if (lstat(folder.c_str(), &info) != 0) return absl::ErrnoToStatus(errno, folder.string());
  if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return absl::FailedPreconditionError(absl::StrCat(folder.string(), " can be written by others"));
  struct statvfs mount;
  if (statvfs(folder.c_str(), &mount) == 0 && (mount.f_flag & ST_NOEXEC) != 0)
    return absl::FailedPreconditionError(absl::StrCat(folder.string(), " is mounted noexec"));
  return absl::OkStatus();
}

absl::StatusOr<fs::path> UnpackInto(const fs::path& programs) {
  RETURN_IF_ERROR(MakeFolder(programs));
  RETURN_IF_ERROR(CheckPlace(programs));
  const fs::path place = programs / Digest();
  if (HoldsAll(place)) return place;
  ASSIGN_OR_RETURN(const TemporaryDirectory directory, TemporaryDirectory::Create("new-", programs));
  const fs::path fresh = directory.path() / "tree";
  RETURN_IF_ERROR(Write(fresh));
  // Another agent may be ahead of us: then this fails, and theirs will do. What is damaged is exchanged, so that there
  // is something at any time.
  std::error_code error;
  fs::rename(fresh, place, error);
  if (HoldsAll(place)) return place;
  if (renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) != 0)
    error = std::error_code(errno, std::generic_category());
  if (HoldsAll(place)) return place;
  return absl::FailedPreconditionError(absl::StrCat("cannot keep ", place.string(), ": ", error.message()));
}

// Goes with the process.
absl::StatusOr<fs::path> UnpackForNow() {
  static std::unique_ptr<TemporaryDirectory> directory;
  if (directory == nullptr) {
    ASSIGN_OR_RETURN(TemporaryDirectory made, TemporaryDirectory::Create("sassay-programs"));
    directory = std::make_unique<TemporaryDirectory>(std::move(made));
  }
  return UnpackInto(directory->path() / "programs");
}

}  // namespace

absl::StatusOr<fs::path> UnpackCarried(const fs::path& cache) {
  absl::Status lasting =
      absl::FailedPreconditionError("there is no folder for what is kept (--cache-dir DIR, or HOME)");
  if (!cache.empty()) {
    absl::StatusOr<fs::path> kept = UnpackInto(fs::absolute(cache) / "programs");
    if (kept.ok()) return kept;
    lasting = kept.status();
  }
  const absl::StatusOr<fs::path> passing = UnpackForNow();
  if (passing.ok()) return passing;
  return absl::FailedPreconditionError(absl::StrCat("the programs of capture cannot be unpacked: ", lasting.message(),
                                                    "; ", passing.status().message(),
                                                    ". --cache-dir DIR names another place"));
}

const std::vector<CarriedFile>& CarriedFiles() {
  static const auto* files = new std::vector<CarriedFile>{
#define CARRIED(path, symbol) \
  {path, absl::string_view(symbol##_begin, static_cast<size_t>(symbol##_end - symbol##_begin))},
#include "agent/carried/table.inc"
#undef CARRIED
  };
  return *files;
}

}  // namespace sassay::agent
