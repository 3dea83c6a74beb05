// expect: COMPILE_ERROR NVCC_ERROR,COMPILE_TIMEOUT,COMPILE_LIMIT workload=gemm_n256_k256/M=64 compile_deadline=5s
// Templates that double at every level.
template <int kDepth, int kSide>
struct Bomb {
  static constexpr long value = Bomb<kDepth - 1, 2 * kSide>::value + Bomb<kDepth - 1, 2 * kSide + 1>::value;
};
template <int kSide>
struct Bomb<0, kSide> {
  static constexpr long value = 1;
};
static_assert(Bomb<26, 0>::value > 0);
extern "C" void run() {}
