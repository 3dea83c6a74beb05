// Sources come from models: whatever they hold, normalising ends and grows nothing.
#include <cstdint>
#include <cstdlib>

#include "agent/dataset/normalise.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto language : {sassay::agent::SourceLanguage::kCuda, sassay::agent::SourceLanguage::kPython}) {
    if (sassay::agent::NormalisedSource(text, language).size() > size + 1) std::abort();
  }
  return 0;
}
