#include "profiler_service/store/testing/postgres_server.h"

#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"

namespace sassay::store {
namespace fs = std::filesystem;
namespace {

// Debian keeps the server's programs off the PATH, by version.
absl::StatusOr<std::string> FindPrograms() {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", error)) {
    folders.push_back(version.path() / "bin");
  }
  std::sort(folders.rbegin(), folders.rend());
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / "initdb")) return folder.string();
  }
  const auto found = FindProgram("initdb");
  if (found.ok()) return fs::path(*found).parent_path().string();
  return absl::NotFoundError("PostgreSQL is not installed here: deploy/install_dependencies.sh installs it");
}

const passwd* OrdinaryUser() {
  const passwd* user = getpwnam("postgres");
  return user != nullptr ? user : getpwnam("nobody");
}

constexpr char kEmpty[] =
    "DO $$ DECLARE names text; BEGIN SELECT string_agg('sassay.' || tablename, ', ') INTO names FROM pg_tables WHERE "
    "schemaname = 'sassay' AND tablename <> 'schema_version'; IF names IS NOT NULL THEN EXECUTE 'TRUNCATE ' || names "
    "|| "
    "' RESTART IDENTITY'; END IF; END $$";

// What /proc/PID/stat says after the name, from the state on; empty if there is no such process.
std::vector<std::string> StatOf(const std::string& pid) {
  const auto line = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
  if (!line.ok()) return {};
  const size_t name_ends = line->rfind(')');
  if (name_ends == std::string::npos) return {};
  return absl::StrSplit(absl::string_view(*line).substr(name_ends + 2), ' ');
}

}  // namespace

PostgresServer::PostgresServer(TemporaryDirectory folder, std::string programs, Options options)
    : folder_(std::move(folder)), programs_(std::move(programs)), options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<PostgresServer>> PostgresServer::Start(const Options& options) {
  ASSIGN_OR_RETURN(const std::string programs, FindPrograms());
  // Not below $TMPDIR: a socket's path has room for 107 bytes.
  ASSIGN_OR_RETURN(TemporaryDirectory folder, TemporaryDirectory::Create("sassay_pg", "/tmp"));
  if (geteuid() == 0) {
    const passwd* user = OrdinaryUser();
    if (user == nullptr || chown(folder.path().c_str(), user->pw_uid, user->pw_gid) != 0) {
      return absl::FailedPreconditionError("there is no user to run PostgreSQL as");
    }
  }
  std::unique_ptr<PostgresServer> server(new PostgresServer(std::move(folder), programs, options));
  RETURN_IF_ERROR(server->MakeCluster());
  RETURN_IF_ERROR(server->StartAgain());
  return server;
}

absl::StatusOr<PostgresServer*> PostgresServer::OfThisProgram() {
  static absl::StatusOr<std::unique_ptr<PostgresServer>> server = Start();
  if (!server.ok()) return server.status();
  return server->get();
}

PostgresServer::~PostgresServer() {
  if (!server_.has_value()) return;
  Continue();
  kill(server_->pid(), SIGINT);  // "fast": sessions are ended
  if (!server_->Wait(absl::Now() + absl::Seconds(10)).ok()) server_->Kill();
}

Command PostgresServer::CommandOf(std::vector<std::string> argv) const {
  Command command;
  argv[0] = absl::StrCat(programs_, "/", argv[0]);
  if (geteuid() == 0) {
    const passwd* user = OrdinaryUser();
    command.argv = {"setpriv", absl::StrCat("--reuid=", user->pw_uid), absl::StrCat("--regid=", user->pw_gid),
                    "--clear-groups"};
  }
  command.argv.insert(command.argv.end(), argv.begin(), argv.end());
  command.environment = {{"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C.UTF-8"}};
  command.working_directory = folder_.path();
  command.signal_at_our_death = SIGQUIT;  // ends its children, too
  return command;
}

absl::StatusOr<std::string> PostgresServer::Feed(std::vector<std::string> argv, const std::string& input) {
  const std::string program = argv[0];
  ASSIGN_OR_RETURN(const ExitReport report,
                   RunToCompletion(CommandOf(std::move(argv)), absl::Minutes(2), 8 << 20, input));
  if (report.Succeeded()) return report.stdout_text;
  return absl::InternalError(absl::StrCat(program, " ", DescribeExit(report), ": ", report.stderr_text));
}

absl::Status PostgresServer::MakeCluster() {
  RETURN_IF_ERROR(
      Run({"initdb", "-D", Data(), "-U", "sassay", "--auth=trust", "-E", "UTF8", "--no-locale", "--no-sync"}).status());
  if (options_.address.empty()) return absl::OkStatus();
  return WriteFileAtomically(Data() + "/pg_hba.conf", "local all all trust\nhost all all all trust\n", 0644);
}

absl::Status PostgresServer::StartAgain() {
  std::vector<std::string> argv = {"postgres",
                                   "-D",
                                   Data(),
                                   "-c",
                                   absl::StrCat("unix_socket_directories=", folder_.path().string()),
                                   "-c",
                                   "listen_addresses=",
                                   "-c",
                                   "max_connections=200",
                                   "-c",
                                   "logging_collector=on",
                                   "-c",
                                   absl::StrCat("log_directory=", folder_.path().string()),
                                   "-c",
                                   "log_filename=log"};
  std::vector<std::string> settings = options_.settings;
  if (!options_.durable) settings.push_back("fsync=off");
  if (!options_.address.empty()) settings.push_back("listen_addresses=" + options_.address);
  for (const std::string& setting : settings) argv.insert(argv.end(), {"-c", setting});
  server_.reset();
  Command command = CommandOf(std::move(argv));
  command.argv.insert(command.argv.begin(), options_.inside.begin(), options_.inside.end());
  ASSIGN_OR_RETURN(server_, Subprocess::Start(command));
  return WaitUntilItAnswers();
}

absl::Status PostgresServer::WaitUntilItAnswers() {
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  for (;;) {
    const auto answer = Run({"pg_isready", "-q", "-h", folder_.path(), "-U", "sassay"});
    if (answer.ok()) return absl::OkStatus();
    if (absl::Now() > deadline || server_->Wait(absl::Now() + absl::Milliseconds(20)).ok()) {
      const auto log = ReadFile(folder_.path() / "log");
      return absl::UnavailableError(absl::StrCat("PostgreSQL does not start: ", log.ok() ? *log : ""));
    }
  }
}

std::string PostgresServer::UriOf(const std::string& database) const {
  const std::string host = options_.address.empty() ? folder_.path().string() : options_.address;
  return absl::StrCat("postgresql:///", database, "?host=", host, "&user=sassay");
}

absl::StatusOr<std::string> PostgresServer::NewDatabase() {
  const std::string name = absl::StrCat("test", ++databases_);
  RETURN_IF_ERROR(Run({"createdb", "-h", folder_.path(), "-U", "sassay", name}).status());
  return UriOf(name);
}

absl::StatusOr<std::string> PostgresServer::EmptiedDatabase() {
  RETURN_IF_ERROR(Run({"psql", "-q", "-h", folder_.path(), "-U", "sassay", "-d", "postgres", "-c", kEmpty}).status());
  return UriOf("postgres");
}

// The server and its children: sessions and workers.
std::vector<pid_t> PostgresServer::Processes() const {
  const std::string server = std::to_string(server_->pid());
  std::vector<pid_t> pids = {server_->pid()};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    int pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    const std::vector<std::string> stat = StatOf(std::to_string(pid));
    if (stat.size() > 1 && stat[1] == server) pids.push_back(pid);
  }
  return pids;
}

double PostgresServer::ProcessorSeconds() const {
  double ticks = 0;
  for (const pid_t pid : Processes()) {
    const std::vector<std::string> stat = StatOf(std::to_string(pid));
    // utime and stime; of the server also those of its children that it has waited for.
    for (size_t field = 11; field < (pid == server_->pid() ? 15u : 13u) && field < stat.size(); ++field) {
      double value = 0;
      if (absl::SimpleAtod(stat[field], &value)) ticks += value;
    }
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

uint64_t PostgresServer::Waits() const {
  uint64_t waits = 0;
  for (const pid_t pid : Processes()) {
    const auto status = ReadFile(absl::StrCat("/proc/", pid, "/status"));
    if (!status.ok()) continue;
    for (absl::string_view line : absl::StrSplit(*status, '\n')) {
      uint64_t value = 0;
      if (absl::ConsumePrefix(&line, "voluntary_ctxt_switches:") && absl::SimpleAtoi(line, &value)) waits += value;
    }
  }
  return waits;
}

void PostgresServer::Signal(int number) {
  const std::vector<pid_t> pids = Processes();
  for (const pid_t pid : pids) kill(pid, number);
}

void PostgresServer::Pause() { Signal(SIGSTOP); }
void PostgresServer::Continue() { Signal(SIGCONT); }

void PostgresServer::Crash() {
  kill(server_->pid(), SIGSTOP);  // so that no session begins between the listing and the killing
  Signal(SIGKILL);
  server_->Wait(absl::Now() + absl::Seconds(10)).status().IgnoreError();
}

}  // namespace sassay::store
