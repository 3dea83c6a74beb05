#include "profiler_service/device/cuda/fault.h"

#include "absl/strings/str_cat.h"
#include "common/demangle/demangle.h"

namespace sassay::device::cuda {
namespace {

using sassay::v1::VerdictCode;
using sassay::worker::RunOutcome;

struct Meaning {
  CUresult result;
  RunOutcome outcome;
  VerdictCode code;
  const char* words;
};

constexpr Meaning kMeanings[] = {
    {CUDA_ERROR_ILLEGAL_ADDRESS, worker::RUN_OUTCOME_FAULT, v1::VERDICT_CODE_ILLEGAL_ADDRESS,
     "a load or store went outside every allocation"},
    {CUDA_ERROR_INVALID_ADDRESS_SPACE, worker::RUN_OUTCOME_FAULT, v1::VERDICT_CODE_ILLEGAL_ADDRESS,
     "an instruction for one memory space got an address of another"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, worker::RUN_OUTCOME_FAULT, v1::VERDICT_CODE_MISALIGNED,
     "a load or store was not aligned to its size"},
    {CUDA_ERROR_ILLEGAL_INSTRUCTION, worker::RUN_OUTCOME_FAULT, v1::VERDICT_CODE_ILLEGAL_INSTRUCTION,
     "an instruction that this GPU does not accept, or operands it does not accept, was executed"},
    {CUDA_ERROR_INVALID_PC, worker::RUN_OUTCOME_FAULT, v1::VERDICT_CODE_ILLEGAL_INSTRUCTION,
     "a jump left the kernel's code"},
    {CUDA_ERROR_ASSERT, worker::RUN_OUTCOME_FAULT, v1::VERDICT_CODE_ASSERT, "an assert() failed on the device"},
    {CUDA_ERROR_HARDWARE_STACK_ERROR, worker::RUN_OUTCOME_FAULT, v1::VERDICT_CODE_LAUNCH_FAILED,
     "the call stack overflowed or was corrupted"},
    {CUDA_ERROR_LAUNCH_FAILED, worker::RUN_OUTCOME_FAULT, v1::VERDICT_CODE_LAUNCH_FAILED,
     "the kernel trapped, or failed in a way that the driver does not name (often shared or cluster memory, mbarrier "
     "or "
     "TMA misuse)"},
    {CUDA_ERROR_TENSOR_MEMORY_LEAK, worker::RUN_OUTCOME_FAULT, v1::VERDICT_CODE_LAUNCH_FAILED,
     "a block ended without freeing its tensor memory"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, worker::RUN_OUTCOME_TIMEOUT, v1::VERDICT_CODE_KERNEL_TIMEOUT,
     "the driver's own watchdog ended it"},
    {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, worker::RUN_OUTCOME_REFUSED, v1::VERDICT_CODE_LAUNCH_REFUSED,
     "the cooperative grid does not fit on the GPU at once"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, worker::RUN_OUTCOME_REFUSED, v1::VERDICT_CODE_LAUNCH_REFUSED,
     "the block needs more registers or shared memory than the GPU has"},
    {CUDA_ERROR_INVALID_CLUSTER_SIZE, worker::RUN_OUTCOME_REFUSED, v1::VERDICT_CODE_LAUNCH_REFUSED,
     "the GPU cannot schedule a cluster of this size"},
};

const Meaning* Find(CUresult result) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.result == result) return &meaning;
  }
  return nullptr;
}

std::string KernelWords(absl::string_view kernel) { return kernel.empty() ? "the device" : ShortKernelName(kernel); }

}  // namespace

bool IsKernelFault(CUresult result) {
  const Meaning* meaning = Find(result);
  return meaning != nullptr && meaning->outcome != worker::RUN_OUTCOME_REFUSED &&
         result != CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

bool IsRefusal(CUresult result) {
  switch (result) {
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    case CUDA_ERROR_INVALID_CLUSTER_SIZE:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND:
      return true;
    default:
      return false;
  }
}

Execution ExecutionFor(CUresult result, absl::string_view kernel, absl::string_view description) {
  Execution execution;
  if (result == CUDA_SUCCESS) return execution;
  const Meaning* meaning = Find(result);
  if (meaning == nullptr) {
    execution.outcome = worker::RUN_OUTCOME_INFRA;
    execution.code = v1::VERDICT_CODE_DEVICE_LOST;
    execution.message =
        absl::StrCat("the GPU or its driver failed while running ", KernelWords(kernel), ": ", description);
    return execution;
  }
  execution.outcome = meaning->outcome;
  execution.code = meaning->code;
  execution.message = absl::StrCat(KernelWords(kernel), ": ", meaning->words, " [", description, "]");
  return execution;
}

Execution TimeoutExecution(absl::string_view kernel) {
  Execution execution;
  execution.outcome = worker::RUN_OUTCOME_TIMEOUT;
  execution.code = v1::VERDICT_CODE_KERNEL_TIMEOUT;
  execution.message = absl::StrCat(KernelWords(kernel),
                                   " did not end before its deadline (an endless loop, or a barrier that not every "
                                   "thread reaches)");
  return execution;
}

}  // namespace sassay::device::cuda
