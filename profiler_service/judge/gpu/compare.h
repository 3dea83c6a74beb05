// The deciding rule on the GPU: numerics/compare.h, element by element where the elements are.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_COMPARE_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_COMPARE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "profiler_service/device/device.h"
#include "profiler_service/judge/gpu/kernels.h"
#include "profiler_service/judge/gpu/reference.h"
#include "profiler_service/judge/numerics/compare.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge::gpu {

// What numerics' CompareOutput says about the output at `actual`, which held the poison of `poison_seed` before the
// call. Sums are added in another order than on the CPU; every count, index and value is the same.
absl::StatusOr<Compared> CompareOutput(Kernels& kernels, const sassay::v1::TensorSpec& spec,
                                       const ExpectedOutput& expected, device::DeviceAddress actual,
                                       uint64_t poison_seed, const Tolerance& tolerance);

// Root mean square error of an output in units of what the model of its noise expects: 1 for ideal arithmetic.
absl::StatusOr<double> NoiseRatio(Kernels& kernels, const sassay::v1::TensorSpec& spec, const ExpectedOutput& expected,
                                  device::DeviceAddress actual);

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_COMPARE_H_
