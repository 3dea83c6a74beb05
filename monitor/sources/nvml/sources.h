// What NVML says of every GPU, as three sources: what slows it down, its errors and processes, and Xid events.
//
// Why three: each has a thread of its own, so that a slow or hanging call of one kind keeps nothing else waiting. How
// often a GPU is read depends on whether work is at stake there. docs/monitor.md has the signals. The first that is
// read opens the session that they share, and tries again later where there is no driver.
#ifndef SASSAY_MONITOR_SOURCES_NVML_SOURCES_H_
#define SASSAY_MONITOR_SOURCES_NVML_SOURCES_H_

#include <memory>
#include <string>

#include "monitor/sources/nvml/gpus.h"
#include "monitor/sources/nvml/session.h"
#include "monitor/sources/our_processes.h"
#include "monitor/sources/source.h"
#include "monitor/sources/stakes.h"
#include "monitor/sources/xid_filter.h"

namespace sassay::monitor::nvml {

// "nvml": clocks, reasons and their counters, power, temperature, margin. Tells `directory` which GPUs there are.
std::unique_ptr<Source> MakeClockSource(std::shared_ptr<Session> session, std::shared_ptr<Directory> directory,
                                        std::shared_ptr<Stakes> stakes);

// "nvml_state": ECC, row remapping, PCIe replays, utilization, power limit, and processes that are not `ours`.
std::unique_ptr<Source> MakeStateSource(std::shared_ptr<Session> session, std::shared_ptr<OurProcesses> ours,
                                        std::shared_ptr<Stakes> stakes);

// "nvml_events": Xids that `filter` has not seen in the kernel log.
std::unique_ptr<Source> MakeEventSource(std::shared_ptr<Session> session, std::shared_ptr<XidFilter> filter);

}  // namespace sassay::monitor::nvml

#endif  // SASSAY_MONITOR_SOURCES_NVML_SOURCES_H_
