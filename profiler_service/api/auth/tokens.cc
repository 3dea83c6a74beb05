#include "profiler_service/api/auth/tokens.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/random.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "spdlog/spdlog.h"

namespace sassay::api {
namespace {

constexpr absl::string_view kPrefix = "sassay_";
constexpr size_t kMaxNameCharacters = 64;
constexpr uint64_t kMaxFileBytes = 16 << 20;
constexpr size_t kMaxHeaderBytes = 1024;
constexpr size_t kTokenBytes = 32;
// The service may be another user than who makes the file, and digests are no secrets.
constexpr mode_t kNewFileMode = 0644;

absl::Status CheckName(absl::string_view name) {
  const bool characters = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  });
  if (!name.empty() && name.size() <= kMaxNameCharacters && characters) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("name: expected 1 to ", kMaxNameCharacters,
                                                 " letters, digits, '.', '_' or '-', got '", absl::CEscape(name), "'"));
}

bool SaysNothing(absl::string_view line) { return line.empty() || absl::StartsWith(line, "#"); }

absl::StatusOr<TokenEntry> ParseLine(absl::string_view line) {
  const std::vector<std::string> fields = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (fields.size() != 3) {
    return absl::InvalidArgumentError(absl::StrCat("expected 'NAME ROLE sha256:HEX', got ", fields.size(), " fields"));
  }
  RETURN_IF_ERROR(CheckName(fields[0]));
  ASSIGN_OR_RETURN(const Role role, RoleFromName(fields[1]));
  absl::string_view digest = fields[2];
  if (!absl::ConsumePrefix(&digest, "sha256:") || !IsSha256Hex(digest)) {
    return absl::InvalidArgumentError("expected 'sha256:' and 64 lower-case hex digits in the third field");
  }
  return TokenEntry{fields[0], role, std::string(digest)};
}

std::string Line(const TokenEntry& entry) {
  return absl::StrCat(entry.name, " ", RoleName(entry.role), " sha256:", entry.sha256, "\n");
}

absl::Status SystemFailure(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(errno)));
}

// The file while one process at a time changes it: its directory is locked. A link is followed, so that it stays a
// link.
class LockedFile {
 public:
  static absl::StatusOr<LockedFile> Lock(const std::filesystem::path& file) {
    std::error_code error;
    std::filesystem::path real = std::filesystem::weakly_canonical(file, error);
    if (error) real = file;
    const std::filesystem::path directory = std::filesystem::absolute(real).parent_path();
    UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid() || flock(fd.get(), LOCK_EX) != 0) {
      return SystemFailure(absl::StrCat("cannot lock ", directory.string()));
    }
    return LockedFile(std::move(real), std::move(fd));
  }

  absl::StatusOr<std::string> Read() const { return ReadFile(path_, kMaxFileBytes); }

  // FAILED_PRECONDITION if the content is there, but the service may not read it any more.
  absl::Status Replace(absl::string_view content) const {
    struct stat before {
    }, after{};
    const bool existed = stat(path_.c_str(), &before) == 0;
    RETURN_IF_ERROR(WriteFileAtomically(path_, content, existed ? before.st_mode & 07777 : kNewFileMode));
    if (!existed || stat(path_.c_str(), &after) != 0) return absl::OkStatus();
    if (after.st_uid == before.st_uid && after.st_gid == before.st_gid) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(path_.string(), " was changed, but could not be given back to its owner: chown ", before.st_uid,
                     ":", before.st_gid, " ", path_.string(), ", or the service cannot read it and admits nobody"));
  }

 private:
  LockedFile(std::filesystem::path path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::filesystem::path path_;
  UniqueFd lock_;
};

}  // namespace

const char* RoleName(Role role) {
  if (role == Role::kNode) return "node";
  return role == Role::kAdmin ? "admin" : "tenant";
}

absl::StatusOr<Role> RoleFromName(absl::string_view name) {
  if (name == "tenant") return Role::kTenant;
  if (name == "admin") return Role::kAdmin;
  if (name == "node") return Role::kNode;
  return absl::InvalidArgumentError(
      absl::StrCat("role: expected 'tenant', 'admin' or 'node', got '", absl::CEscape(name), "'"));
}

absl::StatusOr<std::vector<TokenEntry>> ParseTokenFile(absl::string_view content) {
  std::vector<TokenEntry> entries;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(content, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (SaysNothing(line)) continue;
    absl::StatusOr<TokenEntry> entry = ParseLine(line);
    if (!entry.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("token file, line ", number, ": ", entry.status().message()));
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

absl::StatusOr<std::string> AddToken(const std::filesystem::path& file, const std::string& name, Role role) {
  RETURN_IF_ERROR(CheckName(name));
  ASSIGN_OR_RETURN(const LockedFile locked, LockedFile::Lock(file));
  absl::StatusOr<std::string> content = locked.Read();
  if (absl::IsNotFound(content.status())) content = std::string("# name role sha256:digest-of-the-token\n");
  RETURN_IF_ERROR(content.status());
  RETURN_IF_ERROR(ParseTokenFile(*content).status());
  if (!content->empty() && content->back() != '\n') content->push_back('\n');
  const std::string token = absl::StrCat(kPrefix, RandomHex(kTokenBytes));
  RETURN_IF_ERROR(locked.Replace(*content + Line({name, role, Sha256Hex(token)})));
  return token;
}

absl::Status RevokeTokens(const std::filesystem::path& file, const std::string& name) {
  ASSIGN_OR_RETURN(const LockedFile locked, LockedFile::Lock(file));
  ASSIGN_OR_RETURN(const std::string content, locked.Read());
  RETURN_IF_ERROR(ParseTokenFile(content).status());
  std::string kept;
  int removed = 0;
  for (absl::string_view line : absl::StrSplit(absl::StripSuffix(content, "\n"), '\n')) {
    // Read as the service reads it: what admits somebody there must be found here.
    const absl::StatusOr<TokenEntry> entry = ParseLine(absl::StripAsciiWhitespace(line));
    const bool revoked = !SaysNothing(absl::StripAsciiWhitespace(line)) && entry.ok() && entry->name == name;
    removed += revoked;
    if (!revoked) absl::StrAppend(&kept, line, "\n");
  }
  if (removed == 0) {
    return absl::NotFoundError(absl::StrCat("no token of '", name, "' in ", file.string()));
  }
  return locked.Replace(kept);
}

TokenRegistry::TokenRegistry(Caller everybody) : open_to_all_(true), everybody_(std::move(everybody)) {}

TokenRegistry::TokenRegistry(std::filesystem::path file, absl::Duration interval, UniqueFd inotify, UniqueFd stop)
    : file_(std::move(file)),
      open_to_all_(false),
      interval_(interval),
      inotify_(std::move(inotify)),
      stop_(std::move(stop)) {}

absl::StatusOr<std::unique_ptr<TokenRegistry>> TokenRegistry::Open(const std::filesystem::path& file,
                                                                   absl::Duration interval) {
  UniqueFd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!inotify.valid() || !stop.valid()) return SystemFailure("cannot watch the token file");
  const std::filesystem::path directory = std::filesystem::absolute(file).parent_path();
  const uint32_t changes = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_ATTRIB;
  if (inotify_add_watch(inotify.get(), directory.c_str(), changes) < 0) {
    return SystemFailure(absl::StrCat("cannot watch ", directory.string()));
  }
  std::unique_ptr<TokenRegistry> registry(new TokenRegistry(file, interval, std::move(inotify), std::move(stop)));
  const std::string seen = registry->Look();
  RETURN_IF_ERROR(ReadFile(file, kMaxFileBytes).status());
  RETURN_IF_ERROR(registry->Reload());
  registry->watcher_ = std::thread([raw = registry.get(), seen] { raw->Watch(seen); });
  return registry;
}

TokenRegistry::~TokenRegistry() {
  if (!watcher_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  watcher_.join();
}

void TokenRegistry::Watch(std::string seen) {
  pollfd waits[2] = {{stop_.get(), POLLIN, 0}, {inotify_.get(), POLLIN, 0}};
  for (;;) {
    const int woken = poll(waits, 2, static_cast<int>(absl::ToInt64Milliseconds(interval_)));
    if (woken < 0 && errno != EINTR) return;
    if (woken > 0 && waits[0].revents != 0) return;
    char events[4096];
    while (read(inotify_.get(), events, sizeof(events)) > 0) continue;
    // Not only because of inotify: it does not see behind links, mounts and directories that were replaced.
    std::string look = Look();
    if (look == seen) continue;
    seen = std::move(look);
    if (absl::Status status = Reload(); !status.ok()) {
      spdlog::error("{}; the former tokens stay in force", status.ToString());
    }
  }
}

// What tells one state of the file from the next: content that changed, and rights that changed.
std::string TokenRegistry::Look() const {
  struct stat facts {};
  if (stat(file_.c_str(), &facts) != 0) return absl::StrCat("errno ", errno);
  return absl::StrCat(facts.st_dev, " ", facts.st_ino, " ", facts.st_size, " ",
                      absl::ToUnixNanos(absl::TimeFromTimespec(facts.st_mtim)), " ",
                      absl::ToUnixNanos(absl::TimeFromTimespec(facts.st_ctim)));
}

absl::Status TokenRegistry::Reload() {
  absl::StatusOr<std::string> content = ReadFile(file_, kMaxFileBytes);
  if (!content.ok()) {
    // Somebody may have been revoked: who cannot be looked up is not admitted.
    spdlog::error("the token file cannot be read: nobody is admitted until it can: {}", content.status().ToString());
    content = std::string();
  }
  ASSIGN_OR_RETURN(std::vector<TokenEntry> parsed, ParseTokenFile(*content));
  Entries entries;
  for (TokenEntry& entry : parsed) entries[entry.sha256] = std::move(entry);
  std::function<void(const TokenChange&)> changed;
  TokenChange change;
  {
    absl::MutexLock lock(&mutex_);
    change = Compare(entries_, entries);
    entries_ = std::move(entries);
    changed = changed_;
  }
  changed(change);
  return absl::OkStatus();
}

TokenChange TokenRegistry::Compare(const Entries& before, const Entries& after) {
  const auto without = [](const Entries& some, const Entries& others) {
    std::vector<std::string> names;
    for (const auto& [sha256, entry] : some) {
      const auto other = others.find(sha256);
      const bool same = other != others.end() && other->second.name == entry.name && other->second.role == entry.role;
      if (!same) names.push_back(absl::StrCat(entry.name, " ", RoleName(entry.role)));
    }
    return names;
  };
  return {without(after, before), without(before, after)};
}

void TokenRegistry::OnChange(std::function<void(const TokenChange&)> changed) {
  absl::MutexLock lock(&mutex_);
  changed_ = std::move(changed);
}

absl::StatusOr<Caller> TokenRegistry::Authenticate(absl::string_view authorization) const {
  if (open_to_all_) return everybody_;
  absl::string_view token = authorization;
  if (!absl::ConsumePrefix(&token, "Bearer ") || authorization.size() > kMaxHeaderBytes) {
    return absl::UnauthenticatedError(
        "this service asks for a token: send the metadata 'authorization: Bearer TOKEN' (mini-ptx-agent --token-file); "
        "its operator makes one with 'profiler-service token add NAME'");
  }
  const std::string sha256 = Sha256Hex(token);
  absl::MutexLock lock(&mutex_);
  const auto entry = entries_.find(sha256);
  if (entry == entries_.end()) return absl::UnauthenticatedError("the token is unknown or was revoked");
  return Caller{entry->second.name, entry->second.role, sha256, {}};
}

bool TokenRegistry::StillValid(const Caller& caller) const {
  if (open_to_all_) return true;
  absl::MutexLock lock(&mutex_);
  const auto entry = entries_.find(caller.token_sha256);
  return entry != entries_.end() && entry->second.name == caller.tenant && entry->second.role == caller.role;
}

}  // namespace sassay::api
