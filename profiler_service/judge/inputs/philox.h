// Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC'11): random numbers as a pure
// function of (key, counter), so that any element of any tensor can be made by any thread, in any order, and again.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_INPUTS_PHILOX_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_INPUTS_PHILOX_H_

#include <array>
#include <cstdint>

namespace sassay::judge {

using PhiloxBlock = std::array<uint32_t, 4>;

// 128 random bits.
inline PhiloxBlock Philox(uint64_t key, PhiloxBlock counter) {
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter[0], p1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return counter;
}

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_INPUTS_PHILOX_H_
