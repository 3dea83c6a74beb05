// Inspecting and rendering a bundle that somebody sent: no byte string may crash it, and nothing that a terminal obeys
// may come out.
#include <cstdint>
#include <cstdlib>

#include "agent/cli/build/inspect_bundle.h"
#include "agent/render/inspection.h"
#include "common/base/proto_json.h"

namespace sassay::agent {
namespace {

void Check(absl::string_view bytes) {
  const auto none = [](absl::string_view) -> absl::StatusOr<Disassembly> { return absl::NotFoundError("none"); };
  const absl::StatusOr<v1::Inspection> inspection = InspectBundle(bytes, none);
  if (!inspection.ok()) return;
  ToJson(*inspection);
  for (const char c : RenderInspection(*inspection, Style(false))) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') std::abort();
  }
}

}  // namespace
}  // namespace sassay::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sassay::agent::Check(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
