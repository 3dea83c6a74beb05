#include "agent/interop/triton/plan.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using testing::HasSubstr;

v1::Workload Workload() {
  v1::Workload workload;
  workload.set_name("gemm/M=2");
  for (const char* name : {"A", "C"}) {
    v1::TensorSpec* tensor = name[0] == 'A' ? workload.add_inputs() : workload.add_outputs();
    tensor->set_name(name);
    tensor->add_shape(8);
    tensor->set_dtype(v1::DTYPE_FLOAT32);
  }
  v1::TensorSpec* scalar = workload.add_inputs();
  scalar->set_name("eps");
  scalar->set_scalar(true);
  return workload;
}

TritonStep Launch(uint32_t grid, uint64_t offset) {
  TritonLaunch launch;
  launch.grid[0] = grid;
  launch.arguments = {TritonPlace{true, 0, offset}, TritonPlace{false, 0, 0}, std::string("\1\0\0\0", 4)};
  return {launch, 9};
}

TritonRecording Recording() {
  TritonRecording recording;
  recording.kernels = {{"k", "", 128, 4096, false, false}};
  const std::vector<TritonStep> call = {
      {TritonAllocation{0, 64}, 8}, {TritonMemset{{false, 0, 0}, 64}, 8}, Launch(2, 4)};
  recording.calls = {call, call, call};
  recording.assumptions = {{"cudaDevAttrMultiProcessorCount", 132}};
  recording.warnings = {"autotune"};
  return recording;
}

std::string ReasonOf(const TritonRecording& recording, v1::VerdictCode code) {
  const TritonPlanOutcome outcome = MakeTritonPlan(recording, Workload(), {"k_1"}, "NVIDIA H200");
  const auto* verdict = std::get_if<v1::Verdict>(&outcome);
  if (verdict == nullptr) return "a plan";
  EXPECT_EQ(verdict->code(), code);
  return verdict->reason();
}

TEST(TritonPlanTest, StepsBecomeAPlan) {
  const TritonPlanOutcome outcome = MakeTritonPlan(Recording(), Workload(), {"k_1"}, "NVIDIA H200");
  const auto* plan = std::get_if<v1::LaunchPlan>(&outcome);
  ASSERT_NE(plan, nullptr);
  ASSERT_EQ(plan->buffers_size(), 3);
  EXPECT_EQ(plan->buffers(1).name(), "C");
  EXPECT_EQ(plan->buffers(2).kind(), v1::BUFFER_KIND_CALL_ALLOCATION);
  ASSERT_EQ(plan->steady_size(), 4);
  EXPECT_EQ(plan->steady(1).memset().width_elements(), 64);
  const v1::KernelLaunch& launch = plan->steady(2).launch();
  EXPECT_EQ(launch.kernel(), "k_1");
  EXPECT_EQ(launch.block().x(), 128);
  EXPECT_EQ(launch.dynamic_shared_bytes(), 4096);
  EXPECT_EQ(launch.arguments(0).relocations(0).pointer().offset_bytes(), 4);
  EXPECT_EQ(launch.arguments(1).relocations(0).pointer().buffer(), 2);
  EXPECT_EQ(launch.arguments(2).data().size(), 4);
  EXPECT_EQ(plan->steady(2).source_line(), "kernel.py:9");
  EXPECT_EQ(plan->steady(3).free().buffer(), 2);
  EXPECT_EQ(plan->assumptions(0).value(), 132);
  EXPECT_EQ(plan->warnings(0), "autotune");
}

TEST(TritonPlanTest, CallsThatDifferAreRefused) {
  TritonRecording recording = Recording();
  recording.calls[2][2] = Launch(3, 4);
  EXPECT_THAT(ReasonOf(recording, v1::VERDICT_CODE_CALLS_DIFFER),
              HasSubstr("kernel.py:9: call 3 of run() asks for another grid"));
  recording = Recording();
  recording.calls[1].pop_back();
  EXPECT_THAT(ReasonOf(recording, v1::VERDICT_CODE_CALLS_DIFFER), HasSubstr("makes 3 steps, call 2 makes 2"));
  recording = Recording();
  recording.calls[1][2] = Launch(2, 0);
  EXPECT_THAT(ReasonOf(recording, v1::VERDICT_CODE_CALLS_DIFFER), HasSubstr("other arguments"));
}

TEST(TritonPlanTest, NoLaunchIsRefused) {
  TritonRecording recording = Recording();
  for (auto& call : recording.calls) call.pop_back();
  EXPECT_THAT(ReasonOf(recording, v1::VERDICT_CODE_NO_LAUNCH), HasSubstr("without launching"));
}

TEST(TritonPlanTest, PointersStayInTheirBuffers) {
  TritonRecording recording = Recording();
  for (auto& call : recording.calls) call[2] = Launch(2, 33);
  EXPECT_THAT(ReasonOf(recording, v1::VERDICT_CODE_POINTER_OUT_OF_BUFFER), HasSubstr("33 bytes into A, which has 32"));
}

TEST(TritonPlanTest, TensorMapsKeepTheirExtents) {
  TritonRecording recording = Recording();
  TritonTensorMap map;
  map.base = {true, 0, 0};
  map.data_type = 7;
  map.dims = {4, 2};
  map.stride_bytes = {16};
  map.box = {4, 1};
  map.swizzle = 3;
  for (auto& call : recording.calls) std::get<TritonLaunch>(call[2].what).arguments.push_back(map);
  const TritonPlanOutcome outcome = MakeTritonPlan(recording, Workload(), {"k"}, "NVIDIA H200");
  const auto* plan = std::get_if<v1::LaunchPlan>(&outcome);
  ASSERT_NE(plan, nullptr);
  ASSERT_EQ(plan->tensor_maps_size(), 1);
  EXPECT_EQ(plan->tensor_maps(0).global_stride_bytes(0), 16);
  EXPECT_EQ(plan->steady(2).launch().arguments(3).relocations(0).tensor_map(), 0);
  EXPECT_EQ(plan->steady(2).launch().arguments(3).data().size(), 128);
}

TEST(TritonFailureTest, CompilationFailsWithTheSourceLine) {
  const v1::Verdict verdict = TritonFailureVerdict({true, "NVCC_ERROR", "bad\nthing", 2, 3}, "one\n  two\nthree");
  EXPECT_EQ(verdict.status(), v1::VERDICT_STATUS_COMPILE_ERROR);
  EXPECT_EQ(verdict.details().diagnostics(0).source_text(), "  two");
  EXPECT_THAT(verdict.reason(), HasSubstr("kernel.py:2: error: bad"));
}

TEST(TritonFailureTest, UnknownCodesAreACrash) {
  const v1::Verdict verdict = TritonFailureVerdict({false, "MADE_UP", "m", 0, 0}, "");
  EXPECT_EQ(verdict.code(), v1::VERDICT_CODE_HOST_CRASH);
  EXPECT_EQ(verdict.status(), v1::VERDICT_STATUS_CAPTURE_ERROR);
}

}  // namespace
}  // namespace sassay::agent
