#include "profiler_service/store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/fd.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/sql/echo_announcer.h"
#include "profiler_service/store/sql/operations.h"
#include "profiler_service/store/sql/sql_store.h"
#include "profiler_service/store/sqlite/sqlite_db.h"

namespace sassay::store {
namespace {

// A transaction takes whatever has arrived.
constexpr size_t kAtOnce = std::numeric_limits<size_t>::max();

// Held for the life of the store; the kernel lets go of it however the process ends.
absl::StatusOr<UniqueFd> LockForThisProcess(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return absl::UnavailableError(absl::StrCat("cannot open ", path, ": ", strerror(errno)));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  return absl::FailedPreconditionError(
      absl::StrCat(path, " is locked: another profiler-service uses this state; stop it or choose another --state"));
}

// Let go of when the store below it has closed the file.
struct FileLock {
  UniqueFd fd;
};

class SqliteStore : private FileLock, public sql::SqlStore {
 public:
  SqliteStore(UniqueFd lock, std::unique_ptr<sql::Db> writer, std::vector<std::unique_ptr<sql::Db>> readers,
              std::unique_ptr<sql::Announcer> announcer)
      : FileLock{std::move(lock)}, SqlStore(std::move(writer), std::move(readers), kAtOnce, std::move(announcer)) {}
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const std::string& path, Hears hears) {
  ASSIGN_OR_RETURN(UniqueFd lock, LockForThisProcess(path + ".lock"));
  ASSIGN_OR_RETURN(std::unique_ptr<SqliteDb> writer, SqliteDb::Open(path));
  // What tenants submitted is nobody else's on this machine; SQLite's other files take the mode over.
  for (const char* file : {"", "-wal", "-shm"}) chmod((path + file).c_str(), 0600);
  RETURN_IF_ERROR(MigrateSchema(*writer));
  ASSIGN_OR_RETURN(std::unique_ptr<SqliteDb> reader, SqliteDb::Open(path));
  std::vector<std::unique_ptr<sql::Db>> readers;
  readers.push_back(std::move(reader));
  std::unique_ptr<sql::Announcer> announcer;
  if (hears == Hears::kEverybody) announcer = std::make_unique<sql::EchoAnnouncer>(nullptr);
  return std::make_unique<SqliteStore>(std::move(lock), std::move(writer), std::move(readers), std::move(announcer));
}

absl::StatusOr<std::vector<AuditRecord>> ReadAuditLog(const std::string& path, uint64_t after, int limit) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SqliteDb> db, SqliteDb::OpenToRead(path));
  return sql::AuditLog(*db, after, limit);
}

}  // namespace sassay::store
