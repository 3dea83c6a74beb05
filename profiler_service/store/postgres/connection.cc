#include "profiler_service/store/postgres/connection.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"

namespace sassay::store::postgres {
namespace {

// A transaction that stands still holds locks that others wait for, so the server ends the session of one whose process
// was stopped. Statistics of a queue are always out of date, and a plan without an index is never the right one here;
// where there is no other, its cost looks so high that the server would compile the statement, for 100 ms each time.
// The server's own patience with a client that has vanished is two hours, in which the session keeps its place among
// max_connections: it gets ours (of a local socket it reads nothing of that).
constexpr char kSettings[] =
    "SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '10s'; SET statement_timeout = '15s'; "
    "SET default_transaction_isolation = 'read committed'; SET plan_cache_mode = force_generic_plan; "
    "SET enable_seqscan = off; SET jit = off; SET search_path = sassay, pg_catalog; SET tcp_keepalives_idle = 2; "
    "SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 3; SET tcp_user_timeout = 5000";

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

std::string ValueOf(const PQconninfoOption* options, absl::string_view keyword) {
  for (; options != nullptr && options->keyword != nullptr; ++options) {
    if (keyword == options->keyword && options->val != nullptr) return options->val;
  }
  return "";
}

std::string Trimmed(const char* message) {
  return message == nullptr ? "" : std::string(absl::StripAsciiWhitespace(message));
}

bool IsOneOf(absl::string_view state, std::initializer_list<absl::string_view> states) {
  return std::find(states.begin(), states.end(), state) != states.end();
}

// Connection exceptions, insufficient resources, operator intervention, system errors; then transactions that were
// given up because of others: serialization failure, deadlock, lock not available, idle too long.
bool WorthTryingAgain(absl::string_view state) {
  if (state.empty() || IsOneOf(state.substr(0, 2), {"08", "53", "57", "58"})) return true;
  return IsOneOf(state, {"40001", "40P01", "55P03", "25P03"});
}

absl::Status StatusOf(const PGresult* result, absl::string_view what) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string code = state == nullptr ? "" : state;
  std::string message = absl::StrCat("PostgreSQL: ", Trimmed(PQresultErrorMessage(result)), " (SQLSTATE ", code, ", ",
                                     what.substr(0, 120), ")");
  if (code == "53100") absl::StrAppend(&message, "; the server's disk is full: free some space and retry");
  return WorthTryingAgain(code) ? absl::UnavailableError(message) : absl::InternalError(message);
}

bool Succeeded(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
}

int64_t FromBigEndian(const char* bytes, int size) {
  int64_t value = size > 0 && (static_cast<unsigned char>(bytes[0]) & 0x80) != 0 && size > 1 ? -1 : 0;
  for (int i = 0; i < size; ++i)
    value = static_cast<int64_t>((static_cast<uint64_t>(value) << 8) | static_cast<unsigned char>(bytes[i]));
  return value;
}

}  // namespace

void Result::Clear::operator()(pg_result* result) const { PQclear(result); }
int Result::rows() const { return PQntuples(result_.get()); }
std::string Result::command() const { return PQcmdStatus(result_.get()); }

int64_t Result::Int(int row, int column) const {
  return FromBigEndian(PQgetvalue(result_.get(), row, column), PQgetlength(result_.get(), row, column));
}

std::string Result::Bytes(int row, int column) const {
  return std::string(PQgetvalue(result_.get(), row, column),
                     static_cast<size_t>(PQgetlength(result_.get(), row, column)));
}

absl::Status CheckUri(const std::string& uri) {
  if (!absl::StartsWith(uri, "postgres://") && !absl::StartsWith(uri, "postgresql://")) {
    return absl::InvalidArgumentError("--store: expected postgres://HOST/DATABASE");
  }
  char* error = nullptr;
  const Options options(PQconninfoParse(uri.c_str(), &error));
  const std::string reason = Trimmed(error);  // says nothing of the password: it names what follows the host
  PQfreemem(error);
  if (options == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("--store: libpq cannot read the URI: ", reason));
  if (!ValueOf(options.get(), "password").empty()) {
    return absl::InvalidArgumentError(
        "--store: the URI has a password, which everybody on this machine can read; put it into a file (mode 0600, "
        "lines HOST:PORT:DATABASE:USER:PASSWORD) named by PGPASSFILE or by ?passfile=FILE");
  }
  return absl::OkStatus();
}

std::string DescribeUri(const std::string& uri) {
  const Options options(PQconninfoParse(uri.c_str(), nullptr));
  const std::string host = ValueOf(options.get(), "host");
  return absl::StrCat(host.empty() ? "the default host" : host, "/", ValueOf(options.get(), "dbname"));
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& uri, const std::string& application,
                                                             absl::Duration patience) {
  // Where the network does not deliver, a session is lost after 5 s and a connection tried anew every 2 s (libpq's
  // least), so that all is well within 5 s of the network's return. A server that is only slow has `patience`.
  // libpq takes the last value of a keyword: what stands before `dbname`, which holds the URI, gives way to it.
  const std::vector<std::pair<const char*, const char*>> settings = {
      {"connect_timeout", "2"},  {"keepalives_idle", "2"},     {"keepalives_interval", "1"},
      {"keepalives_count", "3"}, {"tcp_user_timeout", "5000"}, {"fallback_application_name", application.c_str()},
      {"dbname", uri.c_str()},   {"client_encoding", "UTF8"}};
  std::vector<const char*> keywords, values;
  for (const auto& [keyword, value] : settings) {
    keywords.push_back(keyword);
    values.push_back(value);
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  std::unique_ptr<Connection> connection(
      new Connection(PQconnectdbParams(keywords.data(), values.data(), /*expand_dbname=*/1), patience));
  pg_conn* raw = connection->connection_.get();
  if (raw == nullptr) return absl::UnavailableError("PostgreSQL: out of memory");
  if (PQstatus(raw) != CONNECTION_OK) {
    return absl::UnavailableError(absl::StrCat("PostgreSQL at ", DescribeUri(uri), ": ", Trimmed(PQerrorMessage(raw))));
  }
  PQsetNoticeProcessor(
      raw, [](void*, const char*) {}, nullptr);
  PQsetnonblocking(raw, 1);
  RETURN_IF_ERROR(connection->Execute(kSettings).status());
  return connection;
}

void Connection::Finish::operator()(pg_conn* connection) const { PQfinish(connection); }

bool Connection::lost() const { return silent_ || PQstatus(connection_.get()) != CONNECTION_OK; }

int Connection::socket() const { return PQsocket(connection_.get()); }

absl::Status Connection::Lost(absl::string_view why) {
  return absl::UnavailableError(absl::StrCat("PostgreSQL: the connection is lost: ", why));
}

absl::Status Connection::WaitFor(short events, absl::Time deadline) {
  pollfd descriptor = {socket(), events, 0};
  for (;;) {
    const int64_t left = absl::ToInt64Milliseconds(absl::Ceil(deadline - SteadyNow(), absl::Milliseconds(1)));
    const int timeout = deadline == absl::InfiniteFuture() ? -1 : static_cast<int>(std::max<int64_t>(left, 0));
    const int ready = poll(&descriptor, 1, timeout);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno == EINTR) continue;
    silent_ = true;
    return Lost(ready == 0 ? absl::StrCat("no answer within ", absl::FormatDuration(patience_)) : strerror(errno));
  }
}

absl::Status Connection::Flush(absl::Time deadline) {
  for (;;) {
    const int left = PQflush(connection_.get());
    if (left == 0) return absl::OkStatus();
    if (left < 0) return Lost(Trimmed(PQerrorMessage(connection_.get())));
    RETURN_IF_ERROR(WaitFor(POLLIN | POLLOUT, deadline));
    if (PQconsumeInput(connection_.get()) == 0) return Lost(Trimmed(PQerrorMessage(connection_.get())));
  }
}

absl::StatusOr<pg_result*> Connection::NextResult(absl::Time deadline) {
  while (PQisBusy(connection_.get()) != 0) {
    RETURN_IF_ERROR(WaitFor(POLLIN, deadline));
    if (PQconsumeInput(connection_.get()) == 0) return Lost(Trimmed(PQerrorMessage(connection_.get())));
  }
  return PQgetResult(connection_.get());
}

absl::Status Connection::Sent(bool sent) {
  if (silent_) return Lost("it did not answer before");
  return sent ? absl::OkStatus() : Lost(Trimmed(PQerrorMessage(connection_.get())));
}

absl::StatusOr<Result> Connection::Answer(bool sent, absl::string_view what) {
  RETURN_IF_ERROR(Sent(sent));
  const absl::Time deadline = SteadyNow() + patience_;
  RETURN_IF_ERROR(Flush(deadline));
  return Collect(deadline, what);
}

absl::StatusOr<Result> Connection::Collect(absl::Time deadline, absl::string_view what) {
  Result last(nullptr);
  absl::Status failed;
  for (;;) {
    ASSIGN_OR_RETURN(pg_result * next, NextResult(deadline));
    if (next == nullptr) break;
    Result result(next);
    if (!Succeeded(next) && failed.ok()) failed = StatusOf(next, what);
    last = std::move(result);
  }
  RETURN_IF_ERROR(failed);
  return last;
}

absl::StatusOr<Result> Connection::Execute(const std::string& sql) {
  return Answer(!silent_ && PQsendQuery(connection_.get(), sql.c_str()) == 1, sql);
}

absl::Status Connection::Prepare(const std::string& name, const std::string& sql) {
  const bool sent = !silent_ && PQsendPrepare(connection_.get(), name.c_str(), sql.c_str(), 0, nullptr) == 1;
  return Answer(sent, sql).status();
}

bool Connection::SendRun(const std::string& name, const std::vector<Parameter>& parameters) {
  std::vector<const char*> values;
  std::vector<int> lengths, formats;
  for (const Parameter& parameter : parameters) {
    values.push_back(parameter.bytes.c_str());
    lengths.push_back(static_cast<int>(parameter.bytes.size()));
    formats.push_back(parameter.binary ? 1 : 0);
  }
  return !silent_ && PQsendQueryPrepared(connection_.get(), name.c_str(), static_cast<int>(parameters.size()),
                                         values.data(), lengths.data(), formats.data(), /*resultFormat=*/1) == 1;
}

absl::StatusOr<Result> Connection::Run(const std::string& name, const std::vector<Parameter>& parameters) {
  return Answer(SendRun(name, parameters), name);
}

absl::StatusOr<std::vector<std::string>> Connection::TakeNotifications() {
  if (PQconsumeInput(connection_.get()) == 0) return Lost(Trimmed(PQerrorMessage(connection_.get())));
  std::vector<std::string> payloads;
  const int us = PQbackendPID(connection_.get());
  while (PGnotify* notification = PQnotifies(connection_.get())) {
    if (notification->be_pid != us) payloads.emplace_back(notification->extra);
    PQfreemem(notification);
  }
  return payloads;
}

}  // namespace sassay::store::postgres
