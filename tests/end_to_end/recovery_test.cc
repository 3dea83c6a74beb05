// Kill anything at any time: what was accepted ends with exactly one verdict.
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

constexpr char kWorkload[] = "gemm_n256_k256/M=16";

std::string Example() { return SourcePath("agent/examples/gemm_tiled.cu"); }

class RecoveryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("recovery");
    ASSERT_TRUE(directory.ok());
    state_.emplace(*std::move(directory));
  }
  std::unique_ptr<Service> StartService() {
    auto service = Service::Start(state_->path().string());
    EXPECT_TRUE(service.ok()) << service.status();
    return service.ok() ? *std::move(service) : nullptr;
  }
  std::optional<TemporaryDirectory> state_;
};

TEST_F(RecoveryTest, AttachAfterADisconnectGivesTheSameEventsAndVerdict) {
  auto service = StartService();
  ASSERT_NE(service, nullptr);
  const AgentResult detached =
      RunAgent({"submit", Example(), "--workload", kWorkload, "--service", service->address(), "--detach", "--json"});
  ASSERT_TRUE(detached.json.is_object()) << detached.stdout_text << detached.stderr_text;
  const std::string id = detached.json["submission_id"];
  const AgentResult first = RunAgent({"attach", id, "--service", service->address(), "--json"});
  const AgentResult second = RunAgent({"attach", id, "--service", service->address(), "--json"});
  EXPECT_EQ(first.json.value("status", ""), "CORRECT") << first.stdout_text << first.stderr_text;
  EXPECT_EQ(first.json, second.json);
  EXPECT_EQ(first.exit_code, 0);
}

TEST_F(RecoveryTest, AcceptedSubmissionsSurviveTheServicesDeath) {
  std::set<std::string> ids;
  for (int round = 0; round < 3; ++round) {
    auto service = StartService();
    ASSERT_NE(service, nullptr);
    for (int i = 0; i < 4; ++i) {
      const AgentResult detached = RunAgent({"submit", Example(), "--workload", kWorkload, "--fresh", "--service",
                                             service->address(), "--detach", "--json"});
      ASSERT_TRUE(detached.json.is_object()) << detached.stdout_text << detached.stderr_text << service->Log();
      ids.insert(detached.json["submission_id"].get<std::string>());
    }
    service->Crash();
  }
  EXPECT_EQ(ids.size(), 12u);
  auto service = StartService();
  ASSERT_NE(service, nullptr);
  for (const std::string& id : ids) {
    const AgentResult result = RunAgent({"attach", id, "--service", service->address(), "--json"});
    EXPECT_EQ(result.json.value("status", ""), "CORRECT") << result.stdout_text << result.stderr_text;
    EXPECT_EQ(result.json.value("submission_id", ""), id);
  }
}

TEST_F(RecoveryTest, ACrashIsKnownToTheNextServiceAndAKillIsNot) {
  constexpr char kKnown[] = "crashed before this start";
  auto service = StartService();
  ASSERT_NE(service, nullptr);
  EXPECT_EQ(service->Stop(SIGABRT), -SIGABRT);
  service = StartService();
  ASSERT_NE(service, nullptr);
  EXPECT_NE(service->Log().find(kKnown), std::string::npos) << service->Log();
  service->Crash();
  service = StartService();
  ASSERT_NE(service, nullptr);
  EXPECT_EQ(service->Log().find(kKnown), std::string::npos) << service->Log();
}

TEST_F(RecoveryTest, AServiceWhoseAddressIsTakenSaysSoAndNothingOfGrpcs) {
  const auto service = StartService();
  ASSERT_NE(service, nullptr);
  const auto other = Service::Start("", {}, service->address());
  ASSERT_FALSE(other.ok());
  const std::string said(other.status().message());
  EXPECT_NE(said.find("cannot listen on " + service->address() + ": the address may be taken"), std::string::npos)
      << said;
  EXPECT_EQ(said.find("chttp2"), std::string::npos) << said;
}

TEST_F(RecoveryTest, CancelEndsARunningCandidate) {
  auto service = StartService();
  ASSERT_NE(service, nullptr);
  const AgentResult detached = RunAgent({"submit", SourcePath("tests/hostile/hang/endless_loop.cu"), "--workload",
                                         "gemm_n256_k256/M=64", "--service", service->address(), "--detach", "--json"});
  ASSERT_TRUE(detached.json.is_object()) << detached.stdout_text << detached.stderr_text;
  const std::string id = detached.json["submission_id"];
  const AgentResult cancel = RunAgent({"cancel", id, "--service", service->address(), "--json"});
  EXPECT_EQ(cancel.exit_code, 0) << cancel.stderr_text;
  const AgentResult result = RunAgent({"attach", id, "--service", service->address(), "--json"}, absl::Seconds(20));
  EXPECT_EQ(result.json.value("status", ""), "CANCELLED") << result.stdout_text << result.stderr_text;
}

TEST_F(RecoveryTest, ReplayShowsTheSameWorstElement) {
  auto service = StartService();
  ASSERT_NE(service, nullptr);
  const AgentResult first = RunAgent({"submit", SourcePath("tests/hostile/numerics/wrong_transposition.cu"),
                                      "--workload", "gemm_n256_k256/M=64", "--service", service->address(), "--json"});
  ASSERT_TRUE(first.json.is_object()) << first.stdout_text << first.stderr_text;
  const AgentResult again =
      RunAgent({"replay", first.json["submission_id"].get<std::string>(), "--service", service->address(), "--json"});
  ASSERT_TRUE(again.json.is_object()) << again.stdout_text << again.stderr_text;
  EXPECT_EQ(again.json["numerics"]["outputs"][0]["worst_index"], first.json["numerics"]["outputs"][0]["worst_index"]);
  EXPECT_EQ(again.json["numerics"]["outputs"][0]["worst_actual"], first.json["numerics"]["outputs"][0]["worst_actual"]);
}

}  // namespace
}  // namespace sassay::testing
