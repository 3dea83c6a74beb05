// Bearer tokens: who may talk to the service, and as what.
//
// A token is 32 random bytes in hex behind "sassay_"; the file keeps only its SHA-256, which is enough for a secret
// with that much entropy. One line per token:
//
//   NAME ROLE sha256:HEX
//
// NAME is the tenant; several lines may share it (rotation: add the new one, hand it over, revoke the old one). ROLE is
// `tenant`, `admin` or `node`. Empty lines and lines that begin with # are skipped.
#ifndef SASSAY_PROFILER_SERVICE_API_AUTH_TOKENS_H_
#define SASSAY_PROFILER_SERVICE_API_AUTH_TOKENS_H_

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/fd.h"

namespace sassay::api {

// A node runs what others submit: it may use Cluster, and nothing else.
enum class Role { kTenant, kAdmin, kNode };

// One line of the file.
struct TokenEntry {
  std::string name;
  Role role = Role::kTenant;
  std::string sha256;  // of the token, in hex
};

// INVALID_ARGUMENT names the line.
absl::StatusOr<std::vector<TokenEntry>> ParseTokenFile(absl::string_view content);

// Adds a token for `name` and returns it; it is written nowhere else. The file is created if missing. One that
// is there keeps its owner and mode, because the service that reads it may be another user; where we may not give it
// back, FAILED_PRECONDITION says what to do, and the change is made all the same. Callers in several processes take
// turns.
absl::StatusOr<std::string> AddToken(const std::filesystem::path& file, const std::string& name, Role role);
// Removes every token of `name`. NOT_FOUND if there is none; else as AddToken.
absl::Status RevokeTokens(const std::filesystem::path& file, const std::string& name);

const char* RoleName(Role role);
// INVALID_ARGUMENT for anything but "tenant", "admin" and "node".
absl::StatusOr<Role> RoleFromName(absl::string_view name);

// Who is calling.
struct Caller {
  std::string tenant;
  Role role = Role::kTenant;
  std::string token_sha256;  // empty: the service asks for no token
  // Names in the client's certificate (see node_certificate.h); nothing where it showed none.
  absl::optional<std::vector<std::string>> certificate_names = {};
};

// What a new reading of the file brought: "NAME ROLE", one per token.
struct TokenChange {
  std::vector<std::string> added, removed;
};

// Answers who a token belongs to, and follows the file: a change takes effect at once (within five seconds behind a
// link, a mount or on NFS), without a restart. A mistake in the syntax leaves the former tokens in force (and is
// logged); a file that is gone or may not be read admits nobody. Thread-safe.
class TokenRegistry {
 public:
  // Without a file: everybody is `everybody`.
  explicit TokenRegistry(Caller everybody);
  // Reads `file`, watches its directory, and looks at the file each `interval` beside that. INVALID_ARGUMENT,
  // NOT_FOUND; UNAVAILABLE if it cannot be watched.
  static absl::StatusOr<std::unique_ptr<TokenRegistry>> Open(const std::filesystem::path& file,
                                                             absl::Duration interval = absl::Seconds(5));
  ~TokenRegistry();

  // `authorization` is the header's value, empty if absent. UNAUTHENTICATED says what to do.
  absl::StatusOr<Caller> Authenticate(absl::string_view authorization) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether what Authenticate once said still holds.
  bool StillValid(const Caller& caller) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Called after each reading, on the watching thread. Set once, before calls arrive.
  void OnChange(std::function<void(const TokenChange&)> changed) ABSL_LOCKS_EXCLUDED(mutex_);
  // Reads the file again now.
  absl::Status Reload() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Entries = std::map<std::string, TokenEntry>;  // by sha256

  TokenRegistry(std::filesystem::path file, absl::Duration interval, UniqueFd inotify, UniqueFd stop);
  // Reads the file again whenever it looks different from `seen`.
  void Watch(std::string seen);
  std::string Look() const;
  static TokenChange Compare(const Entries& before, const Entries& after);

  const std::filesystem::path file_;
  const bool open_to_all_;
  const Caller everybody_;
  const absl::Duration interval_ = absl::InfiniteDuration();
  const UniqueFd inotify_, stop_;
  mutable absl::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  std::function<void(const TokenChange&)> changed_ ABSL_GUARDED_BY(mutex_) = [](const TokenChange&) {};
  std::thread watcher_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_AUTH_TOKENS_H_
