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
// where OPTION… are the -Xptxas options and --generate-line-info for -lineinfo (found with nvcc --dryrun, CUDA 13.0).
// The cubin's bytes depend on ARCH, the options and the PTX, and not on the paths, the time, or -v (ptxas_test.cc
// proves each). Compilation.arch is ARCH and Compilation.ptxas_options are OPTION…, so a bundle says how to repeat the
// step. Of another toolkit release the bytes may differ: then nothing is proved either way.

// The options that our own compilations use, in the order in which nvcc hands them over.
std::vector<std::string> DefaultPtxasOptions();

// The whole argument list. INVALID_ARGUMENT for an arch or an option that is not in the small list of those that a
// bundle may ask for (`compilation` is untrusted): --generate-line-info, -v, -O0…-O3, --maxrregcount=N, and a few like
// them; nothing that names a file.
absl::StatusOr<std::vector<std::string>> BuildPtxasArguments(const std::string& ptxas,
                                                             const sassay::v1::Compilation& untrusted_compilation,
                                                             absl::string_view input, absl::string_view output);

// Assembles `untrusted_ptx` in a sandbox and returns the cubin. INVALID_ARGUMENT with ptxas's first line if ptxas
// refuses the PTX; DEADLINE_EXCEEDED; FAILED_PRECONDITION where there is no sandbox (unless `unsandboxed`).
absl::StatusOr<std::string> AssemblePtx(const Toolchain& toolchain,
                                        const sassay::v1::Compilation& untrusted_compilation,
                                        absl::string_view untrusted_ptx, absl::Duration timeout,
                                        const AllowUnsandboxed* unsandboxed = nullptr);

}  // namespace sassay

#endif  // SASSAY_COMMON_TOOLCHAIN_PTXAS_H_
