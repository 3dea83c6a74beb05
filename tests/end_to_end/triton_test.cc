// Triton candidates through the whole service on the emulated device, with the Triton that is installed; skipped,
// saying so, where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/interop/triton/installation.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

using ::testing::HasSubstr;

class TritonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto triton = agent::FindTriton(); !triton.ok()) GTEST_SKIP() << triton.status().message();
    auto service = Service::Start();
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }

  nlohmann::json Submit(const std::string& name) {
    const AgentResult result =
        RunAgent({"submit", SourcePath(absl::StrCat("agent/interop/triton/testdata/", name)), "--workload",
                  "gemm_n256_k256/M=64", "--service", service_->address(), "--json"});
    EXPECT_TRUE(result.json.is_object()) << result.stdout_text << result.stderr_text;
    return result.json;
  }

  std::unique_ptr<Service> service_;
};

TEST_F(TritonTest, ARightCandidateIsCorrectVerifiedAndScorable) {
  const nlohmann::json verdict = Submit("row_dot.py");
  EXPECT_EQ(verdict["status"], "CORRECT") << verdict.dump(2);
  EXPECT_EQ(verdict["provenance"], "VERIFIED");
  EXPECT_EQ(verdict["scorable"], true);
}

TEST_F(TritonTest, TensorDescriptorsAndTensorCoresExecute) {
  const nlohmann::json verdict = Submit("gemm_tma.py");
  EXPECT_EQ(verdict["status"], "CORRECT") << verdict.dump(2);
  EXPECT_EQ(verdict["evidence"]["status"], "DYNAMIC_PRESENT");
}

TEST_F(TritonTest, AStoreBehindTheOutputNamesThePythonLine) {
  const nlohmann::json verdict = Submit("row_dot_past_the_end.py");
  EXPECT_EQ(verdict["status"], "SANITIZER_ERROR") << verdict.dump(2);
  EXPECT_EQ(verdict["code"], "OOB_GLOBAL_WRITE");
  EXPECT_THAT(verdict["reason"].get<std::string>(), HasSubstr("kernel.py:"));
}

}  // namespace
}  // namespace sassay::testing
