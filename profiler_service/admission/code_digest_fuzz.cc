// Hostile PTX and ELF files: telling functions apart must not crash or run away.
#include <cstddef>
#include <cstdint>

#include "profiler_service/admission/code_digest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(sassay::admission::PtxCodeDigests(text));
  static_cast<void>(sassay::admission::MachineCodeDigests(text).status());
  return 0;
}
