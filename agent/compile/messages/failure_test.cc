#include "agent/compile/messages/failure.h"

#include <signal.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

using ::testing::HasSubstr;

StepFailure Failure(NvccTool tool, int status, const std::string& message) {
  StepFailure failure{tool, status, message, {}};
  failure.diagnostics.emplace_back().set_severity("error");
  failure.diagnostics.back().set_message(message);
  return failure;
}

TEST(ClassifyFailure, BlamesTheTool) {
  EXPECT_EQ(ClassifyFailure(Failure(NvccTool::kFrontEnd, 1, "x")), sassay::v1::VERDICT_CODE_NVCC_ERROR);
  EXPECT_EQ(ClassifyFailure(Failure(NvccTool::kPtxas, 255, "x")), sassay::v1::VERDICT_CODE_PTXAS_ERROR);
  EXPECT_EQ(ClassifyFailure(Failure(NvccTool::kHostCompiler, 1, "x")), sassay::v1::VERDICT_CODE_HOST_COMPILER_ERROR);
  EXPECT_EQ(ClassifyFailure(Failure(NvccTool::kLinker, 1, "x")), sassay::v1::VERDICT_CODE_LINK_ERROR);
}

TEST(ClassifyFailure, TellsAnotherTarget) {
  for (const char* message : {"Instruction 'tcgen05.wait' not supported on .target 'sm_90a'",
                              "Feature '.kind::f16' requires .target sm_100a or higher"}) {
    EXPECT_EQ(ClassifyFailure(Failure(NvccTool::kPtxas, 255, message)), sassay::v1::VERDICT_CODE_WRONG_ARCH_PTX);
  }
}

TEST(ClassifyFailure, TellsLimitsFromErrors) {
  for (int signal : {SIGKILL, SIGXFSZ, SIGXCPU}) {
    EXPECT_EQ(ClassifyFailure(Failure(NvccTool::kFrontEnd, 128 + signal, "")), sassay::v1::VERDICT_CODE_COMPILE_LIMIT);
  }
  EXPECT_EQ(ClassifyFailure(Failure(NvccTool::kHostCompiler, 1, "cc1plus: out of memory allocating 65536 bytes")),
            sassay::v1::VERDICT_CODE_COMPILE_LIMIT);
  EXPECT_EQ(ClassifyFailure(Failure(NvccTool::kFrontEnd, 128 + SIGSEGV, "")), sassay::v1::VERDICT_CODE_NVCC_ERROR);
}

TEST(ClassifyFailure, NamesVendorLibraries) {
  EXPECT_EQ(ClassifyFailure(Failure(NvccTool::kFrontEnd, 1, "cublas_v2.h: No such file or directory")),
            sassay::v1::VERDICT_CODE_FORBIDDEN_LIBRARY);
}

TEST(FailureVerdict, SaysHowAToolEndedThatPrintedNothing) {
  sassay::v1::Verdict verdict = FailureVerdict({NvccTool::kFrontEnd, 128 + SIGSEGV, "", {}}, absl::Seconds(1));
  EXPECT_THAT(verdict.reason(), HasSubstr("nvcc was ended by signal 11"));
  EXPECT_EQ(verdict.stages(0).outcome(), sassay::v1::StageReport::FAILED);
  EXPECT_EQ(verdict.stages(0).wall_ns(), 1'000'000'000u);
}

TEST(TimeoutVerdict, NamesTheToolAndTheLimit) {
  sassay::v1::Verdict verdict = TimeoutVerdict(NvccTool::kPtxas, absl::Minutes(5), absl::Minutes(5));
  EXPECT_EQ(verdict.code(), sassay::v1::VERDICT_CODE_COMPILE_TIMEOUT);
  EXPECT_THAT(verdict.reason(), ::testing::AllOf(HasSubstr("5m"), HasSubstr("ptxas")));
}

}  // namespace
}  // namespace sassay
