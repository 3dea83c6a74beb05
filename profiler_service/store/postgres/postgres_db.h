// PostgreSQL under the store's operations: a connection that comes back by itself, locks in one order, and a commit
// whose answer was lost is looked up.
#ifndef SASSAY_PROFILER_SERVICE_STORE_POSTGRES_POSTGRES_DB_H_
#define SASSAY_PROFILER_SERVICE_STORE_POSTGRES_POSTGRES_DB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "profiler_service/store/postgres/connection.h"
#include "profiler_service/store/postgres/pipeline.h"
#include "profiler_service/store/sql/db.h"

namespace sassay::store::postgres {

class PostgresStatement;

// One text, and its executions: as many at once as are asked ahead.
struct PostgresText {
  std::string sql;
  std::string name;      // under which the session has prepared it
  uint64_t session = 0;  // … which one
  bool sure = false;     // … and it has said so
  std::vector<std::unique_ptr<PostgresStatement>> uses;
};

// What a connection is for. One for blobs writes what may be written twice. A writer has a number of its own among all
// live writers (the slot in which it counts) and a row in which each of its transactions leaves its number.
enum class Role { kWriter, kReader, kBlobs };

// One session after the other. Thread-compatible; lives on one thread at a time.
//
// Between Begin and Commit statements are only sent (pipeline.h); whoever steps to an answer waits for it. Otherwise
// each statement is waited for.
//
// A transaction whose COMMIT was sent and not answered may have taken effect. Its number tells: the new session reads
// it from the writer's row, which the old transaction, if it is still under way, has locked.
class PostgresDb final : public sql::Db {
 public:
  // How long one waits for an answer; Recover for a server; Commit for word of what became of a transaction.
  struct Patience {
    absl::Duration answer = absl::Seconds(20);
    absl::Duration recover = absl::Seconds(2);
    absl::Duration look = absl::Seconds(10);
  };

  // The schema must be there. UNAVAILABLE.
  static absl::StatusOr<std::unique_ptr<PostgresDb>> Open(const std::string& uri, Role role, const Patience& patience);
  ~PostgresDb() override;
  PostgresDb(const PostgresDb&) = delete;
  PostgresDb& operator=(const PostgresDb&) = delete;

  size_t ahead() const override { return kAhead; }
  absl::Status Execute(const char* sql) override;
  const sql::Dialect& dialect() const override;
  absl::Status Begin(const sql::Scope& scope) override;
  absl::Status Commit() override;
  void Rollback() override;
  absl::Status Recover() override;
  absl::StatusOr<bool> LockSubmissions(std::vector<std::string> ids) override;
  absl::Status LockExclusions() override;

 private:
  friend class PostgresStatement;
  static constexpr size_t kAhead = 64;

  PostgresDb(std::string uri, Role role, const Patience& patience);
  sql::Statement& Find(const char* sql) override;
  // With a session, a new one if the old one is lost.
  absl::Status Connect();
  absl::Status BecomeWriter(Connection& connection);
  absl::Status NoteTransaction();
  absl::Status LockRows(const std::vector<std::string>& ids);
  absl::Status WhatBecameOfIt();
  absl::StatusOr<Result> Run(PostgresStatement& statement);
  // Inside a transaction; see Pipeline.
  Pipeline::Ticket Send(PostgresStatement& statement, bool awaited);
  absl::StatusOr<Result> EndPipeline();

  const std::string uri_;
  const Role role_;
  const Patience patience_;
  const std::string writer_;  // its row
  int64_t transaction_ = 0;   // the number of the last one begun
  uint64_t session_ = 0;      // counts sessions: statements are prepared once in each
  uint64_t prepared_ = 0;     // counts statements that were prepared
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Pipeline> pipeline_;  // of the transaction that runs
  std::unordered_map<const char*, PostgresText> texts_;
};

// With $1, $2… for ? and ?N; a ? without a number gets the one after the highest so far.
std::string WithDollars(const char* sql);

}  // namespace sassay::store::postgres

#endif  // SASSAY_PROFILER_SERVICE_STORE_POSTGRES_POSTGRES_DB_H_
