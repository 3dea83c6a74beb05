#include "profiler_service/evidence/ptx_summary.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "common/sass/families.h"
#include "profiler_service/evidence/sass_summary.h"

namespace sassay::evidence {
namespace {

using sassay::v1::Evidence;
using sassay::v1::OpcodeCount;

// Whether any instruction of the PTX text belongs to the family, executed or not.
bool PtxHasFamily(absl::string_view ptx, char letter) {
  for (absl::string_view line : absl::StrSplit(ptx, '\n')) {
    std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t;"), absl::SkipEmpty());
    if (!words.empty() && words[0][0] == '@') words.erase(words.begin());
    if (!words.empty() && InFamily(PtxFamily(words[0]), letter)) return true;
  }
  return false;
}

Evidence::Status StatusOf(const Evidence& counted, absl::string_view ptx, char letter) {
  for (const OpcodeCount& count : counted.opcodes()) {
    if (count.thread_count() > 0 && InFamily(PtxFamily(count.opcode()), letter)) return Evidence::DYNAMIC_PRESENT;
  }
  return PtxHasFamily(ptx, letter) ? Evidence::DYNAMIC_NOT_EXECUTED : Evidence::CUBIN_SASS_ABSENT;
}

// Share of the workload's operations that tensor-core instructions account for; nothing if one of them does not tell.
absl::optional<double> TensorCoreShare(const Evidence& counted, double flop) {
  if (flop <= 0) return absl::nullopt;
  double total = 0;
  for (const OpcodeCount& count : counted.opcodes()) {
    const std::string family = PtxFamily(count.opcode());
    if (family.empty() || family == "TMA" || family == "TMEM") continue;
    const auto each = PtxFlopsPerWarp(count.opcode());
    if (!each.has_value()) return absl::nullopt;
    total += *each * static_cast<double>(count.warp_count());
  }
  return total / flop;
}

}  // namespace

Evidence SummarizePtx(const Evidence& counted, absl::string_view ptx, double flop, absl::string_view required_family) {
  Evidence evidence = counted;
  evidence.clear_family_thread_counts();
  for (OpcodeCount& count : *evidence.mutable_opcodes()) {
    count.set_family(PtxFamily(count.opcode()));
    if (!count.family().empty()) (*evidence.mutable_family_thread_counts())[count.family()] += count.thread_count();
  }
  if (const absl::optional<double> share = TensorCoreShare(counted, flop); share.has_value()) {
    evidence.set_tensor_core_flop_share(*share);
  }
  if (required_family.empty()) {
    evidence.set_status(Evidence::UNAVAILABLE);
    evidence.set_reason("the workload requires no instruction family on this architecture");
  } else {
    evidence.set_status(StatusOf(counted, ptx, required_family[0]));
    evidence.set_reason("executed PTX mapped to SASS families");
  }
  KeepMostExecuted(evidence);
  return evidence;
}

}  // namespace sassay::evidence
