// The task that the capture host reads: what the candidate's process must know about kernels, tensors and the GPU.
#ifndef SASSAY_AGENT_CAPTURE_PLAN_TASK_TEXT_H_
#define SASSAY_AGENT_CAPTURE_PLAN_TASK_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "agent/capture/devices/device_table.h"
#include "common/bundle/cubin.h"
#include "sassay/v1/plan.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::capture {

// Where the candidate and libtvm_ffi lie for the process that reads the task.
struct TaskPaths {
  std::string candidate;
  std::string tvm_ffi_library;  // empty if there is none
};

// Text in the form that Task::Parse (runtime/session.h) reads. INVALID_ARGUMENT for a tensor without a
// size or beyond the fake address space, and for a scalar that is not passed by value (float16, bfloat16, float8).
absl::StatusOr<std::string> WriteTask(const sassay::v1::Workload& workload, const Cubin& cubin,
                                      const DeviceModel& device, sassay::v1::EntryAbi abi, const std::string& entry,
                                      int calls, const TaskPaths& paths);

// Bytes of a tensor; INVALID_ARGUMENT for unknown types and absurd shapes.
absl::StatusOr<uint64_t> TensorBytes(const sassay::v1::TensorSpec& tensor);

// Bytes of one element; 0 for an unknown type.
uint32_t ElementBytes(sassay::v1::DType dtype);
bool IsFloatingPoint(sassay::v1::DType dtype);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_PLAN_TASK_TEXT_H_
