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

TEST(ClassifyFailure, DoesNotTakeTheSourcesWordsForTheTools) {
  StepFailure quoted{NvccTool::kFrontEnd,
                     2,
                     "/candidate/k.cu(1): error: identifier \"x\" is undefined\n"
                     "  if (x) printf(\"out of memory\\n\");\n      ^\n",
                     {}};
  quoted.diagnostics.emplace_back().set_severity("error");
  quoted.diagnostics[0].set_line(1);
  quoted.diagnostics[0].set_message("identifier \"x\" is undefined");
  EXPECT_EQ(ClassifyFailure(quoted), sassay::v1::VERDICT_CODE_NVCC_ERROR);
  StepFailure asserted{
      NvccTool::kFrontEnd, 2, "/candidate/k.cu(1): error: static assertion failed with \"out of memory\"", {}};
  asserted.diagnostics.emplace_back().set_severity("error");
  asserted.diagnostics[0].set_line(1);
  asserted.diagnostics[0].set_message("static assertion failed with \"out of memory\"");
  EXPECT_EQ(ClassifyFailure(asserted), sassay::v1::VERDICT_CODE_NVCC_ERROR);
  // A warning that quotes the source, and then an error of another kind.
  StepFailure warned{NvccTool::kLinker,
                     1,
                     "/candidate/k.cu(1): warning #177-D: variable \"out of memory\" unused\n"
                     "  auto m = \"out of memory\";\n"
                     "ld: undefined reference to `f'\n",
                     {}};
  warned.diagnostics.emplace_back().set_severity("warning");
  warned.diagnostics[0].set_line(1);
  warned.diagnostics[0].set_message("variable \"out of memory\" unused");
  EXPECT_EQ(ClassifyFailure(warned), sassay::v1::VERDICT_CODE_LINK_ERROR);
}

TEST(ClassifyFailure, BelievesAToolThatRanOut) {
  EXPECT_EQ(ClassifyFailure({NvccTool::kFrontEnd, 2, "virtual memory exhausted: Cannot allocate memory\n", {}}),
            sassay::v1::VERDICT_CODE_COMPILE_LIMIT);
  StepFailure disk{NvccTool::kFrontEnd, 4, "", {}};
  disk.diagnostics.emplace_back().set_severity("error");
  disk.diagnostics[0].set_line(7);
  disk.diagnostics[0].set_message("error while writing generated C++ file: No space left on device");
  EXPECT_EQ(ClassifyFailure(disk), sassay::v1::VERDICT_CODE_COMPILE_LIMIT);
}

TEST(RepairNotes, NameOurOwnRules) {
  const StepFailure outside = Failure(NvccTool::kFrontEnd, 1, "../common.h: No such file or directory");
  EXPECT_THAT(RepairNotes(outside), ::testing::ElementsAre(HasSubstr("name the folder that holds both")));
  StepFailure twice = Failure(NvccTool::kFrontEnd, 2, "function \"kernel\" has already been defined");
  EXPECT_THAT(RepairNotes(twice), ::testing::IsEmpty());
  twice.compiled_files = 2;
  EXPECT_THAT(RepairNotes(twice), ::testing::ElementsAre(HasSubstr("one translation unit")));
  EXPECT_THAT(FailureVerdict(twice, absl::Seconds(1)).details().notes(0), HasSubstr("one translation unit"));
}

TEST(ClassifyFailure, NamesVendorLibraries) {
  EXPECT_EQ(ClassifyFailure(Failure(NvccTool::kFrontEnd, 1, "cublas_v2.h: No such file or directory")),
            sassay::v1::VERDICT_CODE_FORBIDDEN_LIBRARY);
}

TEST(FailureVerdict, SaysHowAToolEndedThatPrintedNothing) {
  sassay::v1::Verdict verdict = FailureVerdict({NvccTool::kFrontEnd, 128 + SIGSEGV, "", {}}, absl::Seconds(1));
  EXPECT_THAT(verdict.reason(), HasSubstr("nvcc was ended by signal 11"));
  EXPECT_THAT(FailureVerdict({NvccTool::kFrontEnd, 1, "first\nlast words\n", {}}, absl::Seconds(1)).reason(),
              HasSubstr("it said: last words"));
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
