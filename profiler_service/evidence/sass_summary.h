// What the counted instructions say: which opcodes and families executed, how much of the workload's arithmetic the
// tensor cores did, which launch did it, and which instructions are hot.
#ifndef SASSAY_PROFILER_SERVICE_EVIDENCE_SASS_SUMMARY_H_
#define SASSAY_PROFILER_SERVICE_EVIDENCE_SASS_SUMMARY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/sass/disassembly.h"
#include "profiler_service/evidence/sass_join.h"
#include "sassay/v1/evidence.pb.h"

namespace sassay::evidence {

// Lists of the evidence: the most opcodes, most executed first, and the most launches, first ones first.
inline constexpr int kMaxOpcodes = 64;
inline constexpr int kMaxLaunches = 64;

// Pure. `code` is the whole cubin: whether the family is in it at all. `flop` is what the workload needs for one call
// (0 if unknown). `required_family` is the letter ("H", "B") or empty; then the status is UNAVAILABLE, with the counts.
//
// FLOPs: an opcode's shape times the warps whose predicate was true (threads / 32); where an opcode that does
// tensor-core work does not tell its shape, the total and the share are absent and say so.
sassay::v1::Evidence SummarizeSass(const std::vector<ExecutedLaunch>& launches, const Disassembly& code, double flop,
                                   absl::string_view required_family);

// One instruction over all launches of its kernel.
struct HotInstruction {
  std::string kernel;  // mangled symbol
  uint64_t pc_offset_bytes = 0;
  std::string opcode;
  std::string text;  // with predicate and operands
  uint64_t warp_count = 0;
  uint64_t thread_count = 0;  // predicate true
  std::string source_file;    // "kernel.cu"; empty where the cubin has no line for it
  uint32_t source_line = 0;
};

// The `most` instructions that warps executed most often, hottest first; ties in the order of kernel and offset.
std::vector<HotInstruction> HottestInstructions(const std::vector<ExecutedLaunch>& launches, size_t most);

// Keeps the first kMaxOpcodes: those of a family first, then by thread count. For evidence of any device.
void KeepMostExecuted(sassay::v1::Evidence& evidence);

}  // namespace sassay::evidence

#endif  // SASSAY_PROFILER_SERVICE_EVIDENCE_SASS_SUMMARY_H_
