// Bearer tokens: who may talk to the service, and as what.
//
// A token is 32 random bytes in hex behind "sassay_"; the file keeps only its SHA-256, which is enough for a secret
// with that much entropy. One line per token:
//
//   NAME ROLE sha256:HEX
//
// NAME is the tenant; several lines may share it (rotation: add the new one, hand it over, revoke the old one). ROLE is
// `tenant` or `admin`. Empty lines and lines that begin with # are skipped.
#ifndef SASSAY_PROFILER_SERVICE_API_AUTH_TOKENS_H_
#define SASSAY_PROFILER_SERVICE_API_AUTH_TOKENS_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/base/fd.h"

namespace sassay::api {

enum class Role { kTenant, kAdmin };

// One line of the file.
struct TokenEntry {
  std::string name;
  Role role = Role::kTenant;
  std::string sha256;  // of the token, in hex
};

// INVALID_ARGUMENT names the line.
absl::StatusOr<std::vector<TokenEntry>> ParseTokenFile(absl::string_view content);

// Adds a token for `name` and returns it; it is written nowhere else. The file is created if missing.
absl::StatusOr<std::string> AddToken(const std::filesystem::path& file, const std::string& name, Role role);
// Removes every token of `name`. NOT_FOUND if there is none.
absl::Status RevokeTokens(const std::filesystem::path& file, const std::string& name);

const char* RoleName(Role role);
// INVALID_ARGUMENT for anything but "tenant" and "admin".
absl::StatusOr<Role> RoleFromName(absl::string_view name);

// Who is calling.
struct Caller {
  std::string tenant;
  Role role = Role::kTenant;
  std::string token_sha256;  // empty: the service asks for no token
};

// Answers who a token belongs to, and follows the file: a change takes effect at once, without a restart. A file that
// turned unreadable in its syntax leaves the former tokens in force (and is logged); a file that was removed admits
// nobody. Thread-safe.
class TokenRegistry {
 public:
  // Without a file: everybody is `everybody`.
  explicit TokenRegistry(Caller everybody);
  // Reads `file` and watches its directory. INVALID_ARGUMENT, NOT_FOUND; UNAVAILABLE if it cannot be watched.
  static absl::StatusOr<std::unique_ptr<TokenRegistry>> Open(const std::filesystem::path& file);
  ~TokenRegistry();

  // `authorization` is the header's value, empty if absent. UNAUTHENTICATED says what to do.
  absl::StatusOr<Caller> Authenticate(absl::string_view authorization) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether what Authenticate once said still holds.
  bool StillValid(const Caller& caller) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Called after each change, on the watching thread. Set once, before calls arrive.
  void OnChange(std::function<void()> changed) ABSL_LOCKS_EXCLUDED(mutex_);
  // Reads the file again now.
  absl::Status Reload() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Entries = std::unordered_map<std::string, TokenEntry>;  // by sha256

  TokenRegistry(std::filesystem::path file, UniqueFd inotify, UniqueFd stop);
  void Watch();

  const std::filesystem::path file_;
  const bool open_to_all_;
  const Caller everybody_;
  const UniqueFd inotify_, stop_;
  mutable absl::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> changed_ ABSL_GUARDED_BY(mutex_) = [] {};
  std::thread watcher_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_AUTH_TOKENS_H_
