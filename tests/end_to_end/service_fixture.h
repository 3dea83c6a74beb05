// A real profiler-service on an emulated device, on a free port, and the real agent talking to it. Nothing is faked:
// the programs are the ones that are installed.
#ifndef SASSAY_TESTS_END_TO_END_SERVICE_FIXTURE_H_
#define SASSAY_TESTS_END_TO_END_SERVICE_FIXTURE_H_

#include <signal.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/files.h"
#include "common/process/subprocess.h"
#include "nlohmann/json.hpp"

namespace sassay::testing {

// Path of an installed program or of a file in the source tree.
std::string Program(const std::string& name);
std::string SourcePath(const std::string& relative);

// Where a service runs, and what it is.
struct Placement {
  Placement(std::string listen = "127.0.0.1:0") : listen(std::move(listen)) {}  // NOLINT: an address is a placement
  std::string listen;
  std::vector<std::string> inside;  // the command that starts it on another host: "nsenter --net=…"; empty: this one
  std::string programs;             // their folder; empty: this build's
};

// A service that lives as long as the object, with its own state directory unless one is given.
class Service {
 public:
  // `state` survives the object if it is given. Extra arguments go to the command line.
  static absl::StatusOr<std::unique_ptr<Service>> Start(const std::string& state = "",
                                                        const std::vector<std::string>& arguments = {},
                                                        const Placement& where = {});
  // Start in two steps, for those who have something to do with a service that is not ready yet.
  static absl::StatusOr<std::unique_ptr<Service>> Launch(const std::string& state,
                                                         const std::vector<std::string>& arguments,
                                                         const Placement& where);
  // Fails with what the service printed if it ended.
  absl::Status WaitUntilReady();

  // Valid once it is ready.
  const std::string& address() const { return address_; }
  pid_t pid() const { return process_.pid(); }
  // SIGKILL, as a crash would be; waits until it is gone.
  void Crash();
  // SIGTERM, as a service manager would, or another signal. Its exit status, minus the signal that ended it, or -1000
  // if it has not ended in time.
  int Stop(int signal_number = SIGTERM);
  // What it printed so far.
  std::string Log() const;

 private:
  Service(TemporaryDirectory directory, Subprocess process, std::string host)
      : directory_(std::move(directory)), process_(std::move(process)), host_(std::move(host)) {}
  TemporaryDirectory directory_;
  Subprocess process_;
  std::string host_;
  std::string address_;
};

// What the agent said.
struct AgentResult {
  int exit_code = -1;
  nlohmann::json json;  // null if standard output was not one JSON document
  std::string stdout_text, stderr_text;
};

// mini-ptx-agent with a private cache and this configuration home.
Command AgentCommand(const std::vector<std::string>& arguments, const std::string& home);

// Runs mini-ptx-agent with a private cache and configuration home.
AgentResult RunAgent(const std::vector<std::string>& arguments, absl::Duration timeout = absl::Seconds(120));

}  // namespace sassay::testing

#endif  // SASSAY_TESTS_END_TO_END_SERVICE_FIXTURE_H_
