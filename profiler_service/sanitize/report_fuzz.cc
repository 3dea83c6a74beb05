#include <cstddef>
#include <cstdint>

#include "profiler_service/sanitize/report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  sassay::worker::Placement placement;
  placement.set_buffer("C");
  placement.set_address(0x7f0000000000);
  placement.set_size_bytes(4096);
  for (const auto tool : sassay::sanitize::ToolsOf(sassay::v1::SANITIZE_POLICY_FULL)) {
    (void)sassay::sanitize::ParseReport(bytes, tool, {placement}, sassay::v1::Bundle());
  }
  (void)sassay::sanitize::ParsePrinted(bytes, {placement}, sassay::v1::Bundle());
  (void)sassay::sanitize::ParseSummary(bytes);
  return 0;
}
