// The host that service and monitor run on: disk, memory, load.
#ifndef SASSAY_MONITOR_SOURCES_HOST_SOURCE_H_
#define SASSAY_MONITOR_SOURCES_HOST_SOURCE_H_

#include <filesystem>
#include <memory>

#include "monitor/sources/source.h"

namespace sassay::monitor {

struct HostOptions {
  // Folders whose disks count: the fullest of them is reported (text: which).
  std::vector<std::filesystem::path> folders;
  std::filesystem::path proc = "/proc";
};

// "host": host.disk_free_ratio, host.memory_available_ratio, host.load_per_cpu, every two seconds. What cannot be read
// is left out.
std::unique_ptr<Source> MakeHostSource(HostOptions options);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_SOURCES_HOST_SOURCE_H_
