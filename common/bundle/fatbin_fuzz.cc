// Hostile fat binaries, compressed ones included.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/bundle/fatbin.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kLimit = 1 << 20;
  const auto entries = sassay::ParseFatbin(absl::string_view(reinterpret_cast<const char*>(data), size), kLimit);
  if (!entries.ok()) return 0;
  uint64_t total = 0;
  for (const sassay::FatbinEntry& entry : *entries) total += entry.payload.size();
  if (total > kLimit) std::abort();
  return 0;
}
