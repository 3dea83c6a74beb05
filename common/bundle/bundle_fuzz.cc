// Hostile bundles: ParseBundle never crashes, and what it accepts it would write down in exactly the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/bundle/bundle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto bundle = sassay::ParseBundle(bytes);
  if (!bundle.ok()) return 0;
  const auto again = sassay::SerializeBundle(*bundle);
  if (!again.ok() || *again != bytes) std::abort();
  return 0;
}
