// Turns that do not count, from outside: the real service, the real agent, and a monitor's calls.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/proto_time.h"
#include "sassay/v1/control.grpc.pb.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

using sassay::v1::Control;
using ::testing::HasSubstr;

constexpr char kFirst[] = "emulated:sm_90a#0";
constexpr char kSecond[] = "emulated:sm_90a#1";

class ExclusionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("exclusions");
    ASSERT_TRUE(directory.ok());
    state_.emplace(*std::move(directory));
    StartService();
  }
  void StartService() {
    auto service = Service::Start(state_->path().string(), {"--device", "emulated:sm_90a,emulated:sm_90a"});
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
    control_ = Control::NewStub(grpc::CreateChannel(service_->address(), grpc::InsecureChannelCredentials()));
  }
  // Whatever has had a place on the GPU until now does not count; how many submissions that concerned.
  int Exclude(const std::string& gpu, const std::string& incident) {
    sassay::v1::ExcludeTurnsRequest request;
    request.set_uuid(gpu);
    request.mutable_from();
    SetTimestamp(absl::Now(), *request.mutable_to());
    request.set_incident_id(incident);
    request.set_reason("the GPU throttled");
    grpc::ClientContext context;
    sassay::v1::ExcludeTurnsResponse response;
    const grpc::Status status = control_->ExcludeTurns(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.submission_ids_size();
  }
  AgentResult Attach(const std::string& id) {
    return RunAgent({"attach", id, "--service", service_->address(), "--json"});
  }
  std::string Submit() {
    const AgentResult result = RunAgent({"submit", SourcePath("agent/examples/gemm_tiled.cu"), "--workload",
                                         "gemm_n256_k256/M=16", "--fresh", "--service", service_->address(), "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.stdout_text << result.stderr_text;
    return result.json.value("submission_id", "");
  }

  std::optional<TemporaryDirectory> state_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Control::Stub> control_;
};

TEST_F(ExclusionsTest, ATurnThatIsExcludedAfterItEndedIsRunAgainElsewhereWhateverDiesMeanwhile) {
  const std::string id = Submit();
  ASSERT_EQ(Exclude(kFirst, "i-1") + Exclude(kSecond, "i-1"), 1);
  service_->Crash();
  StartService();
  const AgentResult again = Attach(id);
  EXPECT_EQ(again.exit_code, 0) << again.stdout_text << again.stderr_text;
  EXPECT_EQ(again.json.value("status", ""), "CORRECT");
  EXPECT_GE(again.json.value("attempt", 0), 2) << "the crash may have cost one";
  EXPECT_FALSE(again.json.contains("excluded"));
  EXPECT_THAT(again.stderr_text, HasSubstr("attempt 1: excluded (incident i-1: the GPU throttled), running again"));
  EXPECT_EQ(Attach(id).json, again.json) << "the same story is told to everybody";
  grpc::ClientContext context;
  sassay::v1::GetUsageResponse usage;
  ASSERT_TRUE(control_->GetUsage(&context, {}, &usage).ok());
  ASSERT_EQ(usage.tenants_size(), 1);
  EXPECT_EQ(usage.tenants(0).verdicts(), 1u);
  EXPECT_EQ(usage.tenants(0).excluded_verdicts(), 1u);
}

TEST_F(ExclusionsTest, OneThatIsExcludedTooOftenIsNobodysFault) {
  const std::string id = Submit();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(Exclude(kFirst, absl::StrCat("i-", i)) + Exclude(kSecond, absl::StrCat("i-", i)), 1) << i;
    EXPECT_EQ(Attach(id).exit_code, 0) << i;
  }
  ASSERT_EQ(Exclude(kFirst, "i-last") + Exclude(kSecond, "i-last"), 1);
  const AgentResult last = Attach(id);
  EXPECT_EQ(last.exit_code, 3) << last.stdout_text << last.stderr_text;
  EXPECT_EQ(last.json["excluded"].value("incident_id", ""), "i-last") << last.stdout_text;
}

}  // namespace
}  // namespace sassay::testing
