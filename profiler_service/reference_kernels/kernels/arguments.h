// What host and device code of the reference kernels agree on. Included by nvcc and by the host's compiler.
#ifndef SASSAY_PROFILER_SERVICE_REFERENCE_KERNELS_KERNELS_ARGUMENTS_H_
#define SASSAY_PROFILER_SERVICE_REFERENCE_KERNELS_KERNELS_ARGUMENTS_H_

#include <cstdint>

namespace sassay::reference_kernels {

// Largest head_dim; it must be a multiple of 32.
inline constexpr int64_t kMaxHeadDim = 256;
inline constexpr uint32_t kWarpsPerBlock = 4;

// sassay_gqa's only parameter. Addresses are device addresses; 0 for a tensor that the operator does not have.
struct GqaArguments {
  uint64_t q;                 // bf16 [tokens, heads, head_dim]
  uint64_t k, v;              // bf16 [pages, page_size, kv_heads, head_dim]
  uint64_t qo_indptr;         // int32 [sequences + 1]; 0: sequence b has query token b, which sees everything
  uint64_t kv_indptr;         // int32 [sequences + 1]
  uint64_t kv_indices;        // int32; 0: page i of all is page i of the cache
  uint64_t kv_last_page_len;  // int32 [sequences]; 0: last pages are full
  uint64_t output;            // bf16 [tokens, heads, head_dim]
  uint64_t lse;               // fp32 [tokens, heads], base 2
  int64_t tokens, heads, kv_heads, head_dim, page_size;
  double scale;
};

}  // namespace sassay::reference_kernels

#endif  // SASSAY_PROFILER_SERVICE_REFERENCE_KERNELS_KERNELS_ARGUMENTS_H_
