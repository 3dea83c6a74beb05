// Triton candidates through the whole service on the emulated device, with the Triton that is installed; skipped,
// saying so, where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <regex>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/interop/triton/installation.h"
#include "common/base/files.h"
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
    return SubmitFile(SourcePath(absl::StrCat("agent/interop/triton/testdata/", name)), "gemm_n256_k256/M=64");
  }

  nlohmann::json SubmitFile(const std::string& path, const std::string& workload) {
    const AgentResult result =
        RunAgent({"submit", path, "--workload", workload, "--service", service_->address(), "--json"});
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

TEST_F(TritonTest, EveryCandidateEndsAsItsFirstLineSays) {
  const std::regex expectation("# expect: (\\S+) (\\S+) workload=(\\S+)");
  int candidates = 0;
  for (const char* folder : {"agent/examples/triton", "agent/interop/triton/testdata"}) {
    for (const auto& file : std::filesystem::directory_iterator(SourcePath(folder))) {
      if (file.path().extension() != ".py") continue;
      SCOPED_TRACE(file.path());
      const std::string text = *ReadFile(file.path());
      const std::string first = text.substr(0, text.find('\n'));
      std::smatch parts;
      ASSERT_TRUE(std::regex_match(first, parts, expectation)) << first;
      const nlohmann::json verdict = SubmitFile(file.path(), parts[3]);
      EXPECT_EQ(verdict["status"], parts[1].str()) << verdict.dump(2);
      EXPECT_EQ(verdict["code"], parts[2].str());
      EXPECT_EQ(verdict["provenance"], "VERIFIED");
      ++candidates;
    }
  }
  EXPECT_GE(candidates, 7);
}

TEST_F(TritonTest, AStoreBehindTheOutputNamesThePythonLine) {
  const nlohmann::json verdict = Submit("row_dot_past_the_end.py");
  EXPECT_EQ(verdict["status"], "SANITIZER_ERROR") << verdict.dump(2);
  EXPECT_EQ(verdict["code"], "OOB_GLOBAL_WRITE");
  EXPECT_THAT(verdict["reason"].get<std::string>(), HasSubstr("kernel.py:"));
}

}  // namespace
}  // namespace sassay::testing
