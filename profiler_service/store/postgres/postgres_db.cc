#include "profiler_service/store/postgres/postgres_db.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "nlohmann/json.hpp"
#include "profiler_service/store/postgres/locks.h"
#include "profiler_service/store/sql/rows.h"

namespace sassay::store::postgres {
namespace {

#define SASSAY_COUNT_IN_SLOT "ON CONFLICT (tenant, slot) DO UPDATE SET "

constexpr sql::Dialect kDialect = {
    nullptr,
    "INSERT INTO tenant_slots AS t (verdicts, gpu_ns, tenant, slot) VALUES (1, ?, ?, my_slot()) " SASSAY_COUNT_IN_SLOT
    "verdicts = t.verdicts + 1, gpu_ns = t.gpu_ns + excluded.gpu_ns",
    "INSERT INTO tenant_slots AS t (lost_attempts, lost_gpu_ns, tenant, slot) VALUES (1, ?, ?, "
    "my_slot()) " SASSAY_COUNT_IN_SLOT
    "lost_attempts = t.lost_attempts + 1, lost_gpu_ns = t.lost_gpu_ns + excluded.lost_gpu_ns",
    "INSERT INTO tenant_slots AS t (verdicts, gpu_ns, excluded_verdicts, excluded_gpu_ns, tenant, slot) VALUES (-1, "
    "-(?1::bigint), 1, ?1, ?2, my_slot()) " SASSAY_COUNT_IN_SLOT
    "verdicts = t.verdicts - 1, gpu_ns = t.gpu_ns + excluded.gpu_ns, excluded_verdicts = t.excluded_verdicts + 1, "
    "excluded_gpu_ns = t.excluded_gpu_ns + excluded.excluded_gpu_ns",
    // A row that another transaction is changing is not there.
    SASSAY_SELECT_SUBMISSION "WHERE id = ? AND " SASSAY_IN_STATE "0 FOR UPDATE OF submissions SKIP LOCKED",
    SASSAY_SELECT_PROGRESS "WHERE id = ANY (ARRAY (SELECT json_array_elements_text(?::json)))",
};

constexpr absl::Duration kBetweenTries = absl::Milliseconds(50);

}  // namespace

std::string WithDollars(const char* sql) {
  std::string text;
  int highest = 0;
  for (const char* at = sql; *at != '\0'; ++at) {
    if (*at != '?') {
      text += *at;
      continue;
    }
    const bool numbered = std::isdigit(static_cast<unsigned char>(at[1])) != 0;
    const int number = numbered ? at[1] - '0' : highest + 1;
    if (numbered) ++at;
    highest = std::max(highest, number);
    absl::StrAppend(&text, "$", number);
  }
  return text;
}

// Runs when it is asked or first stepped; after that step the rows are here.
class PostgresStatement final : public sql::Statement {
 public:
  PostgresStatement(PostgresDb& db, PostgresText& text) : db_(db), text_(text) {}

  void BindText(int position, absl::string_view text) override {
    has_nul_ |= absl::StrContains(text, absl::string_view("\0", 1));
    Slot(position) = {std::string(text), true};
  }
  void BindInt(int position, int64_t value) override { Slot(position) = {absl::StrCat(value), false}; }
  void BindBlob(int position, absl::string_view bytes) override { Slot(position) = {std::string(bytes), true}; }

  void Ask() override {
    if (db_.pipeline_ != nullptr && Bound().ok()) ticket_ = db_.Send(*this, /*awaited=*/true);
  }

  absl::StatusOr<bool> Step() override {
    if (row_ < 0) {
      ASSIGN_OR_RETURN(result_, Answer());
    }
    return ++row_ < result_.rows();
  }

  absl::Status Run() override {
    if (db_.pipeline_ == nullptr) return Answer().status();
    RETURN_IF_ERROR(Bound());
    db_.Send(*this, /*awaited=*/false);
    return absl::OkStatus();
  }

  int64_t Int(int column) const override { return result_.Int(row_, column); }
  std::string Bytes(int column) const override { return result_.Bytes(row_, column); }

  void Reset() override {
    if (ticket_ != 0 && db_.pipeline_ != nullptr) db_.pipeline_->Forget(ticket_);
    ticket_ = 0;
    row_ = -1;
    result_ = Result(nullptr);
    parameters_.clear();
    has_nul_ = false;
    used_ = false;
  }

 private:
  friend class PostgresDb;
  // Said before the transaction is broken by it, and its neighbours' writes with it.
  absl::Status Bound() const {
    if (!has_nul_) return absl::OkStatus();
    return absl::InvalidArgumentError("a text has a NUL byte, which PostgreSQL does not keep");
  }
  absl::StatusOr<Result> Answer() {
    RETURN_IF_ERROR(Bound());
    if (db_.pipeline_ == nullptr) return db_.Run(*this);
    if (ticket_ == 0) ticket_ = db_.Send(*this, /*awaited=*/true);
    return db_.pipeline_->Await(std::exchange(ticket_, 0));
  }
  Parameter& Slot(int position) {
    const size_t index = static_cast<size_t>(position - 1);
    if (parameters_.size() <= index) parameters_.resize(index + 1);
    return parameters_[index];
  }

  PostgresDb& db_;
  PostgresText& text_;
  bool used_ = false;  // by a Query
  Pipeline::Ticket ticket_ = 0;
  std::vector<Parameter> parameters_;
  bool has_nul_ = false;
  Result result_{nullptr};
  int row_ = -1;
};

PostgresDb::PostgresDb(std::string uri, Role role, const Patience& patience)
    : uri_(std::move(uri)), role_(role), patience_(patience), writer_(RandomHex(16)) {}

PostgresDb::~PostgresDb() = default;

absl::StatusOr<std::unique_ptr<PostgresDb>> PostgresDb::Open(const std::string& uri, Role role,
                                                             const Patience& patience) {
  std::unique_ptr<PostgresDb> db(new PostgresDb(uri, role, patience));
  RETURN_IF_ERROR(db->Connect());
  return db;
}

const sql::Dialect& PostgresDb::dialect() const { return kDialect; }

sql::Statement& PostgresDb::Find(const char* sql) {
  PostgresText& text = texts_[sql];
  if (text.sql.empty()) text.sql = WithDollars(sql);
  const auto idle = [](const std::unique_ptr<PostgresStatement>& use) { return !use->used_; };
  auto found = std::find_if(text.uses.begin(), text.uses.end(), idle);
  if (found == text.uses.end()) {
    found = text.uses.insert(found, std::make_unique<PostgresStatement>(*this, text));
  }
  (*found)->used_ = true;
  return **found;
}

absl::Status PostgresDb::Connect() {
  if (connection_ != nullptr && !connection_->lost()) return absl::OkStatus();
  connection_ = nullptr;
  const char* const applications[] = {"profiler-service writer", "profiler-service reader", "profiler-service blobs"};
  const char* application = applications[static_cast<int>(role_)];
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Connection::Open(uri_, application, patience_.answer));
  ++session_;
  if (role_ == Role::kWriter) RETURN_IF_ERROR(BecomeWriter(*connection));
  if (role_ == Role::kReader) {
    RETURN_IF_ERROR(connection->Execute("SET default_transaction_read_only = on").status());
  }
  connection_ = std::move(connection);
  return absl::OkStatus();
}

// The session of a writer that was lost may live on for a while, with its slot.
absl::Status PostgresDb::BecomeWriter(Connection& connection) {
  RETURN_IF_ERROR(connection
                      .Execute("SELECT set_config('sassay.slot', slot::text, false) FROM (SELECT slot FROM "
                               "generate_series(0, 9999) AS slot WHERE pg_try_advisory_lock(" SASSAY_SLOTS
                               ", slot) LIMIT 1) AS free")
                      .status());
  return connection.Execute("DELETE FROM writers WHERE seen < now() - interval '30 days'").status();
}

absl::StatusOr<Result> PostgresDb::Run(PostgresStatement& statement) {
  RETURN_IF_ERROR(connection_ == nullptr ? absl::UnavailableError("PostgreSQL: not connected") : absl::OkStatus());
  PostgresText& text = statement.text_;
  if (text.session != session_) {
    text.name = absl::StrCat("q", ++prepared_);
    RETURN_IF_ERROR(connection_->Prepare(text.name, text.sql));
    text.session = session_;
    text.sure = true;
  }
  return connection_->Run(text.name, statement.parameters_);
}

Pipeline::Ticket PostgresDb::Send(PostgresStatement& statement, bool awaited) {
  PostgresText& text = statement.text_;
  if (text.session != session_) {
    text.name = absl::StrCat("q", ++prepared_);
    pipeline_->SendPrepare(text.name, text.sql);
    text.session = session_;
    text.sure = false;
  }
  return pipeline_->SendRun(text.name, statement.parameters_, awaited);
}

// What was prepared behind a statement that failed was not prepared.
absl::StatusOr<Result> PostgresDb::EndPipeline() {
  const std::unique_ptr<Pipeline> pipeline = std::exchange(pipeline_, nullptr);
  absl::StatusOr<Result> last = pipeline->Finish();
  for (auto& [sql, text] : texts_) {
    if (!last.ok() && !text.sure) text.session = 0;
    text.sure = true;
  }
  return last;
}

absl::Status PostgresDb::Execute(const char* sql) {
  RETURN_IF_ERROR(Connect());
  return connection_->Execute(sql).status();
}

absl::Status PostgresDb::Recover() {
  const absl::Time deadline = SteadyNow() + patience_.recover;
  for (;;) {
    absl::Status status = Connect();
    if (status.ok() || SteadyNow() >= deadline) return status;
    absl::SleepFor(kBetweenTries);
  }
}

absl::Status PostgresDb::Begin(const sql::Scope& scope) {
  RETURN_IF_ERROR(Connect());
  pipeline_ = std::make_unique<Pipeline>(*connection_);
  pipeline_->Send("BEGIN");
  if (scope.durability == sql::Durability::kProcess) pipeline_->Send("SET LOCAL synchronous_commit = off");
  if (role_ == Role::kWriter) RETURN_IF_ERROR(NoteTransaction());
  if (scope.admits) RETURN_IF_ERROR(Prepare("SELECT " SASSAY_LOCK_ADMISSION).Run());
  if (scope.windows == sql::Windows::kRead) RETURN_IF_ERROR(Prepare("SELECT " SASSAY_SHARE_WINDOWS).Run());
  if (scope.windows == sql::Windows::kWrite) RETURN_IF_ERROR(Prepare("SELECT " SASSAY_LOCK_WINDOWS).Run());
  if (scope.dispatches) RETURN_IF_ERROR(Prepare("SELECT " SASSAY_LOCK_DISPATCH).Run());
  if (!scope.submissions.empty()) RETURN_IF_ERROR(LockRows(scope.submissions));
  if (scope.records) RETURN_IF_ERROR(Prepare("SELECT " SASSAY_LOCK_RECORDS).Run());
  return absl::OkStatus();
}

absl::Status PostgresDb::NoteTransaction() {
  return Prepare(
             "INSERT INTO writers (writer, transaction) VALUES (?, ?) ON CONFLICT (writer) DO UPDATE SET transaction = "
             "excluded.transaction, seen = now()")
      .Bind(writer_)
      .Bind(++transaction_)
      .Run();
}

absl::Status PostgresDb::LockRows(const std::vector<std::string>& ids) {
  return Prepare(
             "SELECT id FROM submissions WHERE id = ANY (ARRAY (SELECT json_array_elements_text(?::json))) ORDER BY id "
             "FOR UPDATE")
      .Bind(nlohmann::json(ids).dump())
      .Run();
}

absl::StatusOr<bool> PostgresDb::LockSubmissions(std::vector<std::string> ids) {
  if (ids.empty()) return false;
  RETURN_IF_ERROR(LockRows(ids));
  return true;
}

absl::Status PostgresDb::LockExclusions() { return Prepare("SELECT " SASSAY_LOCK_EXCLUSIONS).Run(); }

void PostgresDb::Rollback() {
  if (pipeline_ != nullptr) EndPipeline().status().IgnoreError();
  if (connection_ != nullptr && !connection_->lost()) connection_->Execute("ROLLBACK").status().IgnoreError();
}

absl::Status PostgresDb::Commit() {
  pipeline_->Send("COMMIT");
  const absl::StatusOr<Result> result = EndPipeline();
  if (result.ok() && result->command() == "COMMIT") return absl::OkStatus();
  if (role_ == Role::kWriter && connection_->lost()) return WhatBecameOfIt();
  Rollback();
  if (!result.ok()) return result.status();
  return absl::InternalError(absl::StrCat("PostgreSQL: the transaction had failed: ", result->command()));
}

absl::Status PostgresDb::WhatBecameOfIt() {
  const absl::Time deadline = SteadyNow() + patience_.look;
  for (;;) {
    if (Connect().ok()) {
      sql::Query query = Prepare("SELECT transaction FROM writers WHERE writer = ? FOR UPDATE");
      const absl::StatusOr<bool> known = query.Bind(writer_).Step();
      if (known.ok() && *known && query.Int(0) == transaction_) return absl::OkStatus();
      if (known.ok()) return absl::UnavailableError("PostgreSQL: the connection was lost before the transaction ended");
    }
    if (SteadyNow() >= deadline) {
      return absl::UnknownError(
          "PostgreSQL: the connection was lost while a transaction was committed; look before "
          "you ask again");
    }
    absl::SleepFor(kBetweenTries);
  }
}

}  // namespace sassay::store::postgres
