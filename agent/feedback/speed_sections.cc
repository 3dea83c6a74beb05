#include "agent/feedback/speed_sections.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/feedback/launch_shapes.h"
#include "agent/feedback/next_steps.h"
#include "agent/feedback/quote.h"
#include "agent/render/text.h"
#include "common/base/proto_json.h"
#include "common/demangle/demangle.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

constexpr int kMostOpcodes = 8;
constexpr int kMostKernels = 8;
constexpr int kMostHot = 8;
constexpr int kMostMetrics = 24;
constexpr int kMostAdvice = 4;

// "1.40 ms, 61.2 % of the roofline (429.3 TFLOP/s)".
std::string TimeText(double median_ns, const v1::RooflineFloor& floor) {
  if (!(median_ns > 0)) return "unknown";
  std::string text = DurationText(median_ns);
  if (floor.floor_ns() > 0)
    text += fmt::format(", {:.1f} % of what this GPU could do at most", 100 * floor.floor_ns() / median_ns);
  if (floor.flop() > 0) text += fmt::format(", {:.1f} TFLOP/s", floor.flop() / median_ns / 1e3);
  if (floor.bytes() > 0 && floor.memory_ns() > floor.compute_ns())
    text += fmt::format(", {:.0f} GB/s", static_cast<double>(floor.bytes()) / median_ns);
  return text;
}

std::string FloorText(const v1::RooflineFloor& floor) {
  if (!(floor.floor_ns() > 0)) return "";
  const bool memory = floor.memory_ns() > floor.compute_ns();
  return fmt::format("Lower bound (roofline): {}, set by {}\n", DurationText(floor.floor_ns()),
                     memory ? "memory traffic" : "tensor-core arithmetic");
}

std::string BaselineText(const v1::Timing& timing) {
  if (!timing.has_baseline()) return "";
  const v1::BaselineProgram& program = timing.baseline_program();
  const std::string name = program.library().empty() ? "the baseline" : InertLine(program.library(), 60);
  return absl::StrCat("Baseline (", name, "): ", TimeText(timing.baseline().median_ns(), timing.floor()), "\n");
}

std::string SpeedupText(const v1::Timing& timing) {
  if (timing.speedup() > 0)
    return fmt::format("Speedup over the baseline: {:.3f}x (95 % interval {:.3f} to {:.3f})\n", timing.speedup(),
                       timing.speedup_low(), timing.speedup_high());
  if (timing.no_speedup_reason().empty()) return "";
  return absl::StrCat("No speedup: ", InertLine(timing.no_speedup_reason()), "\n");
}

std::string TargetText(const FeedbackInput& input) {
  const double speedup = input.verdict->timing().speedup();
  std::string text;
  if (input.best_speedup.has_value() && speedup > 0) {
    text = fmt::format("Best of your earlier turns: {:.3f}x; this one is {}.", *input.best_speedup,
                       speedup > *input.best_speedup ? "the best so far" : "no faster");
  } else if (input.best_speedup.has_value()) {
    text = fmt::format("Best of your earlier turns: {:.3f}x.", *input.best_speedup);
  }
  if (input.target_speedup > 0) {
    absl::StrAppend(&text, text.empty() ? "" : " ", fmt::format("Target: {:.3g}x", input.target_speedup),
                    speedup >= input.target_speedup ? ", reached." : ".");
  }
  return text.empty() ? "" : text + "\n";
}

std::string ShareText(const v1::Evidence& evidence) {
  if (evidence.has_tensor_core_flop_share())
    return fmt::format("Tensor cores did {:.1f} % of the workload's arithmetic.\n",
                       100 * evidence.tensor_core_flop_share());
  if (evidence.tensor_core_flop_share_reason().empty()) return "";
  return absl::StrCat("The tensor cores' share of the arithmetic is not known: ",
                      InertLine(evidence.tensor_core_flop_share_reason()), "\n");
}

std::string StatusText(const v1::Evidence& evidence) {
  switch (evidence.status()) {
    case v1::Evidence::DYNAMIC_PRESENT:
      return "Instructions of the target architecture's family executed: yes.\n";
    case v1::Evidence::DYNAMIC_NOT_EXECUTED:
      return "Instructions of the target architecture's family are in the binary but none executed.\n";
    case v1::Evidence::CUBIN_SASS_ABSENT:
      return "Instructions of the target architecture's family are not in the binary.\n";
    default:
      return absl::StrCat("Executed instructions are not known: ", InertLine(evidence.reason()), "\n");
  }
}

std::string FamiliesText(const v1::Evidence& evidence) {
  const std::map<std::string, uint64_t> sorted(evidence.family_thread_counts().begin(),
                                               evidence.family_thread_counts().end());
  std::vector<std::string> parts;
  for (const auto& [family, count] : sorted)
    if (count > 0) parts.push_back(absl::StrCat(InertLine(family, 20), " ", CountText(count)));
  return parts.empty() ? "" : absl::StrCat("Thread executions by family: ", absl::StrJoin(parts, ", "), "\n");
}

std::string OpcodesText(const v1::Evidence& evidence) {
  if (evidence.opcodes().empty() || evidence.warp_instructions() == 0) return "";
  std::vector<std::vector<std::string>> rows = {{"opcode", "warp executions", "of all", "kernel"}};
  for (int i = 0; i < std::min(kMostOpcodes, evidence.opcodes_size()); ++i) {
    const v1::OpcodeCount& opcode = evidence.opcodes(i);
    rows.push_back({InertLine(opcode.opcode(), 60), CountText(opcode.warp_count()),
                    fmt::format("{:.1f} %", 100.0 * static_cast<double>(opcode.warp_count()) /
                                                static_cast<double>(evidence.warp_instructions())),
                    InertLine(ShortKernelName(opcode.kernel()), 60)});
  }
  return Columns(rows, "  ");
}

const v1::KernelFacts* FactsOf(const v1::Submitted& submitted, const std::string& kernel) {
  for (const v1::KernelFacts& facts : submitted.kernels())
    if (facts.symbol() == kernel) return &facts;
  return nullptr;
}

std::string FactsText(const v1::KernelFacts& facts) {
  std::string text = fmt::format("{} registers a thread", facts.registers());
  const uint64_t spilled = uint64_t{facts.spill_store_bytes()} + facts.spill_load_bytes();
  absl::StrAppend(&text, spilled > 0 ? fmt::format(", SPILLS {} bytes stored and {} loaded", facts.spill_store_bytes(),
                                                   facts.spill_load_bytes())
                                     : ", no spills");
  if (facts.stack_bytes() > 0) absl::StrAppend(&text, fmt::format(", stack {} bytes", facts.stack_bytes()));
  return absl::StrCat(text, ", static shared memory ", facts.static_shared_bytes(), " bytes");
}

std::string OccupancyText(const v1::KernelFacts& facts, const v1::LaunchShape& launch) {
  const OccupancyEstimate estimate = EstimateOccupancy(facts, launch);
  if (estimate.blocks == 0) return "";
  return fmt::format("; about {} block{} ({} of {} warps) on a multiprocessor at once, bounded by {}", estimate.blocks,
                     estimate.blocks == 1 ? "" : "s", estimate.warps, estimate.most_warps, estimate.limit);
}

std::string LaunchText(const v1::LaunchShape& launch, const v1::Submitted& submitted) {
  const v1::KernelFacts* facts = FactsOf(submitted, launch.kernel());
  std::string text = fmt::format("{}: grid {}, block {}", InertLine(ShortKernelName(launch.kernel()), 120),
                                 Dim3Text(launch.grid()), Dim3Text(launch.block()));
  if (launch.has_cluster()) absl::StrAppend(&text, ", cluster ", Dim3Text(launch.cluster()));
  absl::StrAppend(&text, ", dynamic shared memory ", launch.dynamic_shared_bytes(), " bytes");
  if (facts != nullptr) absl::StrAppend(&text, "\n  ", FactsText(*facts), OccupancyText(*facts, launch));
  return absl::StrCat(text, "\n");
}

void AddMetrics(const v1::DiagnosisReport& report, Composer& composer) {
  for (int i = 0; i < std::min(kMostAdvice, report.advice_size()); ++i)
    composer.Add(Rank::kHelp, absl::StrCat(InertLine(report.advice(i).kernel(), 60), ": ",
                                           InertLine(report.advice(i).text(), 500), "\n"));
  for (int i = 0; i < std::min(kMostMetrics, report.metrics_size()); ++i) {
    const v1::Metric& metric = report.metrics(i);
    composer.Add(Rank::kDetail,
                 absl::StrCat("  ", InertLine(metric.kernel(), 60), ": ", InertLine(metric.name(), 80), " ",
                              InertLine(metric.value(), 40), " ", InertLine(metric.unit(), 20), "\n"));
  }
}

void AddHot(const v1::DiagnosisReport& report, const SourceExcerpts& excerpts, Composer& composer) {
  for (int i = 0; i < std::min(kMostHot, report.hot_size()); ++i) {
    const v1::HotInstruction& hot = report.hot(i);
    const std::vector<SourcePlace> places = PlacesIn(hot.source_line(), 1);
    composer.Add(Rank::kContext,
                 absl::StrCat("executed ", CountText(hot.warp_count()), " times: ", InertLine(hot.sass(), 120), "\n",
                              excerpts.Around(places.empty() ? SourcePlace() : places[0], hot.source_text(), 0)));
  }
}

}  // namespace

void AddSpeed(const FeedbackInput& input, Composer& composer) {
  const v1::Timing& timing = input.verdict->timing();
  composer.Section("Speed");
  const bool measured = timing.status() == v1::Timing::MEASURED || timing.status() == v1::Timing::PROVISIONAL;
  if (measured) {
    composer.Add(Rank::kCause, absl::StrCat("Your kernel: ", TimeText(timing.candidate().median_ns(), timing.floor()),
                                            "\n", BaselineText(timing), SpeedupText(timing)));
    composer.Add(Rank::kHelp, FloorText(timing.floor()));
  } else {
    composer.Add(Rank::kCause,
                 absl::StrCat("No time was measured: ",
                              timing.reason().empty() ? "timing did not run" : InertLine(timing.reason()), "\n"));
  }
  composer.Add(Rank::kCause, TargetText(input));
  for (const std::string& warning : timing.warnings())
    composer.Add(Rank::kDetail, absl::StrCat("Mind: ", InertLine(warning), "\n"));
}

void AddExecuted(const v1::Evidence& evidence, Composer& composer) {
  composer.Section("What executed");
  if (evidence.status() == v1::Evidence::STATUS_UNSPECIFIED) return;
  composer.Add(Rank::kHelp, absl::StrCat(StatusText(evidence), ShareText(evidence)));
  composer.Add(Rank::kContext, FamiliesText(evidence));
  composer.Add(Rank::kDetail, OpcodesText(evidence));
}

void AddResources(const FeedbackInput& input, Composer& composer) {
  composer.Section("Kernels as compiled and launched");
  if (input.submitted == nullptr) return;
  const v1::Submitted& submitted = *input.submitted;
  for (int i = 0; i < std::min(kMostKernels, submitted.launches_size()); ++i)
    composer.Add(Rank::kContext, LaunchText(submitted.launches(i), submitted));
  if (!submitted.launches().empty()) return;
  for (int i = 0; i < std::min(kMostKernels, submitted.kernels_size()); ++i) {
    const v1::KernelFacts& facts = submitted.kernels(i);
    composer.Add(Rank::kContext,
                 absl::StrCat(InertLine(ShortKernelName(facts.symbol()), 120), ": ", FactsText(facts), "\n"));
  }
}

void AddProfile(const v1::Verdict& verdict, const SourceExcerpts& excerpts, Composer& composer) {
  composer.Section("Profile");
  for (const v1::DiagnosisReport& report : verdict.diagnoses()) {
    if (report.outcome() != v1::DiagnosisReport::DONE) continue;
    for (const std::string& line : report.summary())
      composer.Add(Rank::kHelp, absl::StrCat(InertLine(line, 300), "\n"));
    AddMetrics(report, composer);
    AddHot(report, excerpts, composer);
  }
}

}  // namespace sassay::agent
