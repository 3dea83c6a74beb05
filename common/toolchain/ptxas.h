// The one rule by which PTX becomes a cubin. The agent compiles by it and the service checks provenance by it.
#ifndef SASSAY_COMMON_TOOLCHAIN_PTXAS_H_
#define SASSAY_COMMON_TOOLCHAIN_PTXAS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/sandbox/sandbox.h"
#include "common/toolchain/toolchain.h"
#include "sassay/v1/bundle.pb.h"

namespace sassay {

// The rule. nvcc runs exactly
//     ptxas -arch=ARCH -m64 OPTION… INPUT.ptx -o OUTPUT.cubin
// where OPTION… are the -Xptxas options followed by --generate-line-info for -lineinfo (found with nvcc --dryrun,
// CUDA 13.0). Compilation.arch is ARCH and Compilation.ptxas_options are OPTION…, so a bundle says how to repeat the
// step.
//
// The cubin's bytes depend on (ptxas_test.cc shows each)
//   * the PTX, ARCH, and ptxas's release;
//   * the options, even -v: they are written into the section .note.nv.tkinfo (their order is not);
//   * with --generate-line-info, the time and size of every file that a `.file` of the PTX names *if it exists where
//   ptxas
//     runs*: ptxas looks at it and writes them into .debug_line;
// and not on the names of input and output, or the time of day. So the step must run where no such file exists, and it
// does on both sides: AssemblePtx shows ptxas nothing but itself and the C library. nvcc's own ptxas step, which sees
// the sources, would give a cubin that nobody else can reproduce.

// The options that our own compilations use, in the order in which nvcc hands them over.
std::vector<std::string> DefaultPtxasOptions();

// The whole argument list. INVALID_ARGUMENT for an arch or an option that is not in the small list of those that a
// bundle may ask for (`compilation` is untrusted): --generate-line-info, -v, -O0…-O3, --maxrregcount=N, and a few like
// them; nothing that names a file.
absl::StatusOr<std::vector<std::string>> BuildPtxasArguments(const std::string& ptxas,
                                                             const sassay::v1::Compilation& untrusted_compilation,
                                                             absl::string_view input, absl::string_view output);

// What ptxas said and made.
struct Assembly {
  // stderr holds errors, warnings and, with -v, registers and spills per kernel.
  ExitReport report;
  // Empty unless the report says success.
  std::string cubin;
};

// Assembles `untrusted_ptx` in a sandbox as the rule says. PTX that ptxas refuses, a timeout (also of processor time,
// and when `stop` said so) and a crash are an Assembly without cubin; a Status is ours: INVALID_ARGUMENT for options
// that a bundle may not ask for, FAILED_PRECONDITION where there is no sandbox, UNAVAILABLE where it did not start this
// time. With `unsandboxed` it runs without one, and the bytes may depend on the machine's files.
absl::StatusOr<Assembly> AssemblePtx(const Toolchain& toolchain, const sassay::v1::Compilation& untrusted_compilation,
                                     absl::string_view untrusted_ptx, absl::Duration timeout,
                                     const AllowUnsandboxed* unsandboxed = nullptr, const StopAsked& stop = {});

}  // namespace sassay

#endif  // SASSAY_COMMON_TOOLCHAIN_PTXAS_H_
