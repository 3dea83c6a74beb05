#include "profiler_service/evidence/sass_join.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/demangle/demangle.h"

namespace sassay::evidence {
namespace {

using sassay::v1::KernelLaunch;
using sassay::worker::SassFunctionCounts;
using sassay::worker::SassLaunchCounts;

constexpr uint64_t kWarpThreads = 32;
constexpr double kIssuesPerCycle = 4;
constexpr double kFastestClockHz = 4e9;

absl::Status Unbelievable(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the counts cannot be true: ", what));
}

uint64_t Volume(const sassay::v1::Dim3& extent) {
  return uint64_t{std::max(extent.x(), 1u)} * std::max(extent.y(), 1u) * std::max(extent.z(), 1u);
}

std::vector<const KernelLaunch*> LaunchesOf(const sassay::v1::LaunchPlan& plan) {
  std::vector<const KernelLaunch*> launches;
  for (const auto& step : plan.steady()) {
    if (step.has_launch()) launches.push_back(&step.launch());
  }
  return launches;
}

// Which launches of the plan a row of counts stands for; each may be taken once.
class Claims {
 public:
  explicit Claims(std::vector<const KernelLaunch*> launches)
      : launches_(std::move(launches)), taken_(launches_.size(), false) {}

  absl::StatusOr<std::vector<const KernelLaunch*>> Take(const SassLaunchCounts& counts) {
    std::vector<const KernelLaunch*> taken;
    for (size_t i = counts.first_launch(); i < launches_.size() && taken.size() < counts.launches(); ++i) {
      if (taken_[i] || launches_[i]->kernel() != counts.kernel()) {
        if (taken.empty()) break;
        continue;
      }
      taken_[i] = true;
      taken.push_back(launches_[i]);
    }
    if (!taken.empty() && taken.size() == counts.launches()) return taken;
    return Unbelievable(absl::StrCat("launch ", counts.first_launch(), " of the plan is not ", counts.launches(),
                                     " launch(es) of ", ShortKernelName(counts.kernel()), " that nobody has claimed"));
  }

  absl::Status CheckAllTaken() const {
    const auto missing = std::find(taken_.begin(), taken_.end(), false);
    if (missing == taken_.end()) return absl::OkStatus();
    const size_t index = static_cast<size_t>(missing - taken_.begin());
    return Unbelievable(absl::StrCat("nothing was counted for launch ", index, " (",
                                     ShortKernelName(launches_[index]->kernel()), ") of ", taken_.size()));
  }

 private:
  const std::vector<const KernelLaunch*> launches_;
  std::vector<bool> taken_;
};

// Joins one row after the other, and keeps the total.
class Joiner {
 public:
  explicit Joiner(const CountedCall& call) : call_(call), claims_(LaunchesOf(call.plan)) {}

  absl::StatusOr<std::vector<ExecutedLaunch>> Join() {
    RETURN_IF_ERROR(CheckWhole());
    std::vector<ExecutedLaunch> launches;
    for (const SassLaunchCounts& counts : call_.untrusted_counts.launches()) {
      ASSIGN_OR_RETURN(ExecutedLaunch launch, JoinLaunch(counts));
      launches.push_back(std::move(launch));
    }
    RETURN_IF_ERROR(claims_.CheckAllTaken());
    return launches;
  }

 private:
  absl::Status CheckWhole() const {
    const auto& counts = call_.untrusted_counts;
    if (counts.dropped_records() != 0) {
      return absl::DataLossError(absl::StrCat("CUPTI dropped ", counts.dropped_records(), " records"));
    }
    if (counts.truncated()) return absl::DataLossError("more instructions executed than a runner's reply holds");
    if (counts.cubin_crc() == call_.cubin_crc) return absl::OkStatus();
    return Unbelievable(absl::StrCat("they are of a cubin with CRC 0x", absl::Hex(counts.cubin_crc()),
                                     ", the admitted one has 0x", absl::Hex(call_.cubin_crc)));
  }

  absl::StatusOr<ExecutedLaunch> JoinLaunch(const SassLaunchCounts& counts) {
    ASSIGN_OR_RETURN(const std::vector<const KernelLaunch*> planned, claims_.Take(counts));
    ExecutedLaunch launch{counts.first_launch(), counts.launches(), counts.kernel(), {}};
    std::set<absl::string_view> seen;
    for (const SassFunctionCounts& function : counts.functions()) {
      if (!seen.insert(function.function()).second) {
        return Unbelievable(absl::StrCat(ShortKernelName(function.function()), " is there twice"));
      }
      RETURN_IF_ERROR(JoinFunction(function, launch.instructions));
    }
    RETURN_IF_ERROR(CheckEntry(counts, planned));
    return launch;
  }

  // Both lists are in the order of their offsets.
  absl::Status JoinFunction(const SassFunctionCounts& counts, std::vector<ExecutedInstruction>& executed) {
    const auto code = call_.code.find(counts.function());
    if (code == call_.code.end()) {
      return Unbelievable(absl::StrCat("the cubin has no function ", ShortKernelName(counts.function())));
    }
    if (counts.pc_offset_bytes_size() != counts.warp_count_size() ||
        counts.pc_offset_bytes_size() != counts.thread_count_size()) {
      return Unbelievable(absl::StrCat("lists of different lengths for ", ShortKernelName(counts.function())));
    }
    auto instruction = code->second.begin();
    for (int i = 0; i < counts.pc_offset_bytes_size(); ++i) {
      const uint64_t pc = counts.pc_offset_bytes(i);
      instruction = std::lower_bound(instruction, code->second.end(), pc,
                                     [](const SassInstruction& at, uint64_t offset) { return at.pc_offset < offset; });
      if (instruction == code->second.end() || instruction->pc_offset != pc) {
        return Unbelievable(absl::StrCat(ShortKernelName(counts.function()), " has no instruction at 0x", absl::Hex(pc),
                                         " that was not counted before"));
      }
      RETURN_IF_ERROR(CheckCount(counts.warp_count(i), counts.thread_count(i)));
      executed.push_back({&*instruction++, counts.warp_count(i), counts.thread_count(i)});
    }
    return absl::OkStatus();
  }

  absl::Status CheckCount(uint64_t warps, uint64_t threads) {
    total_ += static_cast<double>(warps);
    if (total_ > call_.most_warp_instructions) {
      return Unbelievable(absl::StrCat("more than the ", call_.most_warp_instructions,
                                       " warp-instructions that the GPU can issue in that time"));
    }
    if (threads / kWarpThreads + (threads % kWarpThreads != 0) <= warps) return absl::OkStatus();
    return Unbelievable(absl::StrCat(threads, " threads executed what ", warps, " warps did"));
  }

  // Every launched thread executes the kernel's first instruction once, and nobody comes back to it.
  absl::Status CheckEntry(const SassLaunchCounts& counts, const std::vector<const KernelLaunch*>& planned) const {
    uint64_t warps = 0, threads = 0;
    for (const KernelLaunch* launch : planned) {
      const uint64_t blocks = Volume(launch->grid()) * BlocksPerGridUnit(launch->kernel());
      warps += blocks * ((Volume(launch->block()) + kWarpThreads - 1) / kWarpThreads);
      threads += blocks * Volume(launch->block());
    }
    for (const SassFunctionCounts& function : counts.functions()) {
      if (function.function() != counts.kernel() || function.pc_offset_bytes_size() == 0) continue;
      if (function.pc_offset_bytes(0) != 0) continue;
      if (function.warp_count(0) == warps && function.thread_count(0) == threads) return absl::OkStatus();
      return Unbelievable(absl::StrCat(ShortKernelName(counts.kernel()), " was entered by ", function.warp_count(0),
                                       " warps and ", function.thread_count(0), " threads; ", warps, " and ", threads,
                                       " were launched"));
    }
    return Unbelievable(absl::StrCat("nobody entered ", ShortKernelName(counts.kernel())));
  }

  uint64_t BlocksPerGridUnit(const std::string& kernel) const {
    const auto clusters = call_.blocks_per_cluster.find(kernel);
    return clusters == call_.blocks_per_cluster.end() ? 1 : clusters->second;
  }

  const CountedCall& call_;
  Claims claims_;
  double total_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<ExecutedLaunch>> JoinCounts(const CountedCall& call) { return Joiner(call).Join(); }

std::map<std::string, uint64_t> BlocksPerCluster(const Cubin& cubin) {
  std::map<std::string, uint64_t> blocks;
  for (const CubinKernel& kernel : cubin.kernels()) {
    if (kernel.blocks_are_clusters && kernel.required_cluster) blocks[kernel.symbol] = Volume(*kernel.required_cluster);
  }
  return blocks;
}

double MostWarpInstructions(uint32_t multiprocessors, double seconds) {
  return multiprocessors * kIssuesPerCycle * kFastestClockHz * seconds;
}

}  // namespace sassay::evidence
