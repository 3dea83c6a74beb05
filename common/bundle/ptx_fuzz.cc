// Hostile PTX headers and names: neither the word splitter nor the demangler may crash or run away.
#include <cstddef>
#include <cstdint>

#include "common/bundle/ptx.h"
#include "common/demangle/demangle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(sassay::ParsePtxHeader(text));
  for (const std::string& entry : sassay::PtxEntries(text)) static_cast<void>(sassay::ShortKernelName(entry));
  static_cast<void>(sassay::CheckPtxStrings(text));
  static_cast<void>(sassay::ShortKernelName(text));
  return 0;
}
