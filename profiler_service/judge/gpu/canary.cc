#include "profiler_service/judge/gpu/canary.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"

namespace sassay::judge::gpu {
namespace {

constexpr uint32_t kTensorBlocksPerMultiprocessor = 2, kCopyBlocksPerMultiprocessor = 4;
constexpr uint32_t kWarpsPerBlock = kThreads / 32;
constexpr uint64_t kAdded = 0x1234567;
constexpr int kCopyWarmUps = 2;
// Launches are enqueued behind a hold, so that none waits for the host while its time runs.
constexpr absl::Duration kHoldTimeout = absl::Milliseconds(500);
// Events and the GPU's own clock tell the same time, but for what lies between a launch and its first block, and for
// the tick of that clock, which is 1 us on some GPUs.
constexpr double kMostApart = 0.01, kAlwaysApartNs = 10e3;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// What the blocks of a launch left.
struct LaunchTrace {
  uint64_t sum = 0, begin_ns = UINT64_MAX, end_ns = 0;
};

LaunchTrace Trace(const std::vector<CanaryPartial>& partials) {
  LaunchTrace trace;
  for (const CanaryPartial& block : partials) {
    trace.sum += block.sum;
    trace.begin_ns = std::min(trace.begin_ns, block.begin_ns);
    trace.end_ns = std::max(trace.end_ns, block.end_ns);
  }
  return trace;
}

// Of their medians: a single launch may have waited.
absl::Status CheckClocksAgree(double event_ns, double seen_ns) {
  if (std::abs(event_ns - seen_ns) <= kAlwaysApartNs + kMostApart * event_ns) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrFormat("a launch of the canary took %.0f ns by its events and %.0f ns by the GPU's own clock, so that "
                      "neither is believed",
                      event_ns, seen_ns));
}

// Lets go of the stream, however the enqueueing ended.
class HeldStream {
 public:
  explicit HeldStream(device::Device& device) : device_(device) {}
  ~HeldStream() { device_.Release(); }
  absl::Status Hold() { return device_.Hold(kHoldTimeout); }

 private:
  device::Device& device_;
};

absl::Status CheckSums(absl::string_view kernel, const std::vector<uint64_t>& sums,
                       const std::vector<uint64_t>& expected) {
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] == expected[i]) continue;
    return absl::DataLossError(absl::StrCat("the GPU computes wrongly: launch ", i, " of the canary's ", kernel,
                                            " kernel added up to ", absl::Hex(sums[i]), ", expected ",
                                            absl::Hex(expected[i])));
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t ExpectedTensorSum(uint32_t blocks) {
  uint64_t sum = 0;
  for (int j = 0; j < kCanaryChains; ++j) {
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) {
        int64_t value = CanaryC(row, column);
        for (int k = 0; k < 16; ++k) value += CanaryA(row, k) * CanaryB(j, k, column);
        sum += CanaryWeighted(j, row, column, value);
      }
    }
  }
  return sum * blocks * kWarpsPerBlock;
}

uint64_t ExpectedCopySum(const CanaryWork& work, uint64_t copied) {
  uint64_t pass = work.words * copied * kAdded;
  // The sum of CanaryWord: of two consecutive numbers one is even.
  pass += CanaryWord(0) * (work.words % 2 == 0 ? work.words / 2 * (work.words + 1) : (work.words + 1) / 2 * work.words);
  return pass * work.passes;
}

Canary::Canary(Kernels& kernels, const CanaryWork& work)
    : kernels_(kernels),
      work_(work),
      tensor_blocks_(kernels.device().info().multiprocessors * kTensorBlocksPerMultiprocessor),
      copy_blocks_(kernels.device().info().multiprocessors * kCopyBlocksPerMultiprocessor) {}

absl::StatusOr<std::unique_ptr<Canary>> Canary::Create(Kernels& kernels, const CanaryWork& work) {
  std::unique_ptr<Canary> canary(new Canary(kernels, work));
  ASSIGN_OR_RETURN(canary->from_, kernels.Allocate(work.words * 8, "canary"));
  ASSIGN_OR_RETURN(canary->to_, kernels.Allocate(work.words * 8, "canary's copy"));
  ASSIGN_OR_RETURN(canary->partials_,
                   kernels.Allocate(work.launches * canary->copy_blocks_ * sizeof(CanaryPartial), "canary's sums"));
  RETURN_IF_ERROR(
      kernels.Walk("sassay_canary_fill", work.words, CanaryFillArguments{canary->from_.address(), work.words}));
  return canary;
}

uint64_t Canary::PartialsOf(uint32_t launch) const {
  return partials_.address() + uint64_t{launch} * copy_blocks_ * sizeof(CanaryPartial);
}

absl::Status Canary::LaunchTensor(uint32_t launch) {
  return kernels_.Launch("sassay_canary_tensor", {tensor_blocks_},
                         CanaryTensorArguments{PartialsOf(launch), work_.rounds});
}

// Forth and back, so that each launch reads what the one before has written.
absl::Status Canary::LaunchCopy(uint32_t launch) {
  const bool forth = copied_++ % 2 == 0;
  return kernels_.Launch("sassay_canary_copy", {copy_blocks_},
                         CanaryCopyArguments{(forth ? from_ : to_).address(), (forth ? to_ : from_).address(),
                                             work_.words, kAdded, PartialsOf(launch), work_.passes});
}

absl::Status Canary::WarmUp() {
  const absl::Time end = SteadyNow() + work_.warm_up;
  do {
    for (uint32_t i = 0; i < work_.launches; ++i) RETURN_IF_ERROR(LaunchTensor(0));
    RETURN_IF_ERROR(kernels_.Finish());
  } while (SteadyNow() < end);
  return absl::OkStatus();
}

absl::Status Canary::Enqueue(absl::Status (Canary::*launch)(uint32_t), std::vector<std::pair<int, int>>& marks) {
  device::Device& device = kernels_.device();
  HeldStream held(device);
  RETURN_IF_ERROR(held.Hold());
  RETURN_IF_ERROR(device.ProbeClock());
  ASSIGN_OR_RETURN(int before, device.Mark());
  for (uint32_t i = 0; i < work_.launches; ++i) {
    RETURN_IF_ERROR((this->*launch)(i));
    ASSIGN_OR_RETURN(const int after, device.Mark());
    marks.emplace_back(std::exchange(before, after), after);
  }
  return device.ProbeClock();
}

absl::StatusOr<sassay::v1::CanaryKernel> Canary::Time(uint32_t blocks, absl::Status (Canary::*launch)(uint32_t),
                                                      std::vector<uint64_t>& sums) {
  device::Device& device = kernels_.device();
  device.ForgetMarks();
  std::vector<std::pair<int, int>> marks;
  RETURN_IF_ERROR(Enqueue(launch, marks));
  RETURN_IF_ERROR(kernels_.Finish());
  device.HeldTooLong();  // whoever asks next asks about a hold of his own
  std::vector<double> times, seen;
  std::vector<CanaryPartial> partials(blocks);
  for (uint32_t i = 0; i < work_.launches; ++i) {
    ASSIGN_OR_RETURN(const double ns, device.NanosecondsBetween(marks[i].first, marks[i].second));
    RETURN_IF_ERROR(kernels_.Fetch(partials.data(), partials.size() * sizeof(CanaryPartial), PartialsOf(i)));
    const LaunchTrace trace = Trace(partials);
    times.push_back(ns);
    seen.push_back(static_cast<double>(trace.end_ns) - static_cast<double>(trace.begin_ns));
    sums.push_back(trace.sum);
  }
  RETURN_IF_ERROR(CheckClocksAgree(Median(times), Median(seen)));
  sassay::v1::CanaryKernel kernel;
  kernel.set_median_ns(Median(times));
  kernel.set_min_ns(*std::min_element(times.begin(), times.end()));
  kernel.set_max_ns(*std::max_element(times.begin(), times.end()));
  kernel.set_launches(work_.launches);
  kernel.set_sm_clock_mhz(device.ProbedClockMhz());
  return kernel;
}

absl::StatusOr<sassay::v1::RunCanaryResponse> Canary::Run() {
  sassay::v1::RunCanaryResponse response;
  response.set_max_sm_clock_mhz(kernels_.device().info().max_sm_clock_mhz);
  std::vector<uint64_t> tensor_sums, copy_sums, expected;
  RETURN_IF_ERROR(WarmUp());
  ASSIGN_OR_RETURN(*response.mutable_tensor(), Time(tensor_blocks_, &Canary::LaunchTensor, tensor_sums));
  RETURN_IF_ERROR(
      CheckSums("tensor", tensor_sums, std::vector<uint64_t>(work_.launches, ExpectedTensorSum(tensor_blocks_))));
  for (int i = 0; i < kCopyWarmUps; ++i) RETURN_IF_ERROR(LaunchCopy(0));
  for (uint32_t i = 0; i < work_.launches; ++i) expected.push_back(ExpectedCopySum(work_, copied_ + i));
  ASSIGN_OR_RETURN(*response.mutable_memory(), Time(copy_blocks_, &Canary::LaunchCopy, copy_sums));
  RETURN_IF_ERROR(CheckSums("memory", copy_sums, expected));
  return response;
}

}  // namespace sassay::judge::gpu
