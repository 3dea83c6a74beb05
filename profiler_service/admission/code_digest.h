// Functions by what they do and not by what they are called: a vendor library's kernel stays the same under another
// name.
#ifndef SASSAY_PROFILER_SERVICE_ADMISSION_CODE_DIGEST_H_
#define SASSAY_PROFILER_SERVICE_ADMISSION_CODE_DIGEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay::admission {

// One function.
struct CodeDigest {
  // Mangled name, as the file has it.
  std::string symbol;
  // The first half of a SHA-256, 32 lower-case hex digits.
  std::string digest;
  // How much there is to tell it by: instructions, without those that only fill up.
  uint64_t instructions = 0;
};

// Every function of a cubin: its machine code as it lies in the file, before a loader relocates it. Names, constants
// and the order of functions do not matter; trailing fill (NOP, and the branch onto itself after the last EXIT) counts
// for the digest and not for `instructions`. INVALID_ARGUMENT if it is no ELF.
absl::StatusOr<std::vector<CodeDigest>> MachineCodeDigests(absl::string_view untrusted_elf);

// Every .entry with a body: its instructions in order, operands replaced by the order of their first use. Names of
// kernels, parameters, registers, labels and variables do not matter, nor do comments, blanks, line tables, the
// module's version and target, and declarations of registers.
std::vector<CodeDigest> PtxCodeDigests(absl::string_view untrusted_ptx);

}  // namespace sassay::admission

#endif  // SASSAY_PROFILER_SERVICE_ADMISSION_CODE_DIGEST_H_
