// The sources of this machine, and what they share.
#ifndef SASSAY_MONITOR_PROGRAM_ASSEMBLE_H_
#define SASSAY_MONITOR_PROGRAM_ASSEMBLE_H_

#include <filesystem>
#include <memory>
#include <vector>

#include "common/rpc/secure_channel.h"
#include "monitor/sources/nvml/gpus.h"
#include "monitor/sources/our_processes.h"
#include "monitor/sources/service/hold_ledger.h"
#include "monitor/sources/source.h"
#include "monitor/sources/stakes.h"

namespace sassay::monitor {

// Shared by sources, executor and board; outlives a source that hangs.
struct Shared {
  std::shared_ptr<nvml::Directory> directory = std::make_shared<nvml::Directory>();
  std::shared_ptr<OurProcesses> ours = std::make_shared<OurProcesses>();
  std::shared_ptr<Stakes> stakes = std::make_shared<Stakes>();
  std::shared_ptr<HoldLedger> ledger = std::make_shared<HoldLedger>();
};

// All sources. `folder` is the monitor's own; its disk and the service's, `state`, are watched.
std::vector<std::unique_ptr<Source>> MakeSources(const SecureChannel& channel, const std::filesystem::path& state,
                                                 const std::filesystem::path& folder, const Shared& shared);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_PROGRAM_ASSEMBLE_H_
