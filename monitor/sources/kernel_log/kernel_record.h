// One record of /dev/kmsg, and what NVIDIA's driver says there.
//
// Why here: the kernel log names the process that an Xid hit, tells of Xids where NVML hangs, and is what is left after
// the GPU fell off the bus. It is foreign text: any process of root can write to it, so whatever does not parse is
// nothing.
#ifndef SASSAY_MONITOR_SOURCES_KERNEL_LOG_KERNEL_RECORD_H_
#define SASSAY_MONITOR_SOURCES_KERNEL_LOG_KERNEL_RECORD_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace sassay::monitor {

// "prio,sequence,microseconds,flags[,…];text\n KEY=value\n…".
struct KernelRecord {
  uint64_t sequence = 0;
  absl::Duration since_boot;
  bool from_kernel = false;  // facility 0: not written to /dev/kmsg by a process
  std::string text;          // first line
};

// "NVRM: Xid (PCI:0000:18:00): 31, pid=1234, name=python3, Ch 00000010, …", with and without PCI:, pid, name and the
// MIG instance.
struct XidLine {
  std::string pci;   // normalized (nvml::NormalPci)
  int code = 0;      // 1 … 9999
  int64_t pid = 0;   // 0 if the line names none
  std::string name;  // of the process; empty if the line names none
};

// "NVRM: GPU at PCI:0000:18:00: GPU-6f3e…": which GPU an address is.
struct GpuLine {
  std::string pci;
  std::string uuid;
};

// Pure; nullopt for anything else.
absl::optional<KernelRecord> ParseKernelRecord(absl::string_view bytes);
absl::optional<XidLine> ParseXidLine(absl::string_view text);
absl::optional<GpuLine> ParseGpuLine(absl::string_view text);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_SOURCES_KERNEL_LOG_KERNEL_RECORD_H_
