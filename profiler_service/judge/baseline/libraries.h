// The vendor libraries that have baselines. Each is a file of its own, compiled where its headers are (CMakeLists.txt);
// elsewhere absent_*.cc says that it was not.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_LIBRARIES_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_LIBRARIES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "profiler_service/device/cuda/driver.h"
#include "profiler_service/judge/baseline/baseline.h"
#include "profiler_service/judge/baseline/shapes.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge {

// Everything a library's baseline is made from. The driver outlives it; the context is current.
struct BaselineRequest {
  const sassay::v1::Workload& workload;
  const device::cuda::Driver& driver;
  BaselineOptions options;
};

// INVALID_ARGUMENT unless the numbers of addresses are these and each is aligned as Baseline wants it.
absl::Status CheckAddresses(absl::Span<const device::DeviceAddress> inputs, size_t input_count,
                            absl::Span<const device::DeviceAddress> outputs, size_t output_count);

// cuBLASLt's matmul, the fastest of those that its heuristic proposes. Failures as of MakeBaseline.
absl::StatusOr<std::unique_ptr<Baseline>> MakeCublasLtBaseline(const BaselineRequest& request, const GemmShape& shape);

// cuDNN's fused attention, the fastest of its heuristic's plans. Failures as of MakeBaseline.
absl::StatusOr<std::unique_ptr<Baseline>> MakeCudnnAttentionBaseline(const BaselineRequest& request,
                                                                     const AttentionShape& shape);

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_LIBRARIES_H_
