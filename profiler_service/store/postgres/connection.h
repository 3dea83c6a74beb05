// libpq as the store needs it: owned handles, every wait with a deadline, and one place where SQLSTATEs become
// absl::Status.
#ifndef SASSAY_PROFILER_SERVICE_STORE_POSTGRES_CONNECTION_H_
#define SASSAY_PROFILER_SERVICE_STORE_POSTGRES_CONNECTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

struct pg_conn;
struct pg_result;

namespace sassay::store::postgres {

// What a statement answered. Columns and rows count from 0. Move-only.
class Result {
 public:
  explicit Result(pg_result* result) : result_(result) {}

  int rows() const;
  // Of an integer or truth column in binary form; 0 for NULL.
  int64_t Int(int row, int column) const;
  std::string Bytes(int row, int column) const;
  // "COMMIT", "INSERT 0 1"…
  std::string command() const;

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

// One value for a prepared statement. Numbers travel as text, which fits every integer type; all else as it is.
struct Parameter {
  std::string bytes;
  bool binary = false;
};

// A postgres:// or postgresql:// URI as libpq knows it (host, sslmode, sslrootcert, passfile, target_session_attrs…).
// INVALID_ARGUMENT if libpq cannot read it, or if it has a password: command lines are read by everybody on a machine.
absl::Status CheckUri(const std::string& uri);

// "host/database" for logs and messages.
std::string DescribeUri(const std::string& uri);

// One connection to a server. Thread-compatible.
//
// Failure: UNAVAILABLE if there is no server, it does not answer in time, or it gave up the transaction because of
// others (deadlock, time-out): worth trying again. INTERNAL if it refuses what we want of it. After an answer that did
// not come in time, and after any loss, `lost` stays true and only a new connection helps.
class Connection {
 public:
  // Settings that the URI does not make are ours: time-outs everywhere, UTF-8, TCP keep-alives.
  // A server that answers nothing for `patience` is lost.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const std::string& uri, const std::string& application,
                                                          absl::Duration patience = absl::Seconds(20));
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // One or several statements without parameters; the result of the last.
  absl::StatusOr<Result> Execute(const std::string& sql);
  absl::Status Prepare(const std::string& name, const std::string& sql);
  absl::StatusOr<Result> Run(const std::string& name, const std::vector<Parameter>& parameters);

  // Who LISTENs: the descriptor to wait on, and what has arrived there. Notifications of this connection are left out.
  int socket() const;
  absl::StatusOr<std::vector<std::string>> TakeNotifications();

  bool lost() const;
  // For schema changes, which take as long as they take.
  void WaitForEver() { patience_ = absl::InfiniteDuration(); }

 private:
  friend class Pipeline;

  Connection(pg_conn* connection, absl::Duration patience) : connection_(connection), patience_(patience) {}
  absl::StatusOr<Result> Answer(bool sent, absl::string_view what);
  absl::Status Sent(bool sent);
  bool SendRun(const std::string& name, const std::vector<Parameter>& parameters);
  // The results of one call: the last, or the first error.
  absl::StatusOr<Result> Collect(absl::Time deadline, absl::string_view what);
  absl::Status WaitFor(short events, absl::Time deadline);
  absl::Status Flush(absl::Time deadline);
  absl::StatusOr<pg_result*> NextResult(absl::Time deadline);
  absl::Status Lost(absl::string_view why);

  struct Finish {
    void operator()(pg_conn* connection) const;
  };
  std::unique_ptr<pg_conn, Finish> connection_;
  absl::Duration patience_;
  bool silent_ = false;  // it did not answer in time
};

}  // namespace sassay::store::postgres

#endif  // SASSAY_PROFILER_SERVICE_STORE_POSTGRES_CONNECTION_H_
