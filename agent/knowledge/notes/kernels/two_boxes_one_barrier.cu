// Copies a matrix of floats, 64 columns and any number of rows, through a ring of two stages. Each
// stage holds two boxes of 32 columns; their bytes are announced together.
#include <sassay/ptx/mbarrier.cuh>
#include <sassay/ptx/tma.cuh>

using namespace sassay::ptx;

constexpr int kColumns = 64, kRows = 16, kStages = 2;

struct Shared {
  float half[kStages][2][kRows * kColumns / 2];
  uint64_t full[kStages], empty[kStages];
};

__global__ void Copy(const __grid_constant__ CUtensorMap map, float* out, int rows) {
  Shared& shared = dynamic_smem<Shared>();
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      mbarrier_init(&shared.full[i], 1);   // the producer's arrival
      mbarrier_init(&shared.empty[i], 1);  // one lane of the consumers' warp
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  Ring<kStages> place;
  for (int row = 0; row < rows; row += kRows, place.advance()) {  // the same steps in both roles
    if (warp_id() == 0) {
      if (elect_one()) {
        mbarrier_wait(&shared.empty[place.stage], place.parity ^ 1);
        mbarrier_arrive_expect_tx(&shared.full[place.stage], sizeof shared.half[0]);  // both boxes, whole
        for (int i = 0; i < 2; ++i)
          tma_load(shared.half[place.stage][i], &map, &shared.full[place.stage], i * kColumns / 2, row);
      }
    } else {
      mbarrier_wait(&shared.full[place.stage], place.parity);
      for (int i = lane_id(); i < kRows * kColumns; i += 32) {
        const int r = i / kColumns, c = i % kColumns;
        if (row + r < rows) out[(row + r) * kColumns + c] = shared.half[place.stage][c / 32][r * kColumns / 2 + c % 32];
      }
      __syncwarp();
      if (elect_one()) mbarrier_arrive(&shared.empty[place.stage]);
    }
    __syncwarp();
  }
}

extern "C" void run(const float* A, float* B, int64_t rows, cudaStream_t stream) {
  const CUtensorMap map = make_tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, A, {kColumns, rows}, {kColumns * 4},
                                          {kColumns / 2, kRows}, Swizzle::none);
  Copy<<<1, 64, sizeof(Shared), stream>>>(map, B, static_cast<int>(rows));
}
