#include "tests/end_to_end/service_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace sassay::testing {
namespace {

// What the programs need to find their tools, and nothing of the developer's own configuration.
std::map<std::string, std::string> Environment(const std::string& home) {
  std::map<std::string, std::string> environment = {{"HOME", home}, {"XDG_CONFIG_HOME", home + "/config"}};
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "SASSAY_CUDA_HOME", "TMPDIR", "ASAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) environment[name] = value;
  }
  // One compile cache for the whole run of tests, in the build tree.
  environment["XDG_CACHE_HOME"] = std::string(SASSAY_PROGRAMS) + "/../tests/cache";
  return environment;
}

// Waits for `name` to appear in `directory`, or for the process to end.
absl::Status WaitForFile(const std::filesystem::path& directory, const std::string& name, const Subprocess& process,
                         absl::Duration timeout) {
  UniqueFd watch(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!watch.valid() || inotify_add_watch(watch.get(), directory.c_str(), IN_MOVED_TO | IN_CLOSE_WRITE) < 0) {
    return absl::InternalError("inotify");
  }
  const absl::Time deadline = absl::Now() + timeout;
  while (!std::filesystem::exists(directory / name)) {
    pollfd events[2] = {{watch.get(), POLLIN, 0}, {process.pidfd(), POLLIN, 0}};
    const int left = static_cast<int>(absl::ToInt64Milliseconds(deadline - absl::Now()));
    if (left <= 0 || poll(events, 2, left) <= 0) return absl::DeadlineExceededError("the service did not become ready");
    if ((events[1].revents & POLLIN) != 0) return absl::UnavailableError("the service ended");
    char drained[4096];
    while (read(watch.get(), drained, sizeof(drained)) > 0) {
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string Program(const std::string& name) { return std::string(SASSAY_PROGRAMS) + "/" + name; }
std::string SourcePath(const std::string& relative) { return std::string(SASSAY_SOURCE_DIR) + "/" + relative; }

absl::StatusOr<std::unique_ptr<Service>> Service::Start(const std::string& state,
                                                        const std::vector<std::string>& arguments,
                                                        const Placement& where) {
  ASSIGN_OR_RETURN(std::unique_ptr<Service> service, Launch(state, arguments, where));
  RETURN_IF_ERROR(service->WaitUntilReady());
  return service;
}

absl::StatusOr<std::unique_ptr<Service>> Service::Launch(const std::string& state,
                                                         const std::vector<std::string>& arguments,
                                                         const Placement& where) {
  ASSIGN_OR_RETURN(TemporaryDirectory directory, TemporaryDirectory::Create("sassay_service"));
  const std::string root = directory.path().string();
  UniqueFd log(open((root + "/log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  Command command;
  command.argv = where.inside;
  const std::string program =
      where.programs.empty() ? Program("profiler-service") : where.programs + "/profiler-service";
  command.argv.insert(command.argv.end(), {program, "--listen", where.listen, "--metrics", "127.0.0.1:0", "--port-file",
                                           root + "/port", "--state", state.empty() ? root + "/state" : state});
  const auto given = [&](const char* word) {
    return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
  };
  if (!given("--device") && !given("frontend") && !given("builder")) {
    command.argv.insert(command.argv.end(), {"--device", "emulated:sm_90a"});
  }
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.environment = Environment(root);
  command.inherit_fds = {{log.get(), 1}, {log.get(), 2}};
  ASSIGN_OR_RETURN(Subprocess process, Subprocess::Start(command));
  const std::string host = where.listen.substr(0, where.listen.rfind(':'));
  return std::unique_ptr<Service>(new Service(std::move(directory), std::move(process), host));
}

absl::Status Service::WaitUntilReady() {
  const absl::Status ready = WaitForFile(directory_.path(), "port", process_, absl::Seconds(30));
  if (!ready.ok()) return absl::Status(ready.code(), absl::StrCat(ready.message(), "\n", Log()));
  ASSIGN_OR_RETURN(const std::string port, ReadFile(directory_.path() / "port"));
  address_ = absl::StrCat(host_, ":", absl::StripTrailingAsciiWhitespace(port));
  return absl::OkStatus();
}

void Service::Crash() {
  process_.Kill();
  process_.Wait(absl::Now() + absl::Seconds(10)).IgnoreError();
}

int Service::Stop(int signal_number) {
  kill(pid(), signal_number);
  const auto report = process_.Wait(absl::Now() + absl::Seconds(30));
  if (!report.ok()) return -1000;
  return report->kind == ExitReport::Kind::kExited ? report->exit_code : -report->signal_number;
}

std::string Service::Log() const { return ReadFile(directory_.path() / "log").value_or(""); }

Command AgentCommand(const std::vector<std::string>& arguments, const std::string& home) {
  Command command;
  command.argv = {Program("mini-ptx-agent")};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.environment = Environment(home);
  return command;
}

AgentResult RunAgent(const std::vector<std::string>& arguments, absl::Duration timeout) {
  AgentResult result;
  auto home = TemporaryDirectory::Create("sassay_agent");
  if (!home.ok()) return result;
  const auto report = RunToCompletion(AgentCommand(arguments, home->path().string()), timeout, 16 << 20);
  if (!report.ok()) {
    result.stderr_text = std::string(report.status().message());
    return result;
  }
  result.exit_code = report->kind == ExitReport::Kind::kExited ? report->exit_code : -1;
  result.stdout_text = report->stdout_text;
  result.stderr_text = report->stderr_text;
  result.json = nlohmann::json::parse(report->stdout_text, nullptr, /*allow_exceptions=*/false);
  return result;
}

}  // namespace sassay::testing
