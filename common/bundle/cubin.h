// What a cubin says about itself. The launch plan travels with the cubin it was captured from, and every launch of the
// plan is checked against these facts; they are read from the ELF's own tables and not from what the agent claims.
//
// NVIDIA does not document the `.nv.info` attributes. The ones used here were found by compiling kernels with CUDA 13.0
// and comparing with what ptxas -v and the source say; cubin_test.cc repeats that comparison with the installed nvcc.
#ifndef SASSAY_COMMON_BUNDLE_CUBIN_H_
#define SASSAY_COMMON_BUNDLE_CUBIN_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "sassay/v1/plan.pb.h"

namespace sassay {

// One parameter of a kernel. The offset depends on the architecture and is never used to replay; sizes are.
struct KernelParameter {
  uint32_t ordinal = 0;
  uint32_t offset_bytes = 0;
  uint32_t size_bytes = 0;
};

// One __global__ function.
struct CubinKernel {
  // Mangled name.
  std::string symbol;
  // In declaration order; `ordinal` equals the index.
  std::vector<KernelParameter> parameters;
  // Size of the whole parameter block, padding included.
  uint32_t parameter_bytes = 0;
  // Registers per thread.
  uint32_t registers = 0;
  // __shared__ variables, without what the system reserves for itself (1 KiB a block on sm_90 and later).
  uint32_t static_shared_bytes = 0;
  // Local memory frame per thread.
  uint32_t stack_bytes = 0;
  // Size of the machine code.
  uint64_t code_bytes = 0;
  // Largest block that __launch_bounds__ or .maxntid allows, in threads; 0 where the kernel does not say.
  uint32_t max_threads_per_block = 0;
  // The only block the kernel may be launched with (.reqntid, __block_size__).
  absl::optional<sassay::v1::Dim3> required_block;
  // The only cluster the kernel may be launched with (__cluster_dims__).
  absl::optional<sassay::v1::Dim3> required_cluster;
  // The grid of a launch counts clusters and not blocks (__block_size__ with a second extent).
  bool blocks_are_clusters = false;
  // Undefined functions that the kernel may call, for example "vprintf".
  std::vector<std::string> externals;
  // The kernel launches kernels itself (dynamic parallelism).
  bool uses_device_runtime = false;
};

// A __device__ or __constant__ variable.
struct CubinVariable {
  std::string name;
  uint64_t size_bytes = 0;
  // In a constant bank; otherwise in global memory.
  bool constant = false;
  // Section that holds it: ".nv.global", ".nv.global.init", ".nv.constant3".
  std::string section;
  // Distance from the section's first byte.
  uint64_t offset_bytes = 0;
};

// A parsed cubin.
//
// Life cycle: immutable once parsed; holds copies, so the bytes may go away.
// Threads: const methods from any thread.
// Failure: INVALID_ARGUMENT naming the section or attribute; hostile bytes never read outside, loop long or allocate
// more than a small multiple of the file's size.
// Example:
//   ASSIGN_OR_RETURN(const Cubin cubin, Cubin::Parse(bytes));
//   const CubinKernel* kernel = cubin.FindKernel("_Z4gemmPfS_S_");
class Cubin {
 public:
  // `untrusted_elf`: an executable CUDA ELF. Relocatable objects (nvcc -rdc=true without a device link) are refused.
  static absl::StatusOr<Cubin> Parse(absl::string_view untrusted_elf);

  // Target: "sm_90a", "sm_100a", "sm_80". CUDA 13 changed how the ELF header spells it; both spellings are read.
  const std::string& arch() const { return arch_; }
  // The number in it: 90, 100, 80.
  uint32_t sm() const { return sm_; }
  // Sorted by symbol.
  const std::vector<CubinKernel>& kernels() const { return kernels_; }
  // Null if there is none.
  const CubinKernel* FindKernel(absl::string_view symbol) const;
  // Sorted by name; string literals and other unnamed data are left out.
  const std::vector<CubinVariable>& variables() const { return variables_; }
  // Null if there is none.
  const CubinVariable* FindVariable(absl::string_view name) const;
  // Functions that some kernel needs and the cubin lacks, sorted. The driver supplies vprintf, malloc, free and
  // __assertfail; a module with any other one does not load.
  const std::vector<std::string>& undefined_functions() const { return undefined_functions_; }
  // Some function of the module launches kernels itself.
  bool uses_device_runtime() const { return uses_device_runtime_; }

 private:
  friend class CubinReader;
  Cubin() = default;

  std::string arch_;
  uint32_t sm_ = 0;
  std::vector<CubinKernel> kernels_;
  std::vector<CubinVariable> variables_;
  std::vector<std::string> undefined_functions_;
  bool uses_device_runtime_ = false;
};

// Whether the driver itself supplies the device function `name`.
bool IsDriverFunction(absl::string_view name);

}  // namespace sassay

#endif  // SASSAY_COMMON_BUNDLE_CUBIN_H_
