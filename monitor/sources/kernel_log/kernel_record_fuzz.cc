#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "monitor/sources/kernel_log/kernel_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto record = sassay::monitor::ParseKernelRecord(bytes);
  const auto xid = sassay::monitor::ParseXidLine(record ? absl::string_view(record->text) : bytes);
  if (xid && (xid->code <= 0 || xid->pci.size() != 10 || xid->pid < 0)) std::abort();
  const auto gpu = sassay::monitor::ParseGpuLine(bytes);
  if (gpu && gpu->uuid.size() != 40) std::abort();
  return 0;
}
