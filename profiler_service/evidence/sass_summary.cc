#include "profiler_service/evidence/sass_summary.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/sass/families.h"

namespace sassay::evidence {
namespace {

using sassay::v1::Evidence;
using sassay::v1::LaunchEvidence;
using sassay::v1::OpcodeCount;

constexpr double kWarpThreads = 32;

struct Totals {
  uint64_t warps = 0, threads = 0;
};

// Families that multiply; of TCGEN only some opcodes do, and none tells how much.
bool Multiplies(absl::string_view opcode, absl::string_view family) {
  if (family == "TCGEN") return absl::StrContains(opcode, "MMA");
  return absl::EndsWith(family, "MMA");
}

// FLOPs of tensor-core instructions, until one does not tell.
class Flops {
 public:
  void Add(const std::string& opcode, const std::string& family, uint64_t threads) {
    if (threads == 0 || !Multiplies(opcode, family)) return;
    const std::optional<double> each = SassFlopsPerWarp(opcode);
    if (!each.has_value() && silent_.empty()) silent_ = opcode;
    total_ += each.value_or(0) * static_cast<double>(threads) / kWarpThreads;
  }
  bool known() const { return silent_.empty(); }
  double total() const { return total_; }
  // The first opcode that does not tell.
  const std::string& silent() const { return silent_; }

 private:
  double total_ = 0;
  std::string silent_;
};

// Opcodes repeat thousands of times in a kernel, so what they mean is looked up once.
class FamilyCache {
 public:
  const std::string& Of(const std::string& opcode) {
    const auto [known, fresh] = families_.try_emplace(opcode);
    if (fresh) known->second = SassFamily(opcode);
    return known->second;
  }

 private:
  std::map<std::string, std::string> families_;
};

LaunchEvidence Summarize(const ExecutedLaunch& launch, FamilyCache& families) {
  LaunchEvidence evidence;
  evidence.set_launch(launch.first_launch);
  evidence.set_launches(launch.launches);
  evidence.set_kernel(launch.kernel);
  Flops flops;
  for (const ExecutedInstruction& instruction : launch.instructions) {
    evidence.set_warp_instructions(evidence.warp_instructions() + instruction.warps);
    evidence.set_thread_instructions(evidence.thread_instructions() + instruction.threads);
    const std::string& family = families.Of(instruction.what->opcode);
    if (family.empty() || instruction.threads == 0) continue;
    (*evidence.mutable_family_thread_counts())[family] += instruction.threads;
    flops.Add(instruction.what->opcode, family, instruction.threads);
  }
  if (flops.known()) evidence.set_tensor_core_flops(flops.total());
  return evidence;
}

std::map<std::pair<std::string, std::string>, Totals> ByKernelAndOpcode(const std::vector<ExecutedLaunch>& launches) {
  std::map<std::pair<std::string, std::string>, Totals> totals;
  for (const ExecutedLaunch& launch : launches) {
    for (const ExecutedInstruction& instruction : launch.instructions) {
      Totals& total = totals[{launch.kernel, instruction.what->opcode}];
      total.warps += instruction.warps;
      total.threads += instruction.threads;
    }
  }
  return totals;
}

bool CodeHasFamily(const Disassembly& code, char letter) {
  for (const auto& [name, instructions] : code) {
    for (const SassInstruction& instruction : instructions) {
      if (InFamily(SassFamily(instruction.opcode), letter)) return true;
    }
  }
  return false;
}

void SetStatus(Evidence& evidence, const Disassembly& code, absl::string_view required_family) {
  if (required_family.empty()) {
    evidence.set_status(Evidence::UNAVAILABLE);
    evidence.set_reason("the workload requires no instruction family on this architecture");
    return;
  }
  const char letter = required_family[0];
  evidence.set_reason("executed SASS, counted by CUPTI");
  for (const auto& [family, threads] : evidence.family_thread_counts()) {
    if (threads > 0 && InFamily(family, letter)) return evidence.set_status(Evidence::DYNAMIC_PRESENT);
  }
  evidence.set_status(CodeHasFamily(code, letter) ? Evidence::DYNAMIC_NOT_EXECUTED : Evidence::CUBIN_SASS_ABSENT);
}

void SetShare(Evidence& evidence, const Flops& flops, double flop) {
  if (!flops.known()) {
    evidence.set_tensor_core_flop_share_reason(absl::StrCat(flops.silent(), " does not tell how much it multiplies"));
    return;
  }
  evidence.set_tensor_core_flops(flops.total());
  if (flop > 0) {
    evidence.set_tensor_core_flop_share(flops.total() / flop);
  } else {
    evidence.set_tensor_core_flop_share_reason("the workload's definition does not say how many FLOPs it needs");
  }
}

}  // namespace

void KeepMostExecuted(Evidence& evidence) {
  auto* opcodes = evidence.mutable_opcodes();
  std::stable_sort(opcodes->begin(), opcodes->end(), [](const OpcodeCount& a, const OpcodeCount& b) {
    if (a.family().empty() != b.family().empty()) return b.family().empty();
    return a.thread_count() > b.thread_count();
  });
  if (opcodes->size() > kMaxOpcodes) opcodes->DeleteSubrange(kMaxOpcodes, opcodes->size() - kMaxOpcodes);
}

Evidence SummarizeSass(const std::vector<ExecutedLaunch>& launches, const Disassembly& code, double flop,
                       absl::string_view required_family) {
  Evidence evidence;
  FamilyCache families;
  Flops flops;
  for (const auto& [key, total] : ByKernelAndOpcode(launches)) {
    OpcodeCount& count = *evidence.add_opcodes();
    count.set_kernel(key.first);
    count.set_opcode(key.second);
    count.set_warp_count(total.warps);
    count.set_thread_count(total.threads);
    count.set_family(families.Of(key.second));
    flops.Add(count.opcode(), count.family(), total.threads);
    if (!count.family().empty() && total.threads > 0) {
      (*evidence.mutable_family_thread_counts())[count.family()] += total.threads;
    }
    evidence.set_warp_instructions(evidence.warp_instructions() + total.warps);
    evidence.set_thread_instructions(evidence.thread_instructions() + total.threads);
  }
  for (const ExecutedLaunch& launch : launches) {
    if (evidence.launches_size() == kMaxLaunches) break;
    *evidence.add_launches() = Summarize(launch, families);
  }
  SetStatus(evidence, code, required_family);
  SetShare(evidence, flops, flop);
  KeepMostExecuted(evidence);
  return evidence;
}

std::vector<HotInstruction> HottestInstructions(const std::vector<ExecutedLaunch>& launches, size_t most) {
  std::map<std::pair<std::string, const SassInstruction*>, Totals> totals;
  for (const ExecutedLaunch& launch : launches) {
    for (const ExecutedInstruction& instruction : launch.instructions) {
      Totals& total = totals[{launch.kernel, instruction.what}];
      total.warps += instruction.warps;
      total.threads += instruction.threads;
    }
  }
  std::vector<HotInstruction> hot;
  for (const auto& [key, total] : totals) {
    const SassInstruction& what = *key.second;
    hot.push_back({key.first, what.pc_offset, what.opcode, what.text, total.warps, total.threads, what.source_file,
                   what.source_line});
  }
  std::sort(hot.begin(), hot.end(), [](const HotInstruction& a, const HotInstruction& b) {
    return std::tie(b.warp_count, a.kernel, a.pc_offset_bytes, a.text) <
           std::tie(a.warp_count, b.kernel, b.pc_offset_bytes, b.text);
  });
  if (hot.size() > most) hot.resize(most);
  return hot;
}

}  // namespace sassay::evidence
