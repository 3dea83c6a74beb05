// Each thing that can go wrong, done to the real programs: what the GPUs' states, the incidents and the monitor itself
// are then. The same under a load of submissions is in monitor_load_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/end_to_end/monitored.h"
#include "tests/end_to_end/process_tree.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kFour[] = "emulated:sm_90a,emulated:sm_90a,emulated:sm_90a,emulated:sm_90a";
constexpr char kFirst[] = "emulated:sm_90a#0";
constexpr char kSick[] = "emulated:sm_90a#2";
// A GPU is back a second after it is well, not half a minute.
const std::vector<std::pair<std::string, std::string>> kSoon = {{"minimum_s: 30", "minimum_s: 1"},
                                                                {"clear_after_s: 5\n", "clear_after_s: 1\n"}};

class MonitorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    StartService();
    StartMonitor();
    operator_ = std::make_unique<Operator>(service_->address());
    ASSERT_TRUE(operator_->AwaitWatched()) << monitor_->Log();
  }
  void TearDown() override {
    if (HasFailure() && monitor_ != nullptr) std::cout << monitor_->Log();
  }

  void StartService() {
    auto service = Service::Start((directory_.path() / "state").string(), {"--device", kFour});
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }
  void StartMonitor() {
    auto monitor = Monitor::Start(script_, service_->address(), directory_.path() / "state", kSoon);
    ASSERT_TRUE(monitor.ok()) << monitor.status();
    monitor_ = *std::move(monitor);
  }
  void ExpectOthersHealthy() {
    for (int i : {0, 1, 3}) EXPECT_EQ(operator_->StateOf(absl::StrCat("emulated:sm_90a#", i)), "HEALTHY");
  }
  // The incident of `rule` that is `over` or not, once it is with the service.
  nlohmann::json AwaitIncident(const std::string& rule, bool over, absl::Duration timeout = absl::Seconds(30)) {
    nlohmann::json found;
    const bool came = Eventually(
        [&] {
          for (const nlohmann::json& incident : operator_->Incidents(rule)) {
            if (incident.contains("to") == over) found = incident;
          }
          return !found.is_null();
        },
        timeout);
    EXPECT_TRUE(came) << "no incident " << rule << (over ? " that is over\n" : "\n") << monitor_->Log();
    return found;
  }

  const TemporaryDirectory directory_ = *TemporaryDirectory::Create("monitored");
  Script script_{directory_.path(), {kFirst, "emulated:sm_90a#1", kSick, "emulated:sm_90a#3"}};
  std::unique_ptr<Service> service_;
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<Operator> operator_;
};

TEST_F(MonitorTest, HotGpuCoolsAndComesBackAndTheOthersGoOn) {
  script_.SetGpu(kSick, "temperature=92 margin=-1 reasons=0x40");
  EXPECT_TRUE(operator_->AwaitState(kSick, "COOLING"));
  ExpectOthersHealthy();
  const nlohmann::json open = AwaitIncident("thermal_slowdown", false);
  EXPECT_EQ(open.value("uuid", ""), kSick);
  EXPECT_FALSE(open.value("evidence", nlohmann::json::array()).empty());
  script_.SetGpu(kSick, "");
  EXPECT_TRUE(operator_->AwaitState(kSick, "HEALTHY"));
  const nlohmann::json over = AwaitIncident("thermal_slowdown", true);
  EXPECT_EQ(over.value("id", ""), open.value("id", "x"));
}

TEST_F(MonitorTest, PowerCappingIsNoHeat) {
  script_.SetGpu(kSick, "temperature=60 reasons=0x4 power=699");
  ASSERT_TRUE(Eventually([&] {
    for (const std::string& line : monitor_->Metrics("sassay_gpu_clock_reason")) {
      if (line.find("sw_power_cap") != std::string::npos && line.find(kSick) != std::string::npos &&
          line.back() == '1') {
        return true;
      }
    }
    return false;
  }));
  EXPECT_EQ(operator_->StateOf(kSick), "HEALTHY");
}

TEST_F(MonitorTest, GpuThatFellOffTheBusIsQuarantinedUntilAnOperatorReleasesIt) {
  script_.SetGpu(kSick, "xid=79");
  EXPECT_TRUE(operator_->AwaitState(kSick, "QUARANTINED"));
  EXPECT_EQ(AwaitIncident("xid_hardware", false).value("severity", ""), "CRITICAL");
  ExpectOthersHealthy();
  EXPECT_FALSE(operator_->Ask({"release", kSick, "--force"}).is_null());
  EXPECT_TRUE(operator_->AwaitState(kSick, "HEALTHY"));
}

TEST_F(MonitorTest, LostGpuIsQuarantined) {
  script_.SetGpu(kSick, "error=15");
  EXPECT_TRUE(operator_->AwaitState(kSick, "QUARANTINED"));
  EXPECT_EQ(AwaitIncident("gpu_lost", false).value("uuid", ""), kSick);
  ExpectOthersHealthy();
}

TEST_F(MonitorTest, DoubleBitErrorQuarantines) {
  script_.SetGpu(kSick, "ecc=1");
  EXPECT_TRUE(operator_->AwaitState(kSick, "QUARANTINED"));
  EXPECT_EQ(AwaitIncident("ecc_uncorrected", false).value("uuid", ""), kSick);
  ExpectOthersHealthy();
}

TEST_F(MonitorTest, XidOfAConvictedCandidateIsNotedAndTheGpuGoesOn) {
  const AgentResult result = RunAgent({"submit", SourcePath("tests/hostile/hang/trap.cu"), "--workload",
                                       "gemm_n256_k256/M=8", "--service", service_->address(), "--json"});
  ASSERT_EQ(result.json.value("status", ""), "RUNTIME_ERROR") << result.stdout_text << result.stderr_text;
  const std::string device = result.json["versions"].value("device", "");
  for (const char* gpu : {"emulated:sm_90a#0", "emulated:sm_90a#1", "emulated:sm_90a#2", "emulated:sm_90a#3"}) {
    script_.SetGpu(gpu, "xid=31");
  }
  ASSERT_TRUE(Eventually([&] { return monitor_->Metrics("sassay_gpu_xid").size() >= 4; })) << device;
  // Where it ran it explains the Xid: noted. Elsewhere the GPU becomes suspect, and nothing is paused.
  EXPECT_TRUE(Eventually(
      [&] {
        int notes = 0;
        for (const nlohmann::json& incident : operator_->Incidents("xid_application")) {
          notes += incident.value("severity", "") == "INFO";
        }
        return notes == 1;
      },
      absl::Seconds(60)));
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(operator_->StateOf(absl::StrCat("emulated:sm_90a#", i)), ::testing::AnyOf("HEALTHY", "SUSPECT"));
  }
}

TEST_F(MonitorTest, NvmlThatHangsPausesEveryGpuAndKeepsTheMonitorNeitherFromWatchingNorFromEnding) {
  script_.SetDriver("hang");
  EXPECT_TRUE(operator_->AwaitState(kFirst, "PAUSED", absl::Seconds(60)));
  AwaitIncident("nvml_silent", false);
  script_.SetDriver("");
  EXPECT_TRUE(operator_->AwaitState(kFirst, "HEALTHY", absl::Seconds(60)));
  script_.SetDriver("hang");
  ASSERT_TRUE(operator_->AwaitState(kFirst, "PAUSED", absl::Seconds(60)));
  EXPECT_EQ(monitor_->Stop(), 0) << "it hangs with NVML";
}

TEST_F(MonitorTest, MonitorKilledInTheMiddleOfAnIncidentGoesOnWithIt) {
  script_.SetGpu(kSick, "reasons=0x40");
  ASSERT_TRUE(operator_->AwaitState(kSick, "COOLING"));
  const nlohmann::json before = AwaitIncident("thermal_slowdown", false);
  monitor_->Kill();
  EXPECT_EQ(operator_->StateOf(kSick), "COOLING") << "the hold is the service's to keep";
  StartMonitor();
  EXPECT_EQ(operator_->StateOf(kSick), "COOLING");
  script_.SetGpu(kSick, "");
  EXPECT_TRUE(operator_->AwaitState(kSick, "HEALTHY"));
  EXPECT_EQ(AwaitIncident("thermal_slowdown", true).value("id", ""), before.value("id", "x"));
}

TEST_F(MonitorTest, FullDiskPausesEveryGpuUntilThereIsRoom) {
  script_.SetHost("disk_free 0.001\n");
  EXPECT_TRUE(operator_->AwaitState(kFirst, "PAUSED"));
  EXPECT_EQ(AwaitIncident("disk_full", false).value("severity", ""), "CRITICAL");
  script_.SetHost("");
  EXPECT_TRUE(operator_->AwaitState(kFirst, "HEALTHY"));
}

TEST_F(MonitorTest, ClockThatWasSetIsAnIncidentAndHoldsNothing) {
  script_.SetHost("wall_offset 100\n");
  AwaitIncident("clock_jump", true);
  EXPECT_EQ(operator_->StateOf(kFirst), "HEALTHY");
}

TEST_F(MonitorTest, JudgeThatDiesAgainAndAgainTakesItsGpuOut) {
  for (const char* other : {kFirst, "emulated:sm_90a#1", "emulated:sm_90a#3"}) {
    ASSERT_FALSE(operator_->Ask({"drain", other}).is_null());
  }
  // A judge is started for work, so there is some.
  ASSERT_EQ(RunAgent({"submit", SourcePath("agent/examples/gemm_naive.cu"), "--workload", "gemm_n256_k256/M=8",
                      "--service", service_->address(), "--json", "--detach"})
                .exit_code,
            0);
  std::atomic<bool> enough = false;
  std::thread killer([this, &enough] {
    while (!enough) {
      for (pid_t pid : LivingDescendants(service_->pid(), "profiler-judge")) kill(pid, SIGKILL);
      absl::SleepFor(absl::Milliseconds(5));
    }
  });
  EXPECT_TRUE(operator_->AwaitState(kSick, "COOLING", absl::Seconds(60)));
  enough = true;
  killer.join();
  EXPECT_EQ(AwaitIncident("judge_crash_loop", false).value("uuid", ""), kSick);
}

TEST_F(MonitorTest, RunnerThatHangsCostsNeitherTheCandidateNorItsGpuAnything) {
  const auto spares = [this] { return LivingDescendants(service_->pid(), "profiler-runner"); };
  ASSERT_TRUE(Eventually([&] { return spares().size() >= 4; }));
  for (pid_t pid : spares()) kill(pid, SIGSTOP);
  const AgentResult result = RunAgent({"submit", SourcePath("agent/examples/gemm_naive.cu"), "--workload",
                                       "gemm_n256_k256/M=8", "--service", service_->address(), "--json"},
                                      absl::Seconds(200));
  EXPECT_EQ(result.json.value("status", ""), "CORRECT") << result.stdout_text << result.stderr_text;
  EXPECT_FALSE(result.json.contains("excluded"));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(operator_->StateOf(absl::StrCat("emulated:sm_90a#", i)), "HEALTHY");
}

// The service as the monitor's child.
class SupervisedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string state = (directory_.path() / "state").string();
    const std::string address = "unix:" + (directory_.path() / "socket").string();
    auto monitor = Monitor::Start(script_, address, state, {{"above: 10 clear: 1 }", "above: 3 clear: 1 }"}},
                                  {"--supervise", "--", Program("profiler-service"), "--listen", address, "--metrics",
                                   "127.0.0.1:0", "--device", kFour, "--state", state});
    ASSERT_TRUE(monitor.ok()) << monitor.status();
    monitor_ = *std::move(monitor);
    operator_ = std::make_unique<Operator>(address);
    ASSERT_TRUE(operator_->AwaitWatched()) << monitor_->Log();
    first_ = ServicePid();
    ASSERT_NE(first_, 0);
  }
  void TearDown() override {
    if (HasFailure() && monitor_ != nullptr) std::cout << monitor_->Log();
  }
  pid_t ServicePid() const {
    const std::vector<pid_t> pids = LivingDescendants(monitor_->pid(), "profiler-servic");
    return pids.empty() ? 0 : pids.front();
  }
  bool AwaitAnother() {
    return Eventually([this] { return ServicePid() != 0 && ServicePid() != first_; }, absl::Seconds(60)) &&
           operator_->AwaitWatched(absl::Seconds(60)) && operator_->AwaitState(kFirst, "HEALTHY");
  }

  const TemporaryDirectory directory_ = *TemporaryDirectory::Create("supervised");
  Script script_{directory_.path(), {kFirst, "emulated:sm_90a#1", kSick, "emulated:sm_90a#3"}};
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<Operator> operator_;
  pid_t first_ = 0;
};

TEST_F(SupervisedTest, StoppedServiceIsKilledAndStartedAgain) {
  kill(first_, SIGSTOP);
  EXPECT_TRUE(AwaitAnother());
  EXPECT_NE(kill(first_, 0), 0) << "the stopped process is still there";
  EXPECT_TRUE(Eventually([this] { return operator_->Incidents("service_silent").size() == 1; }));
}

TEST_F(SupervisedTest, KilledServiceIsStartedAgainAndKeepsItsHolds) {
  script_.SetGpu(kSick, "xid=79");
  ASSERT_TRUE(operator_->AwaitState(kSick, "QUARANTINED"));
  kill(first_, SIGKILL);
  EXPECT_TRUE(AwaitAnother());
  EXPECT_EQ(operator_->StateOf(kSick), "QUARANTINED");
}

TEST_F(SupervisedTest, ServiceEndsWithItsMonitor) {
  EXPECT_EQ(monitor_->Stop(absl::Seconds(40)), 0);
  EXPECT_NE(kill(first_, 0), 0);
}

}  // namespace
}  // namespace sassay::testing
