#include "common/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/fd.h"
#include "common/base/status_macros.h"

namespace sassay {
namespace {

absl::Status ErrnoStatus(absl::string_view what, const std::filesystem::path& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat(what, " ", path.string()));
}

absl::Status WriteAll(int fd, absl::string_view content, const std::filesystem::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus("write", path);
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

// Asked once: asking sets it for a moment, for all threads.
mode_t Umask() {
  static const mode_t mask = [] {
    const mode_t found = ::umask(0077);
    ::umask(found);
    return found;
  }();
  return mask;
}

// Where a chain of links leads, whether or not something is there.
std::filesystem::path LinkTarget(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as the kernel follows
  std::error_code error;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, error); ++i)
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  return path;
}

// Only root gives files away; for others the group may go.
void KeepOwner(const std::filesystem::path& path, int fd) {
  struct stat former {};
  if (::stat(path.c_str(), &former) != 0 || !S_ISREG(former.st_mode)) return;
  if (::fchown(fd, former.st_uid, former.st_gid) == 0) return;
  if (::fchown(fd, static_cast<uid_t>(-1), former.st_gid) != 0) return;
}

absl::Status TooLarge(const std::filesystem::path& path, uint64_t limit_bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat(path.string(), " is larger than the limit of ", limit_bytes, " bytes"));
}

absl::StatusOr<std::string> ReadOpened(int fd, uint64_t size, const std::filesystem::path& path, uint64_t limit_bytes) {
  if (size > limit_bytes) return TooLarge(path, limit_bytes);
  std::string content;
  content.reserve(size);
  char chunk[1 << 16];
  while (true) {
    const ssize_t got = ::read(fd, chunk, sizeof(chunk));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus("read", path);
    if (got == 0) return content;
    if (content.size() + static_cast<size_t>(got) > limit_bytes) return TooLarge(path, limit_bytes);
    content.append(chunk, static_cast<size_t>(got));
  }
}

absl::StatusOr<std::string> ReadWith(int flags, bool only_regular, const std::filesystem::path& path,
                                     uint64_t limit_bytes) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (!fd.valid()) return ErrnoStatus("open", path);
  struct stat facts {};
  if (::fstat(fd.get(), &facts) != 0) return ErrnoStatus("stat", path);
  if (S_ISDIR(facts.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path.string(), " is a directory"));
  if (only_regular && !S_ISREG(facts.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path.string(), " is no regular file"));
  }
  return ReadOpened(fd.get(), static_cast<uint64_t>(facts.st_size), path, limit_bytes);
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::filesystem::path& path, uint64_t limit_bytes) {
  return ReadWith(0, /*only_regular=*/false, path, limit_bytes);
}

absl::StatusOr<std::string> ReadUntrustedFile(const std::filesystem::path& path, uint64_t limit_bytes) {
  return ReadWith(O_NOFOLLOW | O_NONBLOCK, /*only_regular=*/true, path, limit_bytes);
}

absl::Status WriteFileAtomically(const std::filesystem::path& path, absl::string_view content) {
  struct stat former {};
  const bool there = ::stat(path.c_str(), &former) == 0 && S_ISREG(former.st_mode);
  return WriteFileAtomically(path, content, there ? former.st_mode & 07777 : 0666 & ~Umask());
}

absl::Status WriteFileAtomically(const std::filesystem::path& path, absl::string_view content, mode_t mode) {
  const std::filesystem::path directory = path.has_parent_path() ? path.parent_path() : ".";
  std::string temporary = (directory / absl::StrCat(".", path.filename().string(), ".XXXXXX")).string();
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("create", temporary);
  KeepOwner(path, fd.get());
  ::fchmod(fd.get(), mode);
  absl::Status status = WriteAll(fd.get(), content, temporary);
  if (status.ok() && ::fsync(fd.get()) != 0) status = ErrnoStatus("sync", temporary);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) status = ErrnoStatus("rename to", path);
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  SyncDirectory(directory).IgnoreError();
  return absl::OkStatus();
}

absl::Status SyncDirectory(const std::filesystem::path& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) return ErrnoStatus("sync", folder);
  return absl::OkStatus();
}

bool IsPlainFileName(absl::string_view untrusted_name) {
  constexpr size_t kMaxBytes = 128;
  const absl::string_view name = untrusted_name;
  return !name.empty() && name.size() <= kMaxBytes && name[0] != '.' && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
         });
}

absl::Status WriteNamedFile(const std::filesystem::path& path, absl::string_view content) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || S_ISREG(facts.st_mode))
    return WriteFileAtomically(LinkTarget(path), content);
  if (S_ISDIR(facts.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path.string(), " is a directory"));
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("open", path);
  return WriteAll(fd.get(), content, path);
}

std::string DefaultStateFolder() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state != '\0') {
    return absl::StrCat(state, "/sassay");
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return absl::StrCat(home, "/.local/state/sassay");
  }
  return "/var/lib/sassay";
}

absl::StatusOr<TemporaryDirectory> TemporaryDirectory::Create(absl::string_view prefix,
                                                              const std::filesystem::path& parent) {
  std::filesystem::path base = parent;
  if (base.empty()) {
    const char* configured = std::getenv("TMPDIR");
    base = configured != nullptr && *configured != '\0' ? configured : "/tmp";
  }
  std::string name = (base / absl::StrCat(prefix, ".XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr)
    return ErrnoStatus(parent.empty() ? "cannot make a temporary folder (TMPDIR says where):" : "create directory",
                       name);
  return TemporaryDirectory(name);
}

TemporaryDirectory::~TemporaryDirectory() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace sassay
