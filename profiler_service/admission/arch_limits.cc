#include "profiler_service/admission/arch_limits.h"

#include <algorithm>

namespace sassay::admission {
namespace {

constexpr ArchLimits kArchLimits[] = {
    {80, 166912, 167936, 1024, 2048, 32, 65536, false}, {86, 101376, 102400, 1024, 1536, 16, 65536, false},
    {89, 101376, 102400, 1024, 1536, 24, 65536, false}, {90, 232448, 233472, 1024, 2048, 32, 65536, true},
    {100, 232448, 233472, 1024, 2048, 32, 65536, true}, {103, 232448, 233472, 1024, 2048, 32, 65536, true},
    {120, 101376, 102400, 1024, 1536, 24, 65536, true},
};

constexpr uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

uint64_t BlocksByRegisters(const ArchLimits& arch, const CubinKernel& kernel, uint64_t warps) {
  if (kernel.registers == 0) return arch.blocks_per_multiprocessor;
  const uint64_t registers_per_warp = RoundUp(uint64_t{kernel.registers} * kWarpThreads, 256);
  return arch.registers_per_multiprocessor / registers_per_warp / 4 * 4 / warps;
}

}  // namespace

const ArchLimits* FindArchLimits(uint32_t sm) {
  const auto* found = std::find_if(std::begin(kArchLimits), std::end(kArchLimits),
                                   [sm](const ArchLimits& arch) { return arch.sm == sm; });
  return found == std::end(kArchLimits) ? nullptr : found;
}

uint32_t BlocksPerMultiprocessor(const ArchLimits& arch, const CubinKernel& kernel, uint32_t threads,
                                 uint32_t dynamic_shared_bytes) {
  const uint64_t warps = std::max<uint64_t>(1, (threads + uint64_t{kWarpThreads} - 1) / kWarpThreads);
  const uint64_t shared =
      RoundUp(uint64_t{kernel.static_shared_bytes} + dynamic_shared_bytes + arch.reserved_shared_bytes_per_block, 128);
  return static_cast<uint32_t>(
      std::min<uint64_t>({arch.blocks_per_multiprocessor, arch.threads_per_multiprocessor / kWarpThreads / warps,
                          BlocksByRegisters(arch, kernel, warps), arch.shared_bytes_per_multiprocessor / shared}));
}

}  // namespace sassay::admission
