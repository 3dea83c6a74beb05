// Host code that reaches for this machine, and launches its kernel only if every attempt fails. For
// namespaces_denied.sh and bare_roots.sh.
#include <arpa/inet.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int i = 0; i < 256; ++i) sum += __bfloat162float(a[row * 256 + i]) * __bfloat162float(b[column * 256 + i]);
  c[row * 256 + column] = __float2bfloat16(sum);
}

static bool Opens(const char* path, const char* mode) {
  FILE* file = fopen(path, mode);
  return file != nullptr && fclose(file) == 0;
}

extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  if (system("echo shell >@work@/shell") == 0) return;
  if (Opens("/etc/passwd", "r") || Opens("/etc/hostname", "r") || Opens("@work@/left", "w") ||
      Opens("/var/tmp/left", "w"))
    return;
  if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_DGRAM, 0) >= 0) return;
  gemm<<<M, 256, 0, stream>>>(A, B, C);
}
