#include "profiler_service/store/postgres/pipeline.h"

#include <libpq-fe.h>

#include <algorithm>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/steady_time.h"

namespace sassay::store::postgres {
namespace {

// libpq keeps 64 KiB before it sends by itself.
constexpr size_t kMostUnsynced = 32 << 10;
constexpr size_t kOverhead = 64;  // of a statement's messages, in bytes

}  // namespace

Pipeline::Pipeline(Connection& connection) : connection_(connection) {
  Fail(connection_.Sent(!connection_.silent_ && PQenterPipelineMode(connection_.connection_.get()) == 1));
}

Pipeline::Ticket Pipeline::Note(bool sent, bool awaited, absl::string_view what, size_t bytes) {
  if (sent) {
    under_way_.push_back({last_ + 1, awaited, /*sync=*/false, std::string(what.substr(0, 120))});
    unsynced_bytes_ += bytes;
  }
  Fail(connection_.Sent(sent));
  // More than this may leave the process before anybody waits.
  if (unsynced_bytes_ > kMostUnsynced) Sync();
  return ++last_;
}

Pipeline::Ticket Pipeline::Send(const std::string& sql) {
  if (!failed_.ok()) return ++last_;
  return Note(PQsendQueryParams(connection_.connection_.get(), sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr,
                                /*resultFormat=*/1) == 1,
              /*awaited=*/false, sql, sql.size());
}

Pipeline::Ticket Pipeline::SendPrepare(const std::string& name, const std::string& sql) {
  if (!failed_.ok()) return ++last_;
  return Note(PQsendPrepare(connection_.connection_.get(), name.c_str(), sql.c_str(), 0, nullptr) == 1,
              /*awaited=*/false, sql, sql.size());
}

Pipeline::Ticket Pipeline::SendRun(const std::string& name, const std::vector<Parameter>& parameters, bool awaited) {
  if (!failed_.ok()) return ++last_;
  size_t bytes = kOverhead;
  for (const Parameter& parameter : parameters) bytes += parameter.bytes.size() + kOverhead / 8;
  return Note(connection_.SendRun(name, parameters), awaited, name, bytes);
}

void Pipeline::Sync() {
  unsynced_bytes_ = 0;
  if (!failed_.ok()) return;
  const bool sent = PQpipelineSync(connection_.connection_.get()) == 1;
  if (sent) under_way_.push_back({0, false, /*sync=*/true, ""});
  Fail(connection_.Sent(sent));
}

Result Pipeline::ReadOne() {
  const Sent oldest = std::move(under_way_.front());
  under_way_.pop_front();
  if (oldest.sync) {
    ReadSync();
    return Result(nullptr);
  }
  absl::StatusOr<Result> answer = connection_.Collect(SteadyNow() + connection_.patience_, oldest.what);
  Fail(answer.status());
  if (!answer.ok()) return Result(nullptr);
  if (!oldest.awaited) return *std::move(answer);
  answers_.emplace(oldest.ticket, *std::move(answer));
  return Result(nullptr);
}

void Pipeline::ReadSync() {
  absl::StatusOr<pg_result*> sync = connection_.NextResult(SteadyNow() + connection_.patience_);
  Fail(sync.status());
  if (!sync.ok()) return;
  const bool good = PQresultStatus(*sync) == PGRES_PIPELINE_SYNC;
  PQclear(*sync);
  if (good) return;
  connection_.silent_ = true;
  Fail(connection_.Lost("its pipeline is out of step"));
}

absl::StatusOr<Result> Pipeline::Await(Ticket ticket) {
  if (failed_.ok() && unsynced_bytes_ > 0 && answers_.count(ticket) == 0) {
    Sync();
    if (failed_.ok()) Fail(connection_.Flush(SteadyNow() + connection_.patience_));
  }
  while (failed_.ok() && answers_.count(ticket) == 0 && !under_way_.empty()) ReadOne();
  RETURN_IF_ERROR(failed_);
  const auto found = answers_.find(ticket);
  if (found == answers_.end()) return absl::InternalError("PostgreSQL: an answer was awaited twice");
  Result answer = std::move(found->second);
  answers_.erase(found);
  return answer;
}

void Pipeline::Forget(Ticket ticket) {
  answers_.erase(ticket);
  const auto same = [ticket](const Sent& sent) { return sent.ticket == ticket; };
  const auto found = std::find_if(under_way_.begin(), under_way_.end(), same);
  if (found != under_way_.end()) found->awaited = false;
}

absl::StatusOr<Result> Pipeline::Finish() {
  // What failed left a pipeline that waits for such a point, too.
  if (!connection_.lost() && PQpipelineSync(connection_.connection_.get()) == 1) {
    under_way_.push_back({0, false, /*sync=*/true, ""});
  }
  if (!connection_.lost()) Fail(connection_.Flush(SteadyNow() + connection_.patience_));
  Result last(nullptr);
  while (!under_way_.empty() && !connection_.lost()) {
    const bool statement = !under_way_.front().sync;
    Result answer = ReadOne();
    if (statement) last = std::move(answer);
  }
  const bool left = !connection_.lost() && PQexitPipelineMode(connection_.connection_.get()) == 1;
  if (!left && !connection_.lost()) connection_.silent_ = true;
  if (!left) Fail(connection_.Lost("its pipeline is out of step"));
  RETURN_IF_ERROR(failed_);
  return last;
}

}  // namespace sassay::store::postgres
