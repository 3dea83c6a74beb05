// The machine code of a cubin, instruction by instruction, as nvdisasm prints it.
#ifndef SASSAY_COMMON_SASS_DISASSEMBLY_H_
#define SASSAY_COMMON_SASS_DISASSEMBLY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/sandbox/sandbox.h"
#include "common/toolchain/toolchain.h"

namespace sassay {

struct SassInstruction {
  // Distance from the function's first byte.
  uint64_t pc_offset = 0;
  // With modifiers, without predicate: "HGMMA.64x128x16.F32.BF16".
  std::string opcode{};
  // The whole instruction with predicate and operands, cut at kMaxTextBytes: "@!P1 BRA `(.L_x_3)".
  std::string text{};
  // Where it came from, innermost: "kernel.cu" (without folders) and the line. Empty and 0 where the cubin has no line
  // table, or none that covers it.
  std::string source_file{};
  uint32_t source_line = 0;

  static constexpr size_t kMaxTextBytes = 256;
};

// Instructions by function (mangled symbol), in order of their offsets.
using Disassembly = std::map<std::string, std::vector<SassInstruction>>;

// Reads the output of `nvdisasm -c`. The text may come from a hostile cubin: a listing in which a function appears
// twice, or has its instructions anywhere but at 0, 16, 32, …, is DATA_LOSS, for somebody may have written lines into
// it. Lines that look like no instruction are passed over.
absl::StatusOr<Disassembly> ParseDisassembly(absl::string_view untrusted_text);

// Fills in source files and lines from the output of `nvdisasm -c -g` of the same cubin. That text repeats strings of
// the candidate (the names in `.file`, with whatever they hold), so nothing but lines is taken from it, and none at all
// where its instructions are not exactly those of `code`.
void AddSourceLines(absl::string_view untrusted_text, Disassembly& code);

// Runs nvdisasm in a sandbox (it parses a hostile file), without source lines. NOT_FOUND with the command that mends it
// where there is no disassembler; INVALID_ARGUMENT if it refuses the cubin; DEADLINE_EXCEEDED; FAILED_PRECONDITION
// without a sandbox, UNAVAILABLE if it did not start; DATA_LOSS for a listing that cannot be believed.
absl::StatusOr<Disassembly> Disassemble(const Toolchain& toolchain, absl::string_view untrusted_cubin,
                                        absl::Duration timeout = absl::Seconds(60),
                                        const AllowUnsandboxed* unsandboxed = nullptr);

// The same, with the source lines of a second run beside the first. Lines that cannot be had are left out.
absl::StatusOr<Disassembly> DisassembleWithLines(const Toolchain& toolchain, absl::string_view untrusted_cubin,
                                                 absl::Duration timeout = absl::Seconds(60),
                                                 const AllowUnsandboxed* unsandboxed = nullptr);

// Static instruction counts by family (see families.h) of one function; families without instruction are left out.
std::map<std::string, uint32_t> CountFamilies(const std::vector<SassInstruction>& instructions);

}  // namespace sassay

#endif  // SASSAY_COMMON_SASS_DISASSEMBLY_H_
