// Hostile workload names and definitions. The first byte chooses: even, a name for the built-in catalogue; odd, the
// JSON of a definition, which is then given axes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/workload/catalog.h"

namespace {

void TryName(absl::string_view name) {
  const auto workload = sassay::WorkloadCatalog::BuiltIn().Resolve(name);
  if (!workload.ok()) return;
  // The name that comes back is canonical: it resolves to the same workload.
  const auto again = sassay::WorkloadCatalog::BuiltIn().Resolve(workload->name());
  if (!again.ok() || again->name() != workload->name()) std::abort();
  for (const auto& tensor : workload->inputs()) {
    if (sassay::TensorBytes(tensor) > sassay::kMaxTensorBytes) std::abort();
  }
}

void TryDefinition(absl::string_view json) {
  const auto definition = sassay::ParseDefinition(json);
  if (!definition.ok()) return;
  // What was read is written and read again: nothing changes.
  const auto again = sassay::ParseDefinition(definition->canonical_json);
  if (!again.ok() || again->sha256 != definition->sha256) std::abort();
  std::map<std::string, int64_t> axes;
  for (const sassay::AxisDefinition& axis : definition->axes) {
    if (!axis.value.has_value()) axes[axis.name] = 256;
  }
  static_cast<void>(sassay::MakeWorkload(*definition, axes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  data[0] % 2 == 0 ? TryName(text) : TryDefinition(text);
  return 0;
}
