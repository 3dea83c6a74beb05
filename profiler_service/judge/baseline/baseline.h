// What a candidate is timed against: one call of a vendor library, prepared once and enqueued many times.
//
// The libraries (cuBLASLt, cuDNN) are found at run time (common/toolchain/vendor_libraries.h); a service without them
// judges all the same, and says why it has no baseline.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_BASELINE_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_BASELINE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "profiler_service/device/device.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge {

// What a verdict says about a baseline.
struct BaselineFacts {
  // "cuBLASLt" or "cuDNN".
  std::string library;
  // Of the library as it runs: "13.1.0", "9.19.0".
  std::string version;
  // The chosen algorithm in words.
  std::string algorithm;
  // Algorithms that were measured before this one was chosen.
  int candidates = 0;
  uint64_t workspace_bytes = 0;
};

// Of every tensor's address, in bytes: what cudaMalloc gives, and what the algorithms are chosen for.
inline constexpr uint64_t kTensorAlignment = 256;

// One prepared call for one workload.
//
// Life cycle: MakeBaseline chooses and prepares (seconds); Enqueue as often as wanted; keep it for as long as the
// workload's state. Threads: thread-compatible; the context it was made in must be current in the calling thread.
// Ownership: owns its workspace, so that two calls of one baseline must not run at the same time (one stream, or
// ordered streams); the context must outlive it. Failure: a Status is ours, never the candidate's.
class Baseline {
 public:
  virtual ~Baseline() = default;

  virtual const BaselineFacts& facts() const = 0;

  // Enqueues one call on `stream` (a CUstream; null is the default stream) and returns: no allocation, no
  // synchronisation, only launches. Addresses of the workload's inputs and outputs in definition order may differ from
  // call to call. INVALID_ARGUMENT for a wrong number of addresses, or one that is not aligned to kTensorAlignment.
  virtual absl::Status Enqueue(absl::Span<const device::DeviceAddress> inputs,
                               absl::Span<const device::DeviceAddress> outputs, void* stream) = 0;
};

// What the judge lets one prepared call hold as workspace on a GPU of so much memory. Today's engines ask for a few
// MiB.
inline uint64_t JudgesWorkspaceLimit(uint64_t memory_bytes) { return std::min(uint64_t{1} << 30, memory_bytes / 64); }

struct BaselineOptions {
  // Most memory that an algorithm may ask for as workspace; those that need more are not considered.
  uint64_t workspace_limit_bytes = uint64_t{8} << 30;
  // Most algorithms that are measured. 1 takes the library's first choice without measuring.
  int candidates = 8;
};

// Prepares the baseline that `workload` names, in the context of `device`, which must be current in this thread (it is
// after any call of the device). Choosing runs each algorithm a few times on scratch tensors of the workload's size,
// which are freed before it returns; the GPU should be idle.
//
// NOT_FOUND if the workload names no baseline; UNIMPLEMENTED if the library has no engine for its shapes, or if the
// baseline is no library's (a trusted bundle is replayed like a candidate); UNAVAILABLE, with the reason and what mends
// it, where the library or the GPU is missing; RESOURCE_EXHAUSTED if scratch tensors do not fit; INVALID_ARGUMENT if
// the workload's tensors do not fit its operator.
absl::StatusOr<std::unique_ptr<Baseline>> MakeBaseline(const sassay::v1::Workload& workload, device::Device& device,
                                                       const BaselineOptions& options = {});

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_BASELINE_H_
