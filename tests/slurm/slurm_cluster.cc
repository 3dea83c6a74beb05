#include "tests/slurm/slurm_cluster.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/strings/substitute.h"
#include "absl/time/clock.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "tests/end_to_end/process_tree.h"

namespace sassay::testing {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kUp = absl::Seconds(30), kCommand = absl::Seconds(30);
// Between choosing free ports and listening on them another program may take one.
constexpr int kTries = 3;

// $0 controller's port, $1 folder, $2 Slurm's programs and plugins, $3 who runs it. Timeouts are short: a dead host is
// noticed after ten seconds, and a job that it had may start again five seconds later (cred_expire; 120 by default).
constexpr char kSlurmConf[] = R"(ClusterName=sassay
SlurmctldHost=localhost
SlurmctldPort=$0
SlurmUser=$3
SlurmdUser=$3
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$1/munge/socket,cred_expire=5
PluginDir=$2
MailProg=/bin/true
StateSaveLocation=$1/state
SlurmctldPidFile=$1/slurmctld.pid
SlurmdPidFile=$1/%n/pid
SlurmdSpoolDir=$1/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1,nohold_on_prolog_fail
GresTypes=gpu
ReturnToService=2
SlurmdTimeout=2
SlurmctldTimeout=5
SlurmdParameters=config_overrides
MessageTimeout=5
KillWait=10
JobRequeue=1
)";

std::string SlurmPrograms() { return std::string(SASSAY_SOURCE_DIR) + "/.venv/slurm"; }

std::vector<int> FreePorts(int count) {
  std::vector<UniqueFd> held;
  std::vector<int> ports;
  for (int i = 0; i < count; ++i) {
    held.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    socklen_t size = sizeof(address);
    if (bind(held.back().get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return {};
    if (getsockname(held.back().get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
    ports.push_back(ntohs(address.sin_port));
  }
  return ports;
}

std::string WhoAmI() {
  const passwd* entry = getpwuid(geteuid());
  return entry != nullptr ? entry->pw_name : "root";
}

// Slurm tells nobody what changes: it is asked every 50 ms. False when `patience` is over.
bool Eventually(absl::Duration patience, const std::function<bool()>& holds) {
  const absl::Time deadline = absl::Now() + patience;
  while (!holds()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(50));
  }
  return true;
}

// A host: processes of its own with a whole /proc (sandboxes inside need that), everything else shared. It dies with
// its first process, which reaps, and that one with us.
std::vector<std::string> InHost(const std::vector<std::string>& command) {
  std::vector<std::string> argv = {"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"};
  if (geteuid() != 0) argv.insert(argv.end(), {"--user", "--map-current-user"});
  argv.insert(argv.end(), {"/bin/sh", "-c", "/usr/bin/env --default-signal=INT,QUIT \"$@\" & wait $!", "host"});
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

// "Key=value Key=value …" over several lines, as scontrol prints it.
std::map<std::string, std::string> Fields(absl::string_view text) {
  std::map<std::string, std::string> fields;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    // Its value may have blanks.
    if (absl::ConsumePrefix(&line, "Reason=")) {
      fields["Reason"] = std::string(line);
      continue;
    }
    for (absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
      const std::vector<std::string> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
      if (parts.size() == 2) fields[parts[0]] = parts[1];
    }
  }
  return fields;
}

}  // namespace

absl::Status SlurmCluster::Missing() {
  for (const char* name : {"munged", "slurmctld", "slurmd", "slurmstepd", "sbatch", "scontrol"}) {
    if (access(absl::StrCat(SlurmPrograms(), "/", name).c_str(), X_OK) != 0) {
      return absl::NotFoundError(
          absl::StrCat("no ", SlurmPrograms(), "/", name, "; deploy/install_dependencies.sh brings it"));
    }
  }
  Command command;
  command.argv = InHost({"true"});
  if (const char* path = std::getenv("PATH")) command.environment["PATH"] = path;
  const auto report = RunToCompletion(command, kCommand);
  if (report.ok() && report->Succeeded()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("no pid namespace for a host: ", report.ok() ? report->stderr_text : report.status().ToString()));
}

absl::StatusOr<std::unique_ptr<SlurmCluster>> SlurmCluster::Start(const SlurmOptions& options) {
  absl::Status status;
  for (int i = 0; i < kTries; ++i) {
    ASSIGN_OR_RETURN(TemporaryDirectory directory, TemporaryDirectory::Create("sassay_slurm"));
    auto cluster = std::unique_ptr<SlurmCluster>(new SlurmCluster(options, std::move(directory)));
    RETURN_IF_ERROR(cluster->Configure());
    status = cluster->StartDaemons();
    if (status.ok()) return cluster;
    const std::string logs = cluster->Logs();
    status = absl::Status(status.code(), absl::StrCat(status.message(), "\n", logs));
    if (!absl::StrContains(logs, "Address already in use")) break;
  }
  return status;
}

SlurmCluster::~SlurmCluster() {
  while (!hosts_.empty()) KillHost(hosts_.begin()->first);
  while (!daemons_.empty()) daemons_.pop_back();
}

std::string SlurmCluster::Place(absl::string_view relative) const {
  return absl::StrCat(directory_.path().string(), "/", relative);
}

absl::Status SlurmCluster::Configure() {
  const std::vector<int> ports = FreePorts(options_.hosts + 1);
  if (ports.empty()) return absl::UnavailableError("no free ports");
  for (const char* name : {"munge", "state", "jobs", "dev", "log"}) fs::create_directory(Place(name));
  // munge and Slurm refuse folders that others may write.
  fs::permissions(directory_.path(), fs::perms(0755));
  RETURN_IF_ERROR(WriteFileAtomically(Place("munge/key"), RandomBytes(128), 0400));
  std::string conf = absl::Substitute(kSlurmConf, ports[0], directory_.path().string(), SlurmPrograms(), WhoAmI());
  std::string gres;
  std::vector<std::string> names;
  for (int i = 1; i <= options_.hosts; ++i) {
    const std::string name = absl::StrCat("n", i);
    names.push_back(name);
    fs::create_directory(Place(name));
    absl::StrAppendFormat(&conf, "NodeName=%s NodeHostname=localhost Port=%d CPUs=8 Gres=gpu:%d\n", name, ports[i],
                          options_.gpus_per_host);
    // A name for a device that is there anyway: none has to be made.
    for (int gpu = 0; gpu < options_.gpus_per_host; ++gpu)
      fs::create_symlink("/dev/null", Place(absl::StrCat("dev/", name, "_gpu", gpu)));
    absl::StrAppendFormat(&gres, "NodeName=%s Name=gpu File=%s_gpu[0-%d] Flags=nvidia_gpu_env\n", name,
                          Place("dev/" + name), options_.gpus_per_host - 1);
  }
  absl::StrAppend(&conf, "PartitionName=gpu Nodes=", absl::StrJoin(names, ","),
                  " Default=YES MaxTime=INFINITE State=UP\n");
  if (!options_.prolog.empty()) absl::StrAppend(&conf, "Prolog=", options_.prolog, "\n");
  if (!options_.epilog.empty()) absl::StrAppend(&conf, "Epilog=", options_.epilog, "\n");
  absl::StrAppend(&conf, options_.lines);
  RETURN_IF_ERROR(WriteFileAtomically(Place("slurm.conf"), conf, 0644));
  RETURN_IF_ERROR(WriteFileAtomically(Place("gres.conf"), gres, 0644));
  for (const char* name : {"HOME", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_HOME", "SASSAY_CUDA_HOME", "ASAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) environment_[name] = value;
  }
  const char* path = std::getenv("PATH");
  environment_["PATH"] = absl::StrCat(SlurmPrograms(), ":", path != nullptr ? path : "/usr/bin:/bin");
  environment_["SLURM_CONF"] = Place("slurm.conf");
  return absl::OkStatus();
}

absl::StatusOr<Subprocess> SlurmCluster::StartDaemon(const std::string& name, std::vector<std::string> argv) {
  UniqueFd log(open(Place("log/" + name).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  Command command;
  command.argv = std::move(argv);
  command.environment = environment_;
  command.inherit_fds = {{log.get(), 1}, {log.get(), 2}};
  return Subprocess::Start(command);
}

absl::Status SlurmCluster::StartDaemons() {
  const std::string munge = Place("munge/");
  ASSIGN_OR_RETURN(
      Subprocess munged,
      StartDaemon("munged", {SlurmPrograms() + "/munged", "--foreground", "--key-file=" + munge + "key",
                             "--socket=" + munge + "socket", "--pid-file=" + munge + "pid",
                             "--log-file=" + munge + "log", "--seed-file=" + munge + "seed", "--num-threads=1"}));
  daemons_.push_back(std::move(munged));
  if (!Eventually(kUp, [&] { return fs::exists(munge + "socket"); }))
    return absl::DeadlineExceededError("munged does not come up");
  // By their own names: Slurm's library looks at them to know in which daemon it is.
  ASSIGN_OR_RETURN(Subprocess controller,
                   StartDaemon("slurmctld", {SlurmPrograms() + "/slurmctld", "-D", "-f", Place("slurm.conf")}));
  daemons_.push_back(std::move(controller));
  for (int i = 1; i <= options_.hosts; ++i) {
    const std::string name = absl::StrCat("n", i);
    ASSIGN_OR_RETURN(Subprocess host, Boot(name));
    hosts_.emplace(name, std::move(host));
  }
  for (int i = 1; i <= options_.hosts; ++i) RETURN_IF_ERROR(WaitForHostState(absl::StrCat("n", i), "IDLE", kUp));
  return absl::OkStatus();
}

absl::StatusOr<Subprocess> SlurmCluster::Boot(const std::string& host) {
  return StartDaemon(host, InHost({SlurmPrograms() + "/slurmd", "-D", "-N", host, "-f", Place("slurm.conf"), "-d",
                                   SlurmPrograms() + "/slurmstepd"}));
}

absl::Status SlurmCluster::WaitForHostState(const std::string& name, absl::string_view state,
                                            absl::Duration patience) const {
  std::string seen;
  const bool reached = Eventually(patience, [&] {
    const auto host = Host(name);
    seen = host.ok() ? host->at("State") : std::string(host.status().message());
    return seen == state;
  });
  return reached ? absl::OkStatus() : absl::DeadlineExceededError(absl::StrCat(name, " is ", seen, ", not ", state));
}

absl::StatusOr<std::string> SlurmCluster::Run(const std::vector<std::string>& arguments) const {
  Command command;
  command.argv = arguments;
  command.argv[0] = SlurmPrograms() + "/" + arguments[0];
  command.environment = environment_;
  ASSIGN_OR_RETURN(const ExitReport report, RunToCompletion(command, kCommand));
  if (report.Succeeded()) return report.stdout_text;
  return absl::InternalError(absl::StrCat(absl::StrJoin(arguments, " "), ": ", DescribeExit(report), ": ",
                                          report.stdout_text, report.stderr_text));
}

absl::StatusOr<std::string> SlurmCluster::Submit(const std::vector<std::string>& arguments,
                                                 const std::map<std::string, std::string>& environment) const {
  Command command;
  command.argv = {SlurmPrograms() + "/sbatch", "--parsable", "--chdir", folder(), "--output", folder() + "/%j.log"};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.environment = environment_;
  for (const auto& [name, value] : environment) command.environment[name] = value;
  ASSIGN_OR_RETURN(const ExitReport report, RunToCompletion(command, kCommand));
  if (report.Succeeded()) return std::string(absl::StripAsciiWhitespace(report.stdout_text));
  return absl::InternalError(absl::StrCat("sbatch: ", DescribeExit(report), ": ", report.stderr_text));
}

absl::StatusOr<SlurmJob> SlurmCluster::Job(const std::string& id) const {
  ASSIGN_OR_RETURN(const std::string text, Run({"scontrol", "show", "job", id}));
  return Fields(text);
}

absl::StatusOr<std::map<std::string, std::string>> SlurmCluster::Host(const std::string& name) const {
  ASSIGN_OR_RETURN(const std::string text, Run({"scontrol", "show", "node", name}));
  return Fields(text);
}

std::string SlurmCluster::Output(const std::string& id) const {
  return ReadFile(absl::StrCat(folder(), "/", id, ".log")).value_or("");
}

absl::Status SlurmCluster::WaitForState(const std::string& id, absl::string_view state, absl::Duration patience) const {
  std::string seen;
  const bool reached = Eventually(patience, [&] {
    auto job = Job(id);
    seen =
        job.ok() ? absl::StrCat((*job)["JobState"], " (", (*job)["Reason"], ")") : std::string(job.status().message());
    return job.ok() && (*job)["JobState"] == state;
  });
  if (reached) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("job ", id, " is ", seen, ", not ", state, "; it printed:\n", Output(id)));
}

absl::Status SlurmCluster::WaitForOutput(const std::string& id, absl::string_view text, absl::Duration patience) const {
  if (Eventually(patience, [&] { return absl::StrContains(Output(id), text); })) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat("job ", id, " never printed \"", text, "\", but:\n", Output(id)));
}

void SlurmCluster::KillHost(const std::string& name) {
  const auto host = hosts_.find(name);
  if (host == hosts_.end()) return;
  std::vector<pid_t> all;
  for (const Process& process : DescendantsOf(host->second.pid())) all.push_back(process.pid);
  host->second.Kill();
  host->second.Wait(absl::Now() + kUp).IgnoreError();
  // The kernel ends a namespace's processes before its first one is gone; what is left are zombies of others.
  hosts_.erase(host);
  Eventually(kUp, [&] {
    for (pid_t pid : all) {
      if (fs::exists(absl::StrCat("/proc/", pid, "/exe"))) return false;
    }
    return true;
  });
}

absl::Status SlurmCluster::StartHost(const std::string& name) {
  ASSIGN_OR_RETURN(Subprocess host, Boot(name));
  hosts_.insert_or_assign(name, std::move(host));
  return WaitForHostState(name, "IDLE", kUp);
}

std::vector<pid_t> SlurmCluster::Processes(const std::string& host, const std::string& program) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? std::vector<pid_t>() : LivingDescendants(found->second.pid(), program);
}

std::string SlurmCluster::Logs() const {
  std::string logs;
  std::error_code error;
  for (const char* folder : {"log", "jobs"}) {
    for (const auto& entry : fs::directory_iterator(Place(folder), error)) {
      if (entry.is_regular_file(error))
        absl::StrAppend(&logs, "==> ", entry.path().filename().string(), "\n", ReadFile(entry.path()).value_or(""),
                        "\n");
    }
  }
  return logs;
}

}  // namespace sassay::testing
