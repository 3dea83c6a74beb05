// Bytes on the device: input tensors, poison, and how memory differs from what it should be.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_BYTES_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_BYTES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_service/judge/gpu/kernels.h"
#include "profiler_service/judge/inputs/inputs.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge::gpu {

// Writes the tensor that GenerateTensor gives, to the byte. Enqueues.
absl::Status GenerateTensor(Kernels& kernels, const sassay::v1::TensorSpec& spec, uint64_t seed, uint32_t tensor,
                            Distribution distribution, const IntegerRange& range, device::DeviceAddress destination);

// Bytes [offset, offset + size) of the pattern of device/poison.h. Enqueues.
absl::Status FillPattern(Kernels& kernels, device::DeviceAddress memory, uint64_t size_bytes, uint64_t seed,
                         uint64_t offset_bytes = 0);
// How memory differs from that pattern; positions count from `memory`. Waits.
absl::StatusOr<ByteDifference> CheckPattern(Kernels& kernels, device::DeviceAddress memory, uint64_t size_bytes,
                                            uint64_t seed, uint64_t offset_bytes = 0);
// How `actual` differs from `expected`. Waits.
absl::StatusOr<ByteDifference> Difference(Kernels& kernels, device::DeviceAddress expected,
                                          device::DeviceAddress actual, uint64_t size_bytes);

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_BYTES_H_
