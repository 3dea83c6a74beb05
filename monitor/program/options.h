// Everything an operator can say to reliability-monitor.
#ifndef SASSAY_MONITOR_PROGRAM_OPTIONS_H_
#define SASSAY_MONITOR_PROGRAM_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/rpc/secure_channel.h"

namespace sassay::monitor {

enum class Mode { kWatch, kOnce, kPrintConfig, kCheckConfig, kExit };

struct Options {
  Mode mode = Mode::kWatch;
  int exit_code = 0;  // kExit: help, version or a usage error; already printed
  ConnectionOptions connection;
  std::string metrics = "127.0.0.1:9465";
  std::string config;  // empty: the rules that come with the program
  std::string state;
  bool json = false;
  std::vector<std::string> supervised;  // the service's command line; empty: somebody else supervises it
  std::string restart_command;
  absl::Duration drain = absl::Seconds(15);  // of the supervised service, when the monitor ends
};

// Prints help, version and usage errors itself.
Options ParseOptions(int argc, const char* const* argv);

// Exit statuses.
inline constexpr int kExitDone = 0;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInfrastructure = 3;

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_PROGRAM_OPTIONS_H_
