// A real profiler-service with several emulated GPUs, and a real reliability-monitor that watches them through an NVML
// that does what a file says (tests/injected/scripted_nvml.cc) on a host that does, too (scripted_host.cc).
#ifndef SASSAY_TESTS_END_TO_END_MONITORED_H_
#define SASSAY_TESTS_END_TO_END_MONITORED_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/files.h"
#include "common/process/subprocess.h"
#include "nlohmann/json.hpp"

namespace sassay::testing {

// Whether `condition` became true before `timeout`.
bool Eventually(const std::function<bool()>& condition, absl::Duration timeout = absl::Seconds(30));

// What NVML and the host say. The files are in a folder that outlives the programs.
class Script {
 public:
  // GPUs named `uuids`, all well.
  Script(std::filesystem::path folder, std::vector<std::string> uuids);

  // "temperature=91 reasons=0x40" from now on; "" is well again.
  void SetGpu(const std::string& uuid, const std::string& keys);
  // Lines for all of NVML ("hang"); "" is well again.
  void SetDriver(const std::string& lines);
  // "disk_free 0.001\n".
  void SetHost(const std::string& lines);
  // SASSAY_SCRIPTED_NVML and its kin, for a program that is to see all this.
  std::map<std::string, std::string> Environment() const;

 private:
  void Write() const;
  const std::filesystem::path folder_;
  const std::vector<std::string> uuids_;
  std::map<std::string, std::string> keys_;
  std::string driver_;
};

// The program, as long as the object lives.
class Monitor {
 public:
  // Rules are those that come with the program with `edits` made to them: each first text must be there. `arguments`
  // are added to the command line. Ready when it says where its metrics are.
  static absl::StatusOr<std::unique_ptr<Monitor>> Start(
      const Script& script, const std::string& service, const std::filesystem::path& state,
      const std::vector<std::pair<std::string, std::string>>& edits = {},
      const std::vector<std::string>& arguments = {});
  void Kill();
  // SIGTERM; its exit status, or -1 if it did not end within the time.
  int Stop(absl::Duration patience = absl::Seconds(20));
  pid_t pid() const { return process_.pid(); }
  std::string Log() const;
  // Lines of its metrics that begin with `prefix`.
  std::vector<std::string> Metrics(const std::string& prefix) const;

 private:
  Monitor(TemporaryDirectory directory, Subprocess process)
      : directory_(std::move(directory)), process_(std::move(process)) {}
  TemporaryDirectory directory_;
  Subprocess process_;
};

// sassay-admin against one service.
class Operator {
 public:
  explicit Operator(std::string service) : service_(std::move(service)) {}

  // Its JSON answer; null if it failed, with what it said in `error`.
  nlohmann::json Ask(std::vector<std::string> arguments) const;
  // "HEALTHY", "COOLING" …; empty if the service did not answer.
  std::string StateOf(const std::string& gpu) const;
  // Newest revisions whose rule is `rule`.
  std::vector<nlohmann::json> Incidents(const std::string& rule) const;
  bool AwaitState(const std::string& gpu, const std::string& state, absl::Duration timeout = absl::Seconds(30)) const;
  // Until every GPU's watermark moves.
  bool AwaitWatched(absl::Duration timeout = absl::Seconds(30)) const;

 private:
  const std::string service_;
};

}  // namespace sassay::testing

#endif  // SASSAY_TESTS_END_TO_END_MONITORED_H_
