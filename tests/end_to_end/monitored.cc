#include "tests/end_to_end/monitored.h"

#include <fcntl.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(20);
constexpr absl::Duration kAdminTimeout = absl::Seconds(30);

std::map<std::string, std::string> Inherited() {
  std::map<std::string, std::string> environment;
  for (const char* name : {"PATH", "HOME", "TMPDIR", "ASAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) environment[name] = value;
  }
  return environment;
}

absl::StatusOr<std::string> Rules(const std::vector<std::pair<std::string, std::string>>& edits) {
  ASSIGN_OR_RETURN(std::string rules, ReadFile(SourcePath("deploy/monitor/rules.textproto")));
  for (const auto& [from, to] : edits) {
    if (absl::StrReplaceAll({{from, to}}, &rules) == 0) return absl::NotFoundError(absl::StrCat("no rule has ", from));
  }
  return rules;
}

}  // namespace

bool Eventually(const std::function<bool()>& condition, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  while (!condition()) {
    if (absl::Now() >= deadline) return false;
    absl::SleepFor(kPoll);
  }
  return true;
}

Script::Script(std::filesystem::path folder, std::vector<std::string> uuids)
    : folder_(std::move(folder)), uuids_(std::move(uuids)) {
  SetHost("");
  Write();
}

void Script::SetGpu(const std::string& uuid, const std::string& keys) {
  keys_[uuid] = keys;
  Write();
}

void Script::SetDriver(const std::string& lines) {
  driver_ = lines;
  Write();
}

void Script::SetHost(const std::string& lines) { WriteFileAtomically(folder_ / "host", lines).IgnoreError(); }

void Script::Write() const {
  std::string text = driver_.empty() ? "" : driver_ + "\n";
  for (const std::string& uuid : uuids_) {
    const auto keys = keys_.find(uuid);
    absl::StrAppend(&text, "gpu ", uuid, " ", keys == keys_.end() ? "" : keys->second, "\n");
  }
  WriteFileAtomically(folder_ / "nvml", text).IgnoreError();
}

std::map<std::string, std::string> Script::Environment() const {
  const std::string libraries = std::string(SASSAY_PROGRAMS) + "/../tests/scripted_nvml";
  return {{"SASSAY_SCRIPTED_NVML", (folder_ / "nvml").string()},
          {"SASSAY_SCRIPTED_HOST", (folder_ / "host").string()},
          {"LD_LIBRARY_PATH", libraries},
          {"LD_PRELOAD", libraries + "/libscripted_host.so"}};
}

absl::StatusOr<std::unique_ptr<Monitor>> Monitor::Start(const Script& script, const std::string& service,
                                                        const std::filesystem::path& state,
                                                        const std::vector<std::pair<std::string, std::string>>& edits,
                                                        const std::vector<std::string>& arguments) {
  ASSIGN_OR_RETURN(TemporaryDirectory directory, TemporaryDirectory::Create("monitor"));
  const std::filesystem::path folder = directory.path();
  ASSIGN_OR_RETURN(const std::string rules, Rules(edits));
  RETURN_IF_ERROR(WriteFileAtomically(folder / "rules", rules));
  UniqueFd log(open((folder / "log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  UniqueFd out(open((folder / "out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  Command command;
  command.argv = {Program("reliability-monitor"), "--service", service,      "--state", state.string(), "--config",
                  (folder / "rules").string(),    "--metrics", "127.0.0.1:0"};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.environment = Inherited();
  for (const auto& [name, value] : script.Environment()) command.environment[name] = value;
  command.inherit_fds = {{out.get(), 1}, {log.get(), 2}};
  ASSIGN_OR_RETURN(Subprocess process, Subprocess::Start(command));
  std::unique_ptr<Monitor> monitor(new Monitor(std::move(directory), std::move(process)));
  const bool ready = Eventually([&] { return ReadFile(folder / "out").value_or("").find('\n') != std::string::npos; });
  if (!ready) return absl::UnavailableError(absl::StrCat("the monitor did not start:\n", monitor->Log()));
  return monitor;
}

void Monitor::Kill() {
  process_.Kill();
  process_.Wait(absl::Now() + absl::Seconds(10)).IgnoreError();
}

int Monitor::Stop(absl::Duration patience) {
  kill(pid(), SIGTERM);
  const auto report = process_.Wait(absl::Now() + patience);
  return report.ok() && report->kind == ExitReport::Kind::kExited ? report->exit_code : -1;
}

std::string Monitor::Log() const { return ReadFile(directory_.path() / "log").value_or(""); }

std::vector<std::string> Monitor::Metrics(const std::string& prefix) const {
  const std::string out = ReadFile(directory_.path() / "out").value_or("");
  const size_t at = out.find("metrics=");
  if (at == std::string::npos) return {};
  const std::string address = out.substr(at + 8, out.find('\n', at) - at - 8);
  Command curl;
  curl.argv = {"curl", "-s", absl::StrCat("http://", address, "/metrics")};
  curl.environment = Inherited();
  const auto report = RunToCompletion(curl, kAdminTimeout, 8 << 20);
  std::vector<std::string> lines;
  if (!report.ok()) return lines;
  for (absl::string_view line : absl::StrSplit(report->stdout_text, '\n')) {
    if (line.substr(0, prefix.size()) == prefix) lines.emplace_back(line);
  }
  return lines;
}

nlohmann::json Operator::Ask(std::vector<std::string> arguments) const {
  Command command;
  command.argv = {Program("sassay-admin"), "--service", service_, "--json"};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.environment = Inherited();
  const auto report = RunToCompletion(command, kAdminTimeout, 64 << 20);
  if (!report.ok() || !report->Succeeded()) return nullptr;
  return nlohmann::json::parse(report->stdout_text, nullptr, /*allow_exceptions=*/false);
}

std::string Operator::StateOf(const std::string& gpu) const {
  const nlohmann::json answer = Ask({"gpus"});
  if (!answer.is_object()) return "";
  for (const nlohmann::json& entry : answer["gpus"]) {
    if (entry.value("uuid", "") == gpu) return entry.value("state", "");
  }
  return "";
}

std::vector<nlohmann::json> Operator::Incidents(const std::string& rule) const {
  std::vector<nlohmann::json> found;
  const nlohmann::json answer = Ask({"incidents", "--since", "3h"});
  if (!answer.is_object()) return found;
  for (const nlohmann::json& incident : answer["incidents"]) {
    if (incident.value("rule", "") == rule) found.push_back(incident);
  }
  return found;
}

bool Operator::AwaitState(const std::string& gpu, const std::string& state, absl::Duration timeout) const {
  return Eventually([&] { return StateOf(gpu) == state; }, timeout);
}

bool Operator::AwaitWatched(absl::Duration timeout) const {
  return Eventually(
      [&] {
        const nlohmann::json answer = Ask({"gpus"});
        if (!answer.is_object() || answer["gpus"].empty()) return false;
        for (const nlohmann::json& gpu : answer["gpus"]) {
          if (!gpu.contains("healthy_through")) return false;
        }
        return true;
      },
      timeout);
}

}  // namespace sassay::testing
