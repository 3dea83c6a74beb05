// expect: CORRECT OK workload=gemm_n256_k256/M=64
//
// The tiled GEMM with the entry point that PTXBench and FlashInfer-Bench candidates have. Workload:
// gemm_n256_k256/M=256.
//
// `run` takes tensor views instead of pointers and writes its results into the last ones (destination-passing style).
// Sizes come from the views; the stream from the environment.
#include <cuda_bf16.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include <cstdint>

constexpr int kN = 256, kK = 256;
constexpr int kTile = 64;                     // a block computes a kTile x kTile piece of C
constexpr int kDepth = 16;                    // and walks K in steps of kDepth
constexpr int kPerThread = 4;                 // a thread computes kPerThread x kPerThread of it
constexpr int kThreads = kTile / kPerThread;  // in x and in y

// Every element of A and B is read from global memory once per block instead of once per thread, and from shared memory
// once for kPerThread products.
__global__ void __launch_bounds__(kThreads* kThreads)
    GemmTiled(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m) {
  // Stored with k outermost, so that neighbouring threads read neighbouring words: no bank conflicts in the inner loop.
  __shared__ float tile_a[kDepth][kTile];
  __shared__ float tile_b[kDepth][kTile];
  const int first_row = blockIdx.y * kTile, first_column = blockIdx.x * kTile;
  const int thread = threadIdx.y * kThreads + threadIdx.x;
  float sums[kPerThread][kPerThread] = {};

  for (int k0 = 0; k0 < kK; k0 += kDepth) {
    for (int i = thread; i < kTile * kDepth; i += kThreads * kThreads) {
      const int line = i / kDepth, k = i % kDepth, row = first_row + line;
      // Rows past the end count as zero; their results are not stored.
      tile_a[k][line] = row < m ? __bfloat162float(a[row * kK + k0 + k]) : 0.f;
      tile_b[k][line] = __bfloat162float(b[(first_column + line) * kK + k0 + k]);
    }
    __syncthreads();  // the tiles are whole
    for (int k = 0; k < kDepth; ++k) {
      float from_a[kPerThread], from_b[kPerThread];
      for (int i = 0; i < kPerThread; ++i) {
        from_a[i] = tile_a[k][threadIdx.y + i * kThreads];
        from_b[i] = tile_b[k][threadIdx.x + i * kThreads];
      }
      for (int i = 0; i < kPerThread; ++i) {
        for (int j = 0; j < kPerThread; ++j) sums[i][j] += from_a[i] * from_b[j];
      }
    }
    __syncthreads();  // nobody still reads what the next round overwrites
  }

  for (int i = 0; i < kPerThread; ++i) {
    const int row = first_row + threadIdx.y + i * kThreads;
    for (int j = 0; j < kPerThread && row < m; ++j) {
      c[row * kN + first_column + threadIdx.x + j * kThreads] = __float2bfloat16(sums[i][j]);
    }
  }
}

void run(tvm::ffi::TensorView A, tvm::ffi::TensorView B, tvm::ffi::TensorView C) {
  TVM_FFI_ICHECK(B.size(0) == kN && B.size(1) == kK) << "compiled for B of " << kN << " x " << kK;
  const auto m = static_cast<int>(A.size(0));
  const auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(A.device().device_type, A.device().device_id));
  const dim3 block(kThreads, kThreads);
  const dim3 grid(kN / kTile, (static_cast<unsigned>(m) + kTile - 1) / kTile);
  GemmTiled<<<grid, block, 0, stream>>>(static_cast<const __nv_bfloat16*>(A.data_ptr()),
                                        static_cast<const __nv_bfloat16*>(B.data_ptr()),
                                        static_cast<__nv_bfloat16*>(C.data_ptr()), m);
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run);
