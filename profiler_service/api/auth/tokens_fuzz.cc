#include <cstddef>
#include <cstdint>

#include "profiler_service/api/auth/tokens.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)sassay::api::ParseTokenFile(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
