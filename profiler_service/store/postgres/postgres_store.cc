#include "profiler_service/store/postgres/postgres_store.h"

#include <utility>

#include "common/base/status_macros.h"
#include "profiler_service/store/postgres/connection.h"
#include "profiler_service/store/postgres/notifier.h"
#include "profiler_service/store/postgres/postgres_db.h"
#include "profiler_service/store/postgres/schema.h"
#include "profiler_service/store/sql/echo_announcer.h"
#include "profiler_service/store/sql/operations.h"
#include "profiler_service/store/sql/sql_store.h"

namespace sassay::store {
namespace {

using postgres::Connection;
using postgres::PostgresDb;
using postgres::Role;

// As long as others may wait for the locks of one transaction: some 20 ms of statements.
constexpr size_t kAtOnce = 64;

absl::Status Migrate(const std::string& uri) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection, Connection::Open(uri, "profiler-service migration"));
  return postgres::MigrateSchema(*connection);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenPostgresStore(const PostgresOptions& options) {
  RETURN_IF_ERROR(postgres::CheckUri(options.uri));
  RETURN_IF_ERROR(Migrate(options.uri));
  const PostgresDb::Patience patience = {options.answer, options.recover, options.look};
  ASSIGN_OR_RETURN(std::unique_ptr<sql::Db> writer, PostgresDb::Open(options.uri, Role::kWriter, patience));
  std::vector<std::unique_ptr<sql::Db>> readers;
  for (int i = 0; i < options.readers; ++i) {
    ASSIGN_OR_RETURN(readers.emplace_back(), PostgresDb::Open(options.uri, Role::kReader, patience));
  }
  postgres::Notifier::Times times;
  times.look_anyway = options.look_anyway;
  std::unique_ptr<sql::Announcer> announcer = std::make_unique<postgres::Notifier>(options.uri, times);
  if (options.hears == Hears::kEverybody) announcer = std::make_unique<sql::EchoAnnouncer>(std::move(announcer));
  return std::make_unique<sql::SqlStore>(std::move(writer), std::move(readers), kAtOnce, std::move(announcer));
}

absl::StatusOr<std::vector<AuditRecord>> ReadPostgresAuditLog(const std::string& uri, uint64_t after, int limit) {
  RETURN_IF_ERROR(postgres::CheckUri(uri));
  ASSIGN_OR_RETURN(const std::unique_ptr<PostgresDb> db, PostgresDb::Open(uri, Role::kReader, {}));
  return sql::AuditLog(*db, after, limit);
}

}  // namespace sassay::store
