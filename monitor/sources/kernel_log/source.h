// Xids from the kernel log.
#ifndef SASSAY_MONITOR_SOURCES_KERNEL_LOG_SOURCE_H_
#define SASSAY_MONITOR_SOURCES_KERNEL_LOG_SOURCE_H_

#include <filesystem>
#include <memory>

#include "monitor/sources/nvml/gpus.h"
#include "monitor/sources/source.h"
#include "monitor/sources/xid_filter.h"

namespace sassay::monitor {

struct KernelLogOptions {
  std::filesystem::path device = "/dev/kmsg";
  // Where to remember how far the log was read, so that what came while no monitor ran is not lost; empty: nowhere.
  std::filesystem::path position_file = {};
  std::filesystem::path boot_id_file = "/proc/sys/kernel/random/boot_id";
};

// "kernel_log": gpu.xid (text: the line) as the driver writes them. UNAVAILABLE where the log may not be read (it needs
// CAP_SYSLOG where kernel.dmesg_restrict is 1). Only what the kernel itself wrote counts. A line about a PCI address
// that `directory` does not know yet waits ten seconds for it. At the first start the log is read from its end on.
std::unique_ptr<Source> MakeKernelLogSource(KernelLogOptions options, std::shared_ptr<nvml::Directory> directory,
                                            std::shared_ptr<XidFilter> filter);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_SOURCES_KERNEL_LOG_SOURCE_H_
