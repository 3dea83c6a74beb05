#include "profiler_service/store/sqlite/sqlite_writer.h"

#include <algorithm>
#include <utility>

#include "common/base/status_macros.h"

namespace sassay::store {
namespace {

// The database failed, as opposed to an operation that looked and declined.
bool IsDatabaseFailure(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsInternal(status) || absl::IsUnknown(status);
}

}  // namespace

SqliteWriter::SqliteWriter(std::unique_ptr<Db> db) : db_(std::move(db)), thread_([this] { Loop(); }) {}

SqliteWriter::~SqliteWriter() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void SqliteWriter::Enqueue(Operation operation) {
  absl::MutexLock lock(&mutex_);
  pending_.push_back(std::move(operation));
}

std::vector<SqliteWriter::Operation> SqliteWriter::TakeAll() {
  absl::MutexLock lock(&mutex_, absl::Condition(this, &SqliteWriter::SomethingToDo));
  return std::exchange(pending_, {});
}

void SqliteWriter::Loop() {
  for (;;) {
    std::vector<Operation> batch = TakeAll();
    if (batch.empty()) return;
    Commit(batch);
    for (Operation& operation : batch) operation.done(operation.status);
  }
}

void SqliteWriter::Commit(std::vector<Operation>& batch) {
  if (RunInTransaction(batch.data(), batch.size()).ok()) return;
  for (Operation& operation : batch) {
    if (absl::Status status = RunInTransaction(&operation, 1); !status.ok()) operation.status = status;
  }
}

absl::Status SqliteWriter::Demand(Durability durability) {
  if (durability == demanded_) return absl::OkStatus();
  RETURN_IF_ERROR(
      db_->Execute(durability == Durability::kDisk ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL"));
  demanded_ = durability;
  return absl::OkStatus();
}

absl::Status SqliteWriter::RunInTransaction(Operation* first, size_t count) {
  const bool relaxed = std::all_of(
      first, first + count, [](const Operation& operation) { return operation.durability == Durability::kProcess; });
  RETURN_IF_ERROR(Demand(relaxed ? Durability::kProcess : Durability::kDisk));
  RETURN_IF_ERROR(db_->Execute("BEGIN IMMEDIATE"));
  absl::Status status;
  for (size_t i = 0; i < count && status.ok(); ++i) {
    first[i].status = first[i].run(*db_);
    if (IsDatabaseFailure(first[i].status)) status = first[i].status;
  }
  if (status.ok()) status = db_->Execute("COMMIT");
  if (!status.ok()) db_->Execute("ROLLBACK").IgnoreError();
  return status;
}

}  // namespace sassay::store
