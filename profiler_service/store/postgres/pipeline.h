// Statements of one transaction on their way together: a transaction costs as many round trips as it needs answers to
// go on, and not one for each statement.
#ifndef SASSAY_PROFILER_SERVICE_STORE_POSTGRES_PIPELINE_H_
#define SASSAY_PROFILER_SERVICE_STORE_POSTGRES_PIPELINE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler_service/store/postgres/connection.h"

namespace sassay::store::postgres {

// libpq's pipeline mode on a connection that nobody else uses meanwhile. Thread-compatible.
//
// Whoever waits makes a point of synchronisation: from there on the session counts as idle, and the server ends it if
// this process stands still (idle_in_transaction_session_timeout); inside a pipeline it would wait for ever, with all
// its locks.
//
// Life cycle: statements are sent, answers awaited in any order, Finish leaves the connection as it was before.
// Failure: the server runs nothing after a statement that it refused. Whatever is asked for from then on, and Finish,
// answer with that first error. If the connection is lost, only a new one helps.
class Pipeline {
 public:
  // Names an answer.
  using Ticket = uint64_t;

  explicit Pipeline(Connection& connection);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // What nobody awaits is only heard of if it fails.
  Ticket Send(const std::string& sql);
  Ticket SendPrepare(const std::string& name, const std::string& sql);
  Ticket SendRun(const std::string& name, const std::vector<Parameter>& parameters, bool awaited);

  // Once for each ticket of an awaited statement.
  absl::StatusOr<Result> Await(Ticket ticket);
  // Nobody will.
  void Forget(Ticket ticket);

  // Waits for everything; the answer to the last statement.
  absl::StatusOr<Result> Finish();

 private:
  // A statement, or a point of synchronisation.
  struct Sent {
    Ticket ticket;
    bool awaited;
    bool sync;
    std::string what;
  };

  Ticket Note(bool sent, bool awaited, absl::string_view what, size_t bytes);
  void Sync();
  // Reads the answer to the oldest statement that has none.
  Result ReadOne();
  void ReadSync();
  void Fail(const absl::Status& status) {
    if (failed_.ok()) failed_ = status;
  }

  Connection& connection_;
  Ticket last_ = 0;
  size_t unsynced_bytes_ = 0;  // sent since the last point of synchronisation
  std::deque<Sent> under_way_;
  std::map<Ticket, Result> answers_;
  absl::Status failed_;
};

}  // namespace sassay::store::postgres

#endif  // SASSAY_PROFILER_SERVICE_STORE_POSTGRES_PIPELINE_H_
