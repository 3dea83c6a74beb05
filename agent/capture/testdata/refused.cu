// Host code that must be refused: one entry each, all with run()'s signature for gemm_n256_k256 unless they say.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

using Bf16 = __nv_bfloat16;

extern __shared__ char dynamic_shared[];
__global__ void kernel(const Bf16* a, Bf16* c) { c[0] = a[0]; }
__global__ void number(Bf16* c, int64_t n) { c[0] = c[n]; }
__global__ void big_shared(Bf16* c) { c[0] = c[dynamic_shared[threadIdx.x]]; }
__global__ void with_map(const __grid_constant__ CUtensorMap map, Bf16* c) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map));
  c[0] = c[1];
}
__global__ void __cluster_dims__(2, 1, 1) in_pairs(Bf16* c) { c[blockIdx.x] = c[0]; }
__device__ int result;

static CUresult Encode(CUtensorMap* map, const Bf16* base, uint64_t row_bytes, uint32_t box) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &status);
  const cuuint64_t dims[2] = {256, 64}, strides[1] = {row_bytes};
  const cuuint32_t boxes[2] = {box, 64}, ones[2] = {1, 1};
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)(
      map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<Bf16*>(base), dims, strides, boxes, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

#define ENTRY(name) \
  extern "C" void name(const Bf16* A, const Bf16* B, Bf16* C, int64_t M, cudaStream_t stream)

ENTRY(reads_back) {
  int value = 0;
  cudaMemcpyFromSymbol(&value, result, sizeof value);
  kernel<<<value + 1, 1, 0, stream>>>(A, C);
}
ENTRY(caches_pointer) {
  static const Bf16* first = A;
  kernel<<<1, 1, 0, stream>>>(first, C);
}
ENTRY(caches_map) {
  static CUtensorMap map;
  static const CUresult once = Encode(&map, A, 512, 64);
  (void)once;
  with_map<<<1, 32, 0, stream>>>(map, C);
}
ENTRY(caches_distance) {
  static const int64_t distance = reinterpret_cast<int64_t>(C) - reinterpret_cast<int64_t>(A);
  number<<<1, 1, 0, stream>>>(C, distance);
}
ENTRY(too_much_shared) {
  cudaFuncSetAttribute(big_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000);
  big_shared<<<1, 32, 300000, stream>>>(C);
}
ENTRY(checks_and_aborts) {
  if (cudaFuncSetAttribute(big_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000) != cudaSuccess) std::abort();
  big_shared<<<1, 32, 300000, stream>>>(C);
}
ENTRY(big_block) { kernel<<<1, 2048, 0, stream>>>(A, C); }
namespace {
template <typename T>
__global__ void templated(T* c) {
  c[0] = 0;
}
}  // namespace
ENTRY(big_templated_block) { templated<<<1, 2048, 0, stream>>>(C); }
ENTRY(empty_grid) { kernel<<<0, 32, 0, stream>>>(A, C); }
ENTRY(half_a_cluster) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeRequiredClusterWidth, 2);
  kernel<<<4, 32, 0, stream>>>(A, C);
}
ENTRY(other_cluster) {
  for (cudaFuncAttribute axis : {cudaFuncAttributeRequiredClusterWidth, cudaFuncAttributeRequiredClusterHeight,
                                 cudaFuncAttributeRequiredClusterDepth}) {
    cudaFuncSetAttribute(kernel, axis, 1);
  }
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = 4;
  config.blockDim = 32;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, kernel, A, C);
}
ENTRY(odd_grid) { in_pairs<<<3, 32, 0, stream>>>(C); }
ENTRY(cluster_set_again) {
  if (cudaFuncSetAttribute(in_pairs, cudaFuncAttributeRequiredClusterWidth, 4) != cudaSuccess) std::abort();
}
ENTRY(segfaults) {
  *static_cast<volatile int*>(nullptr) = 1;
  kernel<<<1, 1, 0, stream>>>(A, C);
}
ENTRY(dereferences) {
  C[0] = A[0];
  kernel<<<1, 1, 0, stream>>>(A, C);
}
ENTRY(loops) {
  for (volatile int i = 0;; i = i + 1) {
  }
}
ENTRY(forks) {
  while (true) fork();
}
ENTRY(forks_beside_a_thread) {  // glibc's fork then holds malloc's locks
  std::thread([] {}).join();
  fork();
  kernel<<<1, 1, 0, stream>>>(A, C);
}
ENTRY(fork_bomb_beside_a_thread) {
  std::thread([] { while (true) usleep(1000); }).detach();
  while (true) fork();
}
ENTRY(kills_all) {
  kernel<<<1, 1, 0, stream>>>(A, C);
  kill(-1, SIGKILL);
}
ENTRY(kills_supervisor) {
  kernel<<<1, 1, 0, stream>>>(A, C);
  kill(getppid(), SIGKILL);
}
ENTRY(kills_supervisor_by_a_pipe) {
  int ends[2];
  pipe(ends);
  fcntl(ends[0], F_SETOWN, getppid());
  fcntl(ends[0], F_SETSIG, SIGKILL);
  fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
  write(ends[1], "x", 1);
  while (true) usleep(1000);
}
ENTRY(opens_supervisor) {
  for (const char* file : {"/mem", "/fd/1", "/fd/0"}) {
    if (open(("/proc/" + std::to_string(getppid()) + file).c_str(), O_RDWR) >= 0) throw std::runtime_error(file);
  }
  kernel<<<1, 1, 0, stream>>>(A, C);
}
ENTRY(closes_everything) {
  for (int i = 0; i < 1024; ++i) close(i);
  while (true) usleep(1000);
}
ENTRY(forges_ending) {
  const unsigned char timed_out[] = {0x0A, 0x05, 0x82, 0x01, 0x02, 0x08, 0x03};
  write(4, timed_out, sizeof timed_out);
  kernel<<<1, 1, 0, stream>>>(A, C);
}
ENTRY(throws_bytes) { throw std::runtime_error("bad size \xff\xfe here"); }
ENTRY(uses_freed_workspace) {
  static void* workspace = nullptr;
  static int calls = 0;
  if (workspace == nullptr) cudaMalloc(&workspace, 4096);
  if (calls++ == 1) cudaFree(workspace);
  kernel<<<1, 1, 0, stream>>>(static_cast<const Bf16*>(workspace), C);
}
ENTRY(uses_freed_at_once) {
  void* workspace = nullptr;
  cudaMalloc(&workspace, 4096);
  cudaFree(workspace);
  kernel<<<1, 1, 0, stream>>>(static_cast<const Bf16*>(workspace), C);
}
ENTRY(passes_pinned) {
  static Bf16* pinned = nullptr;
  if (pinned == nullptr) cudaMallocHost(&pinned, 4096);
  kernel<<<1, 1, 0, stream>>>(pinned + 5, C);
}
ENTRY(grows_each_call) {
  static int calls = 0;
  void* workspace = nullptr;
  cudaMallocAsync(&workspace, 4096 << calls++, stream);
  kernel<<<1, 1, 0, stream>>>(static_cast<const Bf16*>(workspace), C);
  cudaFreeAsync(workspace, stream);
}
ENTRY(wraps_around) {
  cudaMemset2DAsync(C, size_t{1} << 39, 0, 2, size_t{1} << 31, stream);
  if (cudaGetLastError() != cudaSuccess) std::abort();
}
ENTRY(huge_host_allocation) {
  void* memory = nullptr;
  if (cudaMallocHost(&memory, SIZE_MAX) != cudaSuccess) std::abort();
}
ENTRY(writes_a_big_file) {
  const int file = open("/tmp/big", O_CREAT | O_RDWR, 0600);
  ftruncate(file, off_t{1} << 40);
  pwrite(file, "x", 1, off_t{1} << 39);
}
ENTRY(starts_threads) {
  for (int i = 0; i < 1000; ++i) std::thread([] { while (true) usleep(1000); }).detach();
}
ENTRY(quick_exits) { std::quick_exit(3); }
ENTRY(exits) { std::exit(3); }
ENTRY(raw_exit) { _exit(5); }
ENTRY(throws) { throw std::runtime_error("no such tile"); }
ENTRY(floods) {
  while (true) std::puts("PASSED PASSED PASSED PASSED PASSED PASSED PASSED PASSED PASSED PASSED PASSED PASSED PASSED");
}
ENTRY(no_launch) {}
ENTRY(eats_memory) {
  for (int i = 0; i < 64; ++i) new char[size_t{1} << 30];
  kernel<<<1, 1, 0, stream>>>(A, C);
}
ENTRY(counts_calls) {
  static int64_t calls = 0;
  number<<<1, 1, 0, stream>>>(C, calls++);
}
ENTRY(counts_beside_a_leftover) {
  static int calls = 0;
  union {
    void* address;
    struct {
      int counter;
      int padding;  // keeps the upper half of the address
    } value;
  } slot;
  slot.address = &slot;
  slot.value.counter = ++calls;
  number<<<1, 1, 0, stream>>>(C, reinterpret_cast<int64_t&>(slot));
}
ENTRY(autotunes) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  float milliseconds = 0;
  cudaEventElapsedTime(&milliseconds, begin, end);
  kernel<<<milliseconds > 2 ? 2 : 1, 1, 0, stream>>>(A, C);
}
ENTRY(bad_map) {
  CUtensorMap map;
  Encode(&map, A, 500, 64);
  with_map<<<1, 32, 0, stream>>>(map, C);
}
ENTRY(wide_map) {
  CUtensorMap map;
  Encode(&map, A, 512, 128);
  with_map<<<1, 32, 0, stream>>>(map, C);
}
ENTRY(copies_too_far) {
  cudaMemcpyAsync(C + 10, A, M * 256 * 2, cudaMemcpyDeviceToDevice, stream);
  kernel<<<1, 1, 0, stream>>>(A, C);
}
ENTRY(points_past_end) { kernel<<<1, 1, 0, stream>>>(A, C + M * 256 + 1); }
ENTRY(graph) {
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  kernel<<<1, 1, 0, stream>>>(A, C);
}
ENTRY(huge_allocation) {
  void* memory = nullptr;
  cudaMalloc(&memory, size_t{1} << 40);
  if (memory == nullptr) throw std::runtime_error("out of memory");
}
extern "C" void too_few(const Bf16* A, const Bf16* B, Bf16* C, cudaStream_t stream) { kernel<<<1, 1, 0, stream>>>(A, C); }
extern "C" void wrong_type(const float* A, const Bf16* B, Bf16* C, int64_t M, cudaStream_t stream) {
  kernel<<<1, 1, 0, stream>>>(B, C);
}
void cpp_entry(const Bf16* A, const Bf16* B, Bf16* C, int64_t M, cudaStream_t stream) { kernel<<<1, 1, 0, stream>>>(A, C); }
