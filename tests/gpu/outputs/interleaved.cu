// y = x through tensor maps of interleaved layouts: rows 0 to 127 by slices of 16 bytes, the others by slices of 32.
// Workload: copy_r256_c512.
#include <sassay/ptx/mbarrier.cuh>
#include <sassay/ptx/tma.cuh>

using namespace sassay::ptx;

constexpr int kColumns = 512, kRowBytes = 4 * kColumns, kSlices = 4;  // rows that count as slices of channels

struct Shared {
  char box[4096];
  uint64_t bar;
};

// Half a row of each of two N: W is the row, the slice is the row's number modulo 4, N the number divided by 4.
__global__ void Boxes(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to, int half) {
  Shared& shared = dynamic_smem<Shared>();
  if (threadIdx.x == 0) {
    mbarrier_init(&shared.bar, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(&shared.bar, kRowBytes);
    tma_load(shared.box, &from, &shared.bar, static_cast<int>(blockIdx.x) * half, static_cast<int>(blockIdx.y),
             2 * static_cast<int>(blockIdx.z));
    mbarrier_wait(&shared.bar, 0);
    tma_store(&to, shared.box, static_cast<int>(blockIdx.x) * half, static_cast<int>(blockIdx.y),
              2 * static_cast<int>(blockIdx.z));
    tma_commit_group();
    tma_wait_group<0>();
  }
}

static CUtensorMap Map(const int32_t* base, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, int slice) {
  CUtensorMap map;
  const cuuint32_t across = static_cast<cuuint32_t>(kRowBytes / slice);
  const cuuint64_t extents[] = {across, kSlices, 128 / kSlices}, strides[] = {kRowBytes, kSlices * kRowBytes};
  const cuuint32_t box[] = {across / 2, static_cast<cuuint32_t>(slice / 4), 2}, steps[] = {1, 1, 1};
  cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 3, const_cast<int32_t*>(base), extents, strides, box,
                         steps, interleave, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

extern "C" void run(const int32_t* x, int32_t* y, cudaStream_t stream) {
  const auto copy = [&](int first_row, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, int slice) {
    const int64_t at = int64_t{first_row} * kColumns;
    Boxes<<<dim3(2, kSlices, 128 / kSlices / 2), 32, sizeof(Shared) + 1024, stream>>>(
        Map(x + at, interleave, swizzle, slice), Map(y + at, interleave, swizzle, slice), kRowBytes / slice / 2);
  };
  copy(0, CU_TENSOR_MAP_INTERLEAVE_16B, CU_TENSOR_MAP_SWIZZLE_NONE, 16);
  copy(128, CU_TENSOR_MAP_INTERLEAVE_32B, CU_TENSOR_MAP_SWIZZLE_32B, 32);
}
