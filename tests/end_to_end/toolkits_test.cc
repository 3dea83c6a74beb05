// Candidates that another CUDA toolkit compiles than the one that this was built with; skipped, saying so, where there
// is no CUDA 12.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/toolchain/releases.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

using ::testing::HasSubstr;

class Cuda12Test : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto home = HomeOfRelease("12", "");
    if (!home.ok() || !std::filesystem::exists(*home + "/bin/nvcc"))
      GTEST_SKIP() << "no CUDA 12 beside the other toolkit: bash deploy/install_cuda12.sh";
    home_ = *home;
    auto service = Service::Start();
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }

  AgentResult Submit(const std::string& file) {
    return RunAgent({"submit", SourcePath(file), "--workload", "gemm_n256_k256/M=64", "--cuda-home", home_, "--cuda",
                     "12", "--stages", "evaluate,sanitize", "--service", service_->address(), "--json"});
  }

  std::string home_;
  std::unique_ptr<Service> service_;
};

TEST_F(Cuda12Test, CandidatesAreCapturedAndJudged) {
  for (const char* file : {"agent/examples/gemm_tiled.cu", "agent/examples/gemm_tiled_tvm_ffi.cu",
                           "agent/examples/gemm_mma_sync.cu", "tests/data/toolkits/asks_properties.cu"}) {
    const AgentResult result = Submit(file);
    ASSERT_TRUE(result.json.is_object()) << file << result.stdout_text << result.stderr_text;
    EXPECT_EQ(result.json["status"], "CORRECT") << file << result.json.dump(2);
    EXPECT_THAT(result.json["versions"]["toolkit"].get<std::string>(), ::testing::StartsWith("12."));
  }
}

TEST_F(Cuda12Test, WhatOnlyItsRuntimeHasIsRefusedByName) {
  const AgentResult result = Submit("tests/data/toolkits/prefetches.cu");
  ASSERT_TRUE(result.json.is_object()) << result.stdout_text << result.stderr_text;
  EXPECT_EQ(result.json["status"], "CAPTURE_ERROR");
  EXPECT_EQ(result.json["code"], "UNSUPPORTED_API");
  EXPECT_THAT(result.json["reason"].get<std::string>(), HasSubstr("cudaMemPrefetchAsync_v2"));
}

TEST_F(Cuda12Test, AnArchitectureThatItDoesNotKnowIsRefusedByName) {
  const AgentResult result =
      RunAgent({"compile", SourcePath("agent/examples/gemm_tiled.cu"), "--workload", "gemm_n256_k256/M=64",
                "--cuda-home", home_, "--arch", "sm_100a", "-o", ::testing::TempDir() + "/blackwell.bundle"});
  if (result.exit_code == 0) GTEST_SKIP() << "this CUDA 12 knows sm_100a";
  EXPECT_EQ(result.exit_code, 2) << result.stderr_text;
  EXPECT_THAT(result.stderr_text, HasSubstr("does not know sm_100a; CUDA 12.8 is the first that does"));
}

TEST(ToolkitTest, AReleaseThatIsNotThereIsSaidWithThoseThatAre) {
  const AgentResult result =
      RunAgent({"compile", SourcePath("agent/examples/gemm_tiled.cu"), "--workload", "gemm_n256_k256/M=64", "--cuda",
                "7.5", "-o", ::testing::TempDir() + "/old.bundle"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.stderr_text, HasSubstr("no CUDA 7.5 on this machine; there is "));
}

}  // namespace
}  // namespace sassay::testing
