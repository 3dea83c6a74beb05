#include "monitor/program/run.h"

#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/process/crash_report.h"
#include "common/process/host_name.h"
#include "common/process/stop_signal.h"
#include "common/terminal/log.h"
#include "common/terminal/style.h"
#include "monitor/actions/control_client.h"
#include "monitor/actions/supervisor.h"
#include "monitor/exporter/exporter.h"
#include "monitor/program/assemble.h"
#include "monitor/program/look.h"
#include "monitor/program/options.h"
#include "monitor/program/watch.h"
#include "monitor/rules/config.h"
#include "spdlog/spdlog.h"

namespace sassay::monitor {
namespace {

// A service that does not answer cannot do anything with the next report either. A timer that is earlier than all
// others wakes a thread of gRPC each time.
constexpr absl::Duration kReportTimeout = absl::Seconds(10);

int Fail(const absl::Status& status) {
  std::cerr << "reliability-monitor: " << status.message() << "\n";
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ? kExitUsage : kExitInfrastructure;
}

absl::StatusOr<v1::MonitorConfig> ConfigOf(const Options& options) {
  if (options.config.empty()) return DefaultConfig();
  return LoadConfig(options.config);
}

int CheckConfig(const Options& options) {
  const absl::StatusOr<v1::MonitorConfig> config = ConfigOf(options);
  if (!config.ok()) return Fail(config.status());
  std::cout << (options.config.empty() ? "the rules that come with the program" : options.config) << ": right, "
            << config->rules_size() << " rules\n";
  return kExitDone;
}

int PrintConfig(const Options& options) {
  if (options.config.empty()) {
    std::cout << DefaultConfigText() << std::flush;
    return kExitDone;
  }
  const absl::StatusOr<v1::MonitorConfig> config = LoadConfig(options.config);
  if (!config.ok()) return Fail(config.status());
  std::cout << config->DebugString() << std::flush;
  return kExitDone;
}

// How a service that hangs is restarted here.
RestartService RestartOf(const Options& options, Supervisor* supervisor) {
  if (supervisor != nullptr) return [supervisor](const std::string& reason) { return supervisor->Restart(reason); };
  if (!options.restart_command.empty()) {
    return [command = options.restart_command](const std::string&) { return RunRestartCommand(command); };
  }
  return [](const std::string&) {
    return absl::FailedPreconditionError(
        "nobody told the monitor how to restart the service: --supervise or --restart-command");
  };
}

// Everything that lives as long as the monitor watches, in the order in which it is made.
struct Running {
  Board board;
  Shared shared;
  std::unique_ptr<ControlClient> client;
  std::unique_ptr<metrics::Endpoint> endpoint;
  std::unique_ptr<Watch> watch;
  std::unique_ptr<Supervisor> supervisor;
};

absl::Status StartSupervisor(const Options& options, const v1::RestartPolicy& policy, Running& running) {
  if (options.supervised.empty()) return absl::OkStatus();
  SupervisorOptions supervisor;
  supervisor.command = options.supervised;
  supervisor.drain = options.drain;
  supervisor.first_wait = absl::Seconds(policy.first_delay_s());
  supervisor.longest_wait = absl::Seconds(policy.max_delay_s());
  supervisor.on_exit = [&running](const std::string& how) {
    running.watch->Add({SteadyNow(), "", "service.exited", 1, how});
  };
  ASSIGN_OR_RETURN(running.supervisor, Supervisor::Start(std::move(supervisor)));
  return absl::OkStatus();
}

absl::Status Start(const Options& options, Running& running) {
  ASSIGN_OR_RETURN(v1::MonitorConfig config, ConfigOf(options));
  ASSIGN_OR_RETURN(const SecureChannel channel, SecureChannel::Open(options.connection));
  const std::filesystem::path folder = std::filesystem::path(options.state) / "monitor";
  ASSIGN_OR_RETURN(Journal::Opened opened, Journal::Open(folder / "journal"));
  if (!opened.warning.empty()) spdlog::warn("{}", opened.warning);
  running.client = std::make_unique<ControlClient>(channel);
  const std::string host = HostName();
  if (!options.metrics.empty()) {
    ASSIGN_OR_RETURN(running.endpoint, Export(running.board, host, options.metrics));
    std::cout << "metrics=" << running.endpoint->address() << std::endl;
  }
  const v1::RestartPolicy restarts = config.restarts();
  WatchParts parts;
  parts.config = std::move(config);
  parts.host = host;
  parts.sources = MakeSources(channel, options.state, folder, running.shared);
  parts.journal = std::move(opened.journal);
  parts.remembered = std::move(opened.entries);
  parts.board = &running.board;
  parts.directory = running.shared.directory;
  parts.carry_out = [&running, options](const Decision& decision) {
    return CarryOut(decision, *running.client, RestartOf(options, running.supervisor.get()), *running.shared.ledger);
  };
  parts.report_health = [&running](const v1::ReportHealthRequest& report) {
    v1::ReportHealthResponse response;
    return running.client->Call(&ControlClient::Stub::ReportHealth, "report health", kReportTimeout, report, response);
  };
  running.watch = std::make_unique<Watch>(std::move(parts));
  return StartSupervisor(options, restarts, running);
}

int RunWatch(const Options& options) {
  // Two dozen threads that do next to nothing would have a heap each.
  mallopt(M_ARENA_MAX, 2);
  // Nor a huge page for each stack. A supervised service would inherit this, and has use for huge pages.
  if (options.supervised.empty()) prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  LogToStandardError("reliability-monitor");
  CatchStopSignals(SecondStopSignal::kIgnored, kExitInfrastructure);
  Running running;
  const absl::Status started = Start(options, running);
  if (!started.ok()) return Fail(started);
  spdlog::info("watching {}", options.connection.service);
  std::thread stopper([&running] {
    WaitForStopSignal();
    running.watch->Stop();
  });
  running.watch->Run();
  stopper.join();
  spdlog::info("stopping");
  running.supervisor.reset();
  // A thread that hangs in the driver would keep the destructors waiting, and what it uses must not go away under it.
  if (running.watch->AnyHangs()) _exit(kExitDone);
  running.watch.reset();
  return kExitDone;
}

}  // namespace

int RunReliabilityMonitor(int argc, char** argv) {
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  CatchFatalSignals();
  const Options options = ParseOptions(argc, argv);
  switch (options.mode) {
    case Mode::kExit:
      return options.exit_code;
    case Mode::kPrintConfig:
      return PrintConfig(options);
    case Mode::kCheckConfig:
      return CheckConfig(options);
    case Mode::kOnce:
      return Look(options, std::cout,
                  WantColor("auto", isatty(STDOUT_FILENO) == 1,
                            std::getenv("NO_COLOR") == nullptr ? "" : std::getenv("NO_COLOR"),
                            std::getenv("TERM") == nullptr ? "" : std::getenv("TERM")));
    case Mode::kWatch:
      return RunWatch(options);
  }
  return kExitUsage;
}

}  // namespace sassay::monitor
