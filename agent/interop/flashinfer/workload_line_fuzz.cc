// Lines come from other people's data sets.
#include <cstdint>

#include "agent/interop/flashinfer/workload_line.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)sassay::agent::ParseWorkloadLine({reinterpret_cast<const char*>(data), size});
  return 0;
}
