#include "profiler_service/device/cuda/fault.h"

#include <gtest/gtest.h>

namespace sassay::device::cuda {
namespace {

TEST(Fault, EveryFaultOfAKernelHasItsOwnCode) {
  const struct {
    CUresult result;
    v1::VerdictCode code;
  } expected[] = {
      {CUDA_ERROR_ILLEGAL_ADDRESS, v1::VERDICT_CODE_ILLEGAL_ADDRESS},
      {CUDA_ERROR_MISALIGNED_ADDRESS, v1::VERDICT_CODE_MISALIGNED},
      {CUDA_ERROR_ILLEGAL_INSTRUCTION, v1::VERDICT_CODE_ILLEGAL_INSTRUCTION},
      {CUDA_ERROR_ASSERT, v1::VERDICT_CODE_ASSERT},
      {CUDA_ERROR_LAUNCH_FAILED, v1::VERDICT_CODE_LAUNCH_FAILED},
  };
  for (const auto& row : expected) {
    const Execution execution = ExecutionFor(row.result, "kern", "text");
    EXPECT_EQ(execution.outcome, worker::RUN_OUTCOME_FAULT) << row.result;
    EXPECT_EQ(execution.code, row.code) << row.result;
    EXPECT_NE(execution.message.find("kern"), std::string::npos);
    EXPECT_TRUE(IsKernelFault(row.result));
    EXPECT_FALSE(IsRefusal(row.result));
  }
}

TEST(Fault, FailingHardwareIsNeverTheCandidatesFault) {
  for (const CUresult result : {CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE, CUDA_ERROR_CONTAINED,
                                CUDA_ERROR_DEVICE_UNAVAILABLE, CUDA_ERROR_UNKNOWN}) {
    const Execution execution = ExecutionFor(result, "kern", "text");
    EXPECT_EQ(execution.outcome, worker::RUN_OUTCOME_INFRA) << result;
    EXPECT_EQ(execution.code, v1::VERDICT_CODE_DEVICE_LOST) << result;
  }
}

TEST(Fault, RefusedConfigurationsAreTheCandidatesAndLeaveTheContextAlive) {
  for (const CUresult result : {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                                CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, CUDA_ERROR_INVALID_CLUSTER_SIZE}) {
    EXPECT_TRUE(IsRefusal(result)) << result;
    EXPECT_FALSE(IsKernelFault(result)) << result;
  }
}

TEST(Fault, SuccessIsOk) { EXPECT_EQ(ExecutionFor(CUDA_SUCCESS, "kern", "").outcome, worker::RUN_OUTCOME_OK); }

TEST(Fault, TimeoutNamesTheKernel) {
  const Execution execution = TimeoutExecution("spin");
  EXPECT_EQ(execution.outcome, worker::RUN_OUTCOME_TIMEOUT);
  EXPECT_NE(execution.message.find("spin"), std::string::npos);
}

}  // namespace
}  // namespace sassay::device::cuda
