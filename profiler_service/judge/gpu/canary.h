// The canary: two fixed pieces of work that tell how fast a GPU is now, and whether it still computes what it should.
//
// Why: clocks and temperatures are what a GPU says of itself; what counts is what work takes. The times of one GPU are
// compared with its own earlier ones by the monitor, which must see 3 % (docs/measurements/2026-11-canary.md).
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_CANARY_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_CANARY_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "profiler_service/judge/gpu/kernels.h"
#include "sassay/v1/control.pb.h"

namespace sassay::judge::gpu {

// How much work there is. The defaults never change: times are compared over months.
struct CanaryWork {
  // Launches that are timed of each kernel.
  uint32_t launches = 8;
  // Of the tensor cores: products that each warp makes in one launch, in pairs of kCanaryChains.
  uint32_t rounds = 23000;
  // Of the memory: words of eight bytes that each launch copies, more than any L2 holds, and how often.
  uint64_t words = uint64_t{1} << 25;
  uint32_t passes = 18;
  // An idle GPU takes a while to come to its clock.
  absl::Duration warm_up = absl::Milliseconds(60);
};

// Life cycle: Create takes the memory, Run does all the work; destruction frees the memory. Threads and ownership: as
// Kernels, which outlive it. Failure: RESOURCE_EXHAUSTED without memory; DATA_LOSS the GPU computed something wrong;
// UNAVAILABLE its two clocks disagree, so that neither is believed; UNIMPLEMENTED the device has no time; else a
// kernel of ours did not end well.
class Canary {
 public:
  static absl::StatusOr<std::unique_ptr<Canary>> Create(Kernels& kernels, const CanaryWork& work = {});

  absl::StatusOr<sassay::v1::RunCanaryResponse> Run();

  // What is copied: a test spoils it.
  device::DeviceAddress memory() const { return from_.address(); }

 private:
  Canary(Kernels& kernels, const CanaryWork& work);
  uint64_t PartialsOf(uint32_t launch) const;
  absl::Status LaunchTensor(uint32_t launch);
  absl::Status LaunchCopy(uint32_t launch);
  absl::Status WarmUp();
  // All launches behind one hold, with a mark before and after each.
  absl::Status Enqueue(absl::Status (Canary::*launch)(uint32_t), std::vector<std::pair<int, int>>& marks);
  absl::StatusOr<sassay::v1::CanaryKernel> Time(uint32_t blocks, absl::Status (Canary::*launch)(uint32_t),
                                                std::vector<uint64_t>& sums);

  Kernels& kernels_;
  const CanaryWork work_;
  const uint32_t tensor_blocks_, copy_blocks_;
  uint64_t copied_ = 0;  // launches of the copy so far
  DeviceMemory from_, to_, partials_;
};

// What the blocks of one launch must add up to. `copied` launches of the copy went before.
uint64_t ExpectedTensorSum(uint32_t blocks);
uint64_t ExpectedCopySum(const CanaryWork& work, uint64_t copied);

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_CANARY_H_
