// The machine code of a cubin, instruction by instruction, as nvdisasm prints it.
#ifndef SASSAY_COMMON_SASS_DISASSEMBLY_H_
#define SASSAY_COMMON_SASS_DISASSEMBLY_H_

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
  std::string opcode;
};

// Instructions by function (mangled symbol), in order of their offsets.
using Disassembly = std::map<std::string, std::vector<SassInstruction>>;

// Reads `nvdisasm -c` output. Lines that are not instructions are passed over; never fails. The text may come from a
// hostile cubin.
Disassembly ParseDisassembly(absl::string_view untrusted_text);

// Runs nvdisasm in a sandbox (it parses a hostile file). NOT_FOUND with the command that mends it where there is no
// disassembler; INVALID_ARGUMENT if it refuses the cubin; DEADLINE_EXCEEDED; FAILED_PRECONDITION without a sandbox,
// UNAVAILABLE if it did not start.
absl::StatusOr<Disassembly> Disassemble(const Toolchain& toolchain, absl::string_view untrusted_cubin,
                                        absl::Duration timeout = absl::Seconds(60),
                                        const AllowUnsandboxed* unsandboxed = nullptr);

// Static instruction counts by family (see families.h) of one function; families without instruction are left out.
std::map<std::string, uint32_t> CountFamilies(const std::vector<SassInstruction>& instructions);

}  // namespace sassay

#endif  // SASSAY_COMMON_SASS_DISASSEMBLY_H_
