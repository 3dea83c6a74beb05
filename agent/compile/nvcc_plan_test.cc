#include "agent/compile/nvcc_plan.h"

#include "common/process/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

using ::testing::HasSubstr;

// CUDA 13.0's, shortened.
constexpr char kDryrun[] =
    "#$ _SPACE_= \n"
    "#$ CICC_PATH=/cuda/bin/../nvvm/bin\n"
    "#$ INCLUDES=\"-I/cuda/bin/../include\"  \n"
    "#$ gcc -std=c++17 -E -x c++ -D \"A=\\\"b c\\\"\" \"/candidate/kernel.cu\" -o \"/build/kernel.cpp4.ii\" \n"
    "#$ cudafe++ --c++17 --gen_c_file_name \"/build/kernel.cudafe1.cpp\" \"/build/kernel.cpp4.ii\" \n"
    "#$ gcc -std=c++17 -E -x c++ \"/candidate/kernel.cu\" -o \"/build/kernel.cpp1.ii\" \n"
    "#$ \"$CICC_PATH/cicc\" --c++17 -arch compute_90a \"/build/kernel.cpp1.ii\" -o \"/build/kernel.ptx\"\n"
    "#$ ptxas -arch=sm_90a -m64 -v  --generate-line-info \"/build/kernel.ptx\"  -o \"/build/kernel.cubin\" \n"
    "#$ fatbinary --create=\"/build/kernel.fatbin\" \"--image3=kind=elf,sm=90a,file=/build/kernel.cubin\" \n"
    "#$ gcc -std=c++17 -c -x c++ -fPIC \"/build/kernel.cudafe1.cpp\" -o \"/build/kernel.o\" \n"
    "#$ g++ -fPIC -m64 -Wl,--start-group \"/build/kernel.o\" -shared -o \"/build/candidate.so\" \n";

TEST(ParseNvccPlan, CutsAtPtxasAndKnowsWhoSpeaks) {
  auto plan = ParseNvccPlan(kDryrun);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->before_ptxas.size(), 4u);
  for (const auto& step : plan->before_ptxas) EXPECT_EQ(step.tool, NvccTool::kFrontEnd);
  ASSERT_EQ(plan->after_ptxas.size(), 3u);
  EXPECT_EQ(plan->after_ptxas[0].tool, NvccTool::kFatbinary);
  EXPECT_EQ(plan->after_ptxas[1].tool, NvccTool::kHostCompiler);
  EXPECT_EQ(plan->after_ptxas[2].tool, NvccTool::kLinker);
  EXPECT_EQ(plan->ptx_file, "/build/kernel.ptx");
  EXPECT_EQ(plan->cubin_file, "/build/kernel.cubin");
  EXPECT_THAT(plan->assignments, ::testing::Contains("export CICC_PATH='/cuda/bin/../nvvm/bin'"));
}

TEST(ParseNvccPlan, RefusesAPlanOfAnotherShape) {
  std::string text = kDryrun;
  EXPECT_FALSE(ParseNvccPlan("").ok());
  EXPECT_FALSE(ParseNvccPlan("nvcc fatal   : Unknown option").ok());
  EXPECT_FALSE(ParseNvccPlan(text.substr(0, text.find("#$ ptxas"))).ok());
  EXPECT_FALSE(ParseNvccPlan(text + text).ok()) << "two architectures";
}

TEST(MakeScript, StopsAtTheFirstFailureAndTellsWhichItWas) {
  NvccPlan plan;
  plan.assignments = {"export GREETING='it'\\''s me'"};
  std::vector<NvccStep> steps = {{NvccTool::kFrontEnd, "echo \"$GREETING\" >&2"},
                                 {NvccTool::kFrontEnd, "echo trouble >&2; sh -c 'kill -9 $$'"},
                                 {NvccTool::kLinker, "echo never >&2"}};
  Command command;
  command.argv = {"/bin/sh", "-c", MakeScript(plan, steps, "@@mark")};
  auto report = RunToCompletion(command, absl::Seconds(30));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->exit_code, 1);
  std::vector<StepOutput> outputs = SplitOutput(report->stderr_text, "@@mark");
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(outputs[0].text, HasSubstr("it's me"));
  EXPECT_EQ(outputs[0].status, 0);
  EXPECT_EQ(outputs[1].step, 1u);
  EXPECT_THAT(outputs[1].text, HasSubstr("trouble"));
  EXPECT_EQ(outputs[1].status, 128 + 9);
}

TEST(SplitOutput, DropsWhatComesBeforeTheFirstStep) {
  EXPECT_TRUE(SplitOutput("bwrap: no\n", "@@mark").empty());
  EXPECT_TRUE(SplitOutput("@@mark\n@@mark x\n", "@@mark").empty());
}

}  // namespace
}  // namespace sassay
