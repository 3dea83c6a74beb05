#include "monitor/program/options.h"

#include <algorithm>
#include <iostream>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/cli/help.h"
#include "monitor/actions/connection_flags.h"

namespace sassay::monitor {
namespace {

constexpr char kDescription[] =
    "Watches GPUs, workers and the profiling service: pauses what is hot, restarts what hangs, excludes what it "
    "distorted.";
constexpr char kFooter[] = R"(Examples:
  reliability-monitor                                     watch this machine's GPUs and the service on it
  reliability-monitor --once                              one look at the machine: what NVML says, and the service's states
  reliability-monitor --once --json                       the same, every sample, for a script
  reliability-monitor --print-config > rules.textproto    the rules that come with the program, to change them
  reliability-monitor --check-config --config rules.textproto
  reliability-monitor --supervise -- profiler-service --listen 127.0.0.1:50051
  reliability-monitor --restart-command 'systemctl restart sassay-profiler'

Without --supervise and --restart-command a service that hangs is reported and not restarted. With --supervise the service
ends when the monitor does. No GPU is ever reset.

Exit status: 0 after SIGTERM or SIGINT, and for a look or a check that went well; 2 usage, or a configuration that is wrong;
3 it could not start (another monitor has --state, a port is taken).)";

// Which flags were given, besides those with values.
struct Flags {
  bool once = false;
  bool print_config = false;
  bool check_config = false;
  bool supervise = false;
};

void AddFlags(CLI::App& app, Options& options, Flags& flags) {
  app.add_option("--state", options.state, "The service's --state; the journal is kept in its folder monitor")
      ->envname("SASSAY_STATE")
      ->capture_default_str();
  app.add_option("--config", options.config, "Rules (docs/monitor.md); those that come with the program otherwise")
      ->envname("SASSAY_MONITOR_CONFIG");
  app.add_option("--metrics", options.metrics, "Address and port for Prometheus; empty for none")
      ->envname("SASSAY_MONITOR_METRICS")
      ->capture_default_str();
  AddConnectionFlags(app, options.connection);
  app.add_flag("--supervise", flags.supervise, "Start the service whose command line follows --, and keep it running");
  const auto drain = [&options](const std::string& text) {
    if (!absl::ParseDuration(text, &options.drain) || options.drain < absl::ZeroDuration()) {
      throw CLI::ValidationError(absl::StrCat("--drain: expected a number with unit (30s, 2m), got '", text, "'"));
    }
  };
  app.add_option_function<std::string>("--drain", drain,
                                       "With --supervise: how long the service may take to end when the monitor does; "
                                       "longer than its own --drain")
      ->type_name("DURATION")
      ->default_str("15s");
  app.add_option("--restart-command", options.restart_command, "Shell command that restarts a service that hangs");
  app.add_option("COMMAND", options.supervised, "With --supervise: the service's command line")->group("");
  app.add_flag("--once", flags.once, "One look at the machine; changes nothing");
  app.add_flag("--print-config", flags.print_config, "Print the rules in force");
  app.add_flag("--check-config", flags.check_config, "Say whether --config is right");
  app.add_flag("--json", options.json, "With --once: one JSON document");
}

// Empty: nothing is wrong.
std::string Contradiction(const Options& options, const Flags& flags) {
  if (flags.once + flags.print_config + flags.check_config > 1) {
    return "--once, --print-config and --check-config exclude each other";
  }
  if (flags.supervise && options.supervised.empty()) {
    return "--supervise needs the service's command line, for example: --supervise -- profiler-service";
  }
  if (!flags.supervise && !options.supervised.empty()) {
    return absl::StrCat("unexpected argument '", options.supervised.front(),
                        "'; a command line follows --supervise --");
  }
  if (flags.supervise && !options.restart_command.empty()) {
    return "--supervise and --restart-command exclude each other";
  }
  if (options.json && !flags.once) return "--json goes with --once";
  return "";
}

Mode ModeOf(const Flags& flags) {
  if (flags.once) return Mode::kOnce;
  if (flags.print_config) return Mode::kPrintConfig;
  return flags.check_config ? Mode::kCheckConfig : Mode::kWatch;
}

}  // namespace

Options ParseOptions(int argc, const char* const* argv) {
  Options options;
  Flags flags;
  options.state = DefaultStateFolder();
  CLI::App app(kDescription, "reliability-monitor");
  WrapHelp(app, TerminalColumns());
  app.footer(kFooter);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_version_flag("--version", std::string("reliability-monitor " SASSAY_VERSION));
  AddFlags(app, options, flags);
  app.get_option("COMMAND")->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    options.mode = Mode::kExit;
    options.exit_code = app.exit(error) == 0 ? kExitDone : kExitUsage;
    return options;
  }
  options.mode = ModeOf(flags);
  const std::string wrong = Contradiction(options, flags);
  if (wrong.empty()) return options;
  std::cerr << "reliability-monitor: " << wrong << "\nRun with --help for more information.\n";
  options.mode = Mode::kExit;
  options.exit_code = kExitUsage;
  return options;
}

}  // namespace sassay::monitor
