#include "agent/explain/explain.h"

namespace sassay::agent {
namespace {

using namespace v1;  // NOLINT: a table of v1's enum values

const Explanation kCodes[] = {
    {VERDICT_CODE_OK,
     VERDICT_STATUS_CORRECT,
     STAGE_TIMING,
     "Every stage that ran is content: the outputs are right, memory was used properly, nothing is suspicious.",
     {"a good kernel"},
     "Nothing to repair. Look at timing, evidence and the notes for what could not be checked.",
     "status CORRECT, provenance VERIFIED, scorable true"},
    {VERDICT_CODE_NVCC_ERROR,
     VERDICT_STATUS_COMPILE_ERROR,
     STAGE_COMPILE,
     "nvcc's front end refused the CUDA source; no code was made.",
     {"a syntax error or an undeclared name", "a missing #include",
      "a type that does not fit a template or an intrinsic"},
     "Go to the first error in the diagnostics (file:line with its source line); later ones often follow from it.",
     "kernel.cu:12: error: identifier \"blockDimx\" is undefined"},
    {VERDICT_CODE_PTXAS_ERROR,
     VERDICT_STATUS_COMPILE_ERROR,
     STAGE_COMPILE,
     "ptxas refused the PTX, which usually means inline assembly: the front end copies asm text unread.",
     {"an operand of the wrong type or count in asm(...)",
      "a register constraint that does not match the instruction (\"r\" for a 64-bit address)",
      "a modifier that this instruction does not have"},
     "Compare the instruction with the PTX ISA manual: operand order, types and modifiers. The diagnostic names the "
     "PTX line and the asm statement's source line.",
     "ptxas: line 88: Arguments mismatch for instruction 'wgmma.mma_async'"},
    {VERDICT_CODE_WRONG_ARCH_PTX,
     VERDICT_STATUS_COMPILE_ERROR,
     STAGE_COMPILE,
     "The source uses an instruction that the chosen architecture does not have.",
     {"Blackwell's tcgen05 with --arch sm_90a", "Hopper's wgmma with --arch sm_100a",
      "PTX written for a newer ISA version"},
     "Choose the architecture that the kernel is written for with --arch, or use the instruction family of this one "
     "(sm_90a: wgmma; sm_100a: tcgen05).",
     "Instruction 'tcgen05.mma' not supported on .target 'sm_90a'"},
    {VERDICT_CODE_COMPILE_TIMEOUT,
     VERDICT_STATUS_COMPILE_ERROR,
     STAGE_COMPILE,
     "The compiler did not end within its time limit.",
     {"recursive or very deep templates", "#pragma unroll over a huge loop",
      "a very large kernel with everything inlined"},
     "Unroll less, bound the template depth, split the kernel, or mark large device functions __noinline__.",
     "nvcc was stopped after 300 s"},
    {VERDICT_CODE_COMPILE_LIMIT,
     VERDICT_STATUS_COMPILE_ERROR,
     STAGE_COMPILE,
     "The compiler ran into a limit of the sandbox: memory, size of a file, number of processes, or output.",
     {"a static table of hundreds of megabytes", "templates that expand without bound",
      "#include of a device or an endless file"},
     "Make the source smaller; compute tables in a kernel and not at compile time.",
     "nvcc was killed at the memory limit of 8 GiB"},
    {VERDICT_CODE_HOST_COMPILER_ERROR,
     VERDICT_STATUS_COMPILE_ERROR,
     STAGE_COMPILE,
     "The host compiler refused the host half of the source; the device half may be good.",
     {"host code that uses a name from a missing header", "device-only intrinsics in a host function",
      "C++ newer than the host compiler"},
     "Repair the host function named in the diagnostic; mark device helpers __device__.",
     "kernel.cu:40: error: 'ceil_div' was not declared in this scope"},
    {VERDICT_CODE_LINK_ERROR,
     VERDICT_STATUS_COMPILE_ERROR,
     STAGE_COMPILE,
     "The parts compiled but do not link: a function or variable is declared and used, never defined, or defined "
     "twice.",
     {"a helper declared extern whose file was not given",
      "a library such as cuBLAS or cuDNN, which is not available to candidates",
      "a __device__ function in another file without relocatable device code"},
     "Give every source file to compile, or define what is missing. Library calls are not allowed: the candidate must "
     "be its own kernel.",
     "undefined reference to `cublasCreate_v2'"},
};

}  // namespace

absl::Span<const Explanation> CompileCodes() { return kCodes; }

}  // namespace sassay::agent
