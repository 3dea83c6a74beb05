// Names of kernels are the author's. None may cost more than it promises (the fuzzer bounds memory and time), and none
// may come out longer than 16 KiB.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/demangle/plain_demangle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string symbol = "_Z" + std::string(reinterpret_cast<const char*>(data), size);
  constexpr size_t kMost = 16384;
  if (sassay::PlainDemangle(symbol).size() > (symbol.size() > kMost ? symbol.size() : kMost)) std::abort();
  static_cast<void>(sassay::PlainShortName(symbol));
  return 0;
}
