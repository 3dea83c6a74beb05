// Small files, whole; and directories that go away by themselves.
#ifndef SASSAY_COMMON_BASE_FILES_H_
#define SASSAY_COMMON_BASE_FILES_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay {

// Reads a file whole: also a pipe, whose end is waited for. NOT_FOUND if it is missing, INVALID_ARGUMENT for a
// directory, RESOURCE_EXHAUSTED past `limit_bytes`.
absl::StatusOr<std::string> ReadFile(const std::filesystem::path& path, uint64_t limit_bytes = uint64_t{1} << 30);

// The same for a file that a sandboxed program left where it could write: a link is not followed, and what is no
// regular file (a pipe that never ends) is INVALID_ARGUMENT.
absl::StatusOr<std::string> ReadUntrustedFile(const std::filesystem::path& path,
                                              uint64_t limit_bytes = uint64_t{1} << 30);

// Writes beside `path`, syncs, and renames: a reader sees the old content or the new, never a mixture, and after a
// crash the new content is on disk if OK was returned. A file that was there keeps its mode and, where we may, its
// owner.
absl::Status WriteFileAtomically(const std::filesystem::path& path, absl::string_view content);
// The same with this mode, whatever the umask says.
absl::Status WriteFileAtomically(const std::filesystem::path& path, absl::string_view content, mode_t mode);

// Writes where a person said: links are followed, and what is no regular file (/dev/null, a pipe) is written to as it
// stands. A regular file is replaced as by WriteFileAtomically. INVALID_ARGUMENT for a directory.
absl::Status WriteNamedFile(const std::filesystem::path& path, absl::string_view content);

// Whether `untrusted_name` is one plain file name: at most 128 letters, digits, '.', '_', '-', not beginning with '.'
// or '-'.
bool IsPlainFileName(absl::string_view untrusted_name);

// A new entry of the folder is found after a crash only if the folder is on disk, too.
absl::Status SyncDirectory(const std::filesystem::path& folder);

// Where a program keeps what must survive unless it is told: $XDG_STATE_HOME/sassay, or $HOME/.local/state/sassay, or
// /var/lib/sassay. The service and whoever looks into its folder agree by this.
std::string DefaultStateFolder();

// A fresh directory (mode 0700) that is removed with everything in it on destruction. Move-only.
class TemporaryDirectory {
 public:
  // Under $TMPDIR or /tmp, or under `parent` if given; the name begins with `prefix`.
  static absl::StatusOr<TemporaryDirectory> Create(absl::string_view prefix, const std::filesystem::path& parent = {});
  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TemporaryDirectory& operator=(TemporaryDirectory&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TemporaryDirectory();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace sassay

#endif  // SASSAY_COMMON_BASE_FILES_H_
