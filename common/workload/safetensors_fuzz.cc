#include <cstddef>
#include <cstdint>

#include "common/workload/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)sassay::ParseSafetensors(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
