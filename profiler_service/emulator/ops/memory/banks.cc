#include "profiler_service/emulator/ops/memory/banks.h"

#include <algorithm>
#include <bit>

#include "profiler_service/emulator/exec/block.h"

namespace sassay::emulator {
namespace {

constexpr uint32_t kBanks = 32, kWordBytes = 4;

// Different words in the fullest bank.
uint32_t Fullest(const uint32_t (&offsets)[kLanes], uint32_t mask, uint32_t bytes) {
  uint32_t words[kBanks][kLanes], counts[kBanks] = {}, fullest = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const uint32_t first = offsets[std::countr_zero(rest)];
    for (uint32_t word = first / kWordBytes; word <= (first + bytes - 1) / kWordBytes; ++word) {
      uint32_t(&known)[kLanes] = words[word % kBanks];
      uint32_t& count = counts[word % kBanks];
      if (count == kLanes || std::find(known, known + count, word) != known + count) continue;
      known[count++] = word;
      fullest = std::max(fullest, count);
    }
  }
  return fullest;
}

}  // namespace

Passes PassesOver(const uint32_t (&offsets)[kLanes], uint32_t mask, uint32_t bytes) {
  const uint32_t together = kLanes * kWordBytes / std::clamp(std::bit_ceil(bytes), kWordBytes, 16u);
  const uint32_t ones = together == kLanes ? ~0u : (1u << together) - 1;
  Passes passes;
  for (uint32_t first = 0; first < kLanes; first += together) {
    const uint32_t group = mask & ones << first;
    if (group == 0) continue;
    passes.taken += Fullest(offsets, group, bytes);
    ++passes.least;
  }
  return passes;
}

void CountPasses(Warp& warp, const Inst& inst, const Lanes& lanes, uint32_t bytes) {
  const uint32_t here = lanes.shared & ~lanes.remote;
  if (here == 0 || bytes == 0) return;
  uint32_t offsets[kLanes] = {};
  for (uint32_t rest = here; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    offsets[lane] = static_cast<uint32_t>(lanes.at[lane] - warp.block().shared().data());
  }
  const Passes passes = PassesOver(offsets, here, bytes);
  Count& count = warp.block().counts()[inst.id];
  count.passes += passes.taken;
  count.least_passes += passes.least;
}

}  // namespace sassay::emulator
