#include "agent/feedback/next_steps.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "agent/capture/devices/device_table.h"
#include "agent/feedback/launch_shapes.h"
#include "agent/feedback/quote.h"
#include "agent/render/text.h"
#include "common/demangle/demangle.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

// Above this share of the roofline, what is left is fine tuning.
constexpr double kNearRoofline = 0.8;
constexpr double kMostOfTheWork = 0.9;
// A wave that fills less of the GPU than this costs visibly.
constexpr double kFullEnough = 0.8;

uint32_t Multiprocessors(const capture::DeviceModel& model) {
  const auto found = model.attributes.find(capture::DeviceAttributeNumber("cudaDevAttrMultiProcessorCount"));
  return found == model.attributes.end() ? 0 : static_cast<uint32_t>(found->second);
}

const char* MatrixInstructions(const FeedbackInput& input, const std::string& arch) {
  if (input.extracted != nullptr && absl::EndsWith(input.extracted->path(), ".py"))
    return "tl.dot on tiles of at least 64 rows, fed by tensor descriptors";
  if (arch == "sm_90a") return "wgmma.mma_async fed by TMA (cp.async.bulk.tensor)";
  if (arch == "sm_100a") return "tcgen05.mma with tensor memory, fed by TMA (cp.async.bulk.tensor)";
  return "the architecture's matrix instructions";
}

std::string EvidenceStep(const FeedbackInput& input, const TargetGpu& gpu) {
  const v1::Evidence& evidence = input.verdict->evidence();
  if (evidence.status() == v1::Evidence::CUBIN_SASS_ABSENT)
    return absl::StrCat(
        "The kernel does not use the target architecture's own instructions, and without them a turn does "
        "not count as using the target. Move the matrix products to ",
        MatrixInstructions(input, gpu.arch), ".");
  if (evidence.status() == v1::Evidence::DYNAMIC_NOT_EXECUTED)
    return absl::StrCat(
        "The target architecture's instructions are compiled in but never reached: see which branch or "
        "predicate keeps the path with ",
        MatrixInstructions(input, gpu.arch), " from running.");
  return "";
}

std::string ShareStep(const v1::Evidence& evidence) {
  if (!evidence.has_tensor_core_flop_share() || evidence.tensor_core_flop_share() >= kMostOfTheWork) return "";
  return fmt::format(
      "Only {:.1f} % of the arithmetic runs on tensor cores: move the rest of the matrix products there.",
      100 * evidence.tensor_core_flop_share());
}

std::string SpillStep(const v1::Submitted& submitted) {
  std::vector<std::string> names;
  for (const v1::KernelFacts& facts : submitted.kernels()) {
    if (facts.spill_store_bytes() + facts.spill_load_bytes() > 0)
      names.push_back(InertLine(ShortKernelName(facts.symbol()), 80));
  }
  if (names.empty()) return "";
  return absl::StrCat(
      "Registers spill to local memory in ", absl::StrJoin(names, ", "),
      ": use a smaller accumulator tile for each thread, more threads for the tile, or fewer values kept "
      "alive over the main loop; check __launch_bounds__ and setmaxnreg.");
}

const v1::KernelFacts* FactsOf(const v1::Submitted& submitted, const v1::LaunchShape& launch) {
  for (const v1::KernelFacts& facts : submitted.kernels())
    if (facts.symbol() == launch.kernel()) return &facts;
  return nullptr;
}

uint64_t Blocks(const v1::Dim3& grid) { return uint64_t{grid.x()} * grid.y() * grid.z(); }

// Whole waves and the share of the last one; only where it matters.
std::string WaveStep(const v1::Submitted& submitted, const v1::LaunchShape& launch, const TargetGpu& gpu) {
  const v1::KernelFacts* facts = FactsOf(submitted, launch);
  if (facts == nullptr || gpu.multiprocessors == 0) return "";
  const std::string name = InertLine(ShortKernelName(launch.kernel()), 80);
  const uint64_t blocks = Blocks(launch.grid());
  if (blocks < gpu.multiprocessors)
    return fmt::format(
        "{} launches {} blocks for {} multiprocessors, the rest is idle: use smaller tiles, or split the "
        "reduction over more blocks.",
        name, blocks, gpu.multiprocessors);
  const uint64_t wave = uint64_t{EstimateOccupancy(*facts, launch).blocks} * gpu.multiprocessors;
  if (wave == 0 || blocks % wave == 0) return "";
  const double waves = static_cast<double>(blocks) / static_cast<double>(wave);
  if (waves < 1 || waves / std::ceil(waves) >= kFullEnough) return "";
  return fmt::format(
      "{} runs in {:.2f} waves of blocks, so much of the GPU idles in the last one: a persistent kernel "
      "({} blocks that loop over tiles) or another tile size balances it.",
      name, waves, wave);
}

std::string OccupancyStep(const v1::Submitted& submitted, const v1::LaunchShape& launch) {
  const v1::KernelFacts* facts = FactsOf(submitted, launch);
  if (facts == nullptr) return "";
  const OccupancyEstimate estimate = EstimateOccupancy(*facts, launch);
  if (estimate.blocks == 0 || estimate.warps > 4) return "";
  return fmt::format(
      "{} keeps only about {} warps on a multiprocessor (bounded by {}): with one warp or less for each "
      "scheduler nothing hides latency, unless all of it is asynchronous (TMA, wgmma in flight).",
      InertLine(ShortKernelName(launch.kernel()), 80), estimate.warps, estimate.limit);
}

std::string DeadLaunchStep(const v1::Evidence& evidence) {
  std::vector<std::string> names;
  for (const v1::DeadLaunch& launch : evidence.dropped_launches().dead())
    names.push_back(absl::StrCat(launch.launch(), " (", InertLine(ShortKernelName(launch.kernel()), 80), ")"));
  if (names.empty()) return "";
  return absl::StrCat("The outputs were right without launch ", absl::StrJoin(names, ", "),
                      ": remove it if nothing needs it.");
}

std::string RooflineStep(const v1::Timing& timing) {
  const double floor = timing.floor().floor_ns();
  const double median = timing.candidate().median_ns();
  if (!(floor > 0) || !(median > 0)) return "";
  const double share = floor / median;
  if (share >= kNearRoofline)
    return "The kernel is near the bound of this GPU: what is left is the prologue, the epilogue and the last wave.";
  if (timing.floor().memory_ns() > timing.floor().compute_ns())
    return "The problem is bound by memory: read and write every byte once, with 16-byte or TMA accesses, and keep "
           "enough "
           "loads in flight on every multiprocessor.";
  return fmt::format(
      "The problem is bound by tensor-core arithmetic, and the tensor cores stand idle or clocked down {:.0f} % of the "
      "time: keep several stages of tiles "
      "in "
      "flight (mbarrier ring, producer warp), larger tiles for each instruction, the next product issued before the "
      "last is waited for, and the epilogue overlapped with the next tile.",
      100 * (1 - share));
}

std::string LaunchCountStep(const v1::Submitted& submitted, const v1::Timing& timing) {
  if (submitted.launches_size() < 2 || !(timing.candidate().median_ns() > 0)) return "";
  return fmt::format(
      "One call makes at least {} launches: what small kernels between them move through memory can often "
      "be fused into the main one.",
      submitted.launches_size());
}

}  // namespace

TargetGpu TargetGpuOf(const v1::Versions& versions) {
  const std::string& device = versions.device();
  const bool emulated = absl::StartsWith(device, "emulated ");
  const std::string arch = emulated ? device.substr(sizeof("emulated ") - 1) : "";
  for (const capture::DeviceModel& model : capture::DeviceTable::BuiltIn().models()) {
    if (model.name == device) return {model.arch, Multiprocessors(model)};
  }
  const absl::StatusOr<capture::DeviceModel> usual = capture::DeviceTable::BuiltIn().Find("", arch);
  if (emulated && usual.ok()) return {arch, Multiprocessors(*usual)};
  return {arch, 0};
}

std::vector<std::string> NextSteps(const FeedbackInput& input) {
  const v1::Verdict& verdict = *input.verdict;
  const TargetGpu gpu = TargetGpuOf(verdict.versions());
  const v1::Submitted& submitted = input.submitted == nullptr ? v1::Submitted::default_instance() : *input.submitted;
  std::vector<std::string> steps = {EvidenceStep(input, gpu), ShareStep(verdict.evidence()), SpillStep(submitted)};
  for (const v1::LaunchShape& launch : submitted.launches()) {
    steps.push_back(WaveStep(submitted, launch, gpu));
    steps.push_back(OccupancyStep(submitted, launch));
  }
  steps.push_back(RooflineStep(verdict.timing()));
  steps.push_back(DeadLaunchStep(verdict.evidence()));
  steps.push_back(LaunchCountStep(submitted, verdict.timing()));
  steps.erase(std::remove(steps.begin(), steps.end(), ""), steps.end());
  return steps;
}

}  // namespace sassay::agent
