#include <cstddef>
#include <cstdint>

#include "profiler_service/judge/inputs/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)sassay::judge::ParseSafetensors(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
