// Hostile cubins: Cubin::Parse never reads outside, and its answers are consistent.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/bundle/cubin.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto cubin = sassay::Cubin::Parse(absl::string_view(reinterpret_cast<const char*>(data), size));
  if (!cubin.ok()) return 0;
  for (const sassay::CubinKernel& kernel : cubin->kernels()) {
    if (cubin->FindKernel(kernel.symbol) != &kernel) std::abort();
    uint64_t end = 0;
    for (const sassay::KernelParameter& parameter : kernel.parameters) {
      if (parameter.offset_bytes < end) std::abort();
      end = uint64_t{parameter.offset_bytes} + parameter.size_bytes;
    }
    if (end > kernel.parameter_bytes) std::abort();
  }
  for (const sassay::CubinVariable& variable : cubin->variables()) {
    if (cubin->FindVariable(variable.name) != &variable) std::abort();
  }
  return 0;
}
