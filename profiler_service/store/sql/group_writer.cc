#include "profiler_service/store/sql/group_writer.h"

#include <utility>

#include "common/base/status_macros.h"

namespace sassay::store::sql {

GroupWriter::GroupWriter(std::unique_ptr<Db> db, size_t at_once)
    : db_(std::move(db)), at_once_(at_once), thread_([this] { Loop(); }) {}

GroupWriter::~GroupWriter() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void GroupWriter::Enqueue(std::unique_ptr<Operation> operation) {
  absl::MutexLock lock(&mutex_);
  pending_.push_back(std::move(operation));
}

GroupWriter::Operations GroupWriter::TakeAll() {
  absl::MutexLock lock(&mutex_, absl::Condition(this, &GroupWriter::SomethingToDo));
  return std::exchange(pending_, {});
}

size_t GroupWriter::HowMany(const Operations& batch, size_t first) const {
  if (batch[first]->scope.alone) return 1;
  size_t count = 1;
  while (count < at_once_ && first + count < batch.size() && !batch[first + count]->scope.alone) ++count;
  return count;
}

void GroupWriter::Loop() {
  for (;;) {
    Operations batch = TakeAll();
    if (batch.empty()) return;
    for (size_t first = 0; first < batch.size();) {
      const size_t count = HowMany(batch, first);
      Commit(&batch[first], count);
      for (size_t i = first; i < first + count; ++i) batch[i]->Answer();
      first += count;
    }
  }
}

void GroupWriter::Commit(std::unique_ptr<Operation>* first, size_t count) {
  absl::Status whole = RunInTransaction(first, count);
  const auto again = [&] { return !whole.ok() && !absl::IsUnknown(whole) && db_->Recover().ok(); };
  if (absl::IsUnavailable(whole) && again()) whole = RunInTransaction(first, count);
  if (again()) return CommitOneByOne(first, count);
  if (absl::IsUnknown(whole)) whole = absl::UnavailableError(whole.message());
  for (size_t i = 0; i < count && !whole.ok(); ++i) first[i]->status = whole;
}

void GroupWriter::CommitOneByOne(std::unique_ptr<Operation>* first, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const absl::Status status = RunInTransaction(first + i, 1);
    if (absl::IsUnknown(status)) first[i]->status = absl::UnavailableError(status.message());
    if (!status.ok() && !absl::IsUnknown(status)) first[i]->status = status;
  }
}

absl::Status GroupWriter::RunInTransaction(std::unique_ptr<Operation>* first, size_t count) {
  Scope scope = first[0]->scope;
  for (size_t i = 1; i < count; ++i) Merge(first[i]->scope, scope);
  absl::Status status = db_->Begin(scope);
  if (status.ok()) status = RunAll(first, count);
  if (status.ok()) return db_->Commit();
  db_->Rollback();
  return status;
}

absl::Status GroupWriter::RunAll(std::unique_ptr<Operation>* first, size_t count) {
  for (std::unique_ptr<Operation>*at = first, *end = first + count; at != end;) {
    const absl::StatusOr<size_t> done = (*at)->Run(*db_, at, end);
    if (absl::IsUnknown(done.status())) return absl::InternalError(done.status().message());
    RETURN_IF_ERROR(done.status());
    at += *done;
  }
  return absl::OkStatus();
}

}  // namespace sassay::store::sql
