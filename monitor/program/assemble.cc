#include "monitor/program/assemble.h"

#include "monitor/sources/host_source.h"
#include "monitor/sources/kernel_log/source.h"
#include "monitor/sources/nvml/sources.h"
#include "monitor/sources/service/source.h"
#include "monitor/sources/xid_filter.h"

namespace sassay::monitor {

std::vector<std::unique_ptr<Source>> MakeSources(const SecureChannel& channel, const std::filesystem::path& state,
                                                 const std::filesystem::path& folder, const Shared& shared) {
  const auto filter = std::make_shared<XidFilter>();
  KernelLogOptions kernel_log;
  kernel_log.position_file = folder / "kernel_log.position";
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(nvml::MakeClockSource(shared.directory));
  sources.push_back(nvml::MakeStateSource(shared.ours));
  sources.push_back(nvml::MakeEventSource(filter));
  sources.push_back(MakeKernelLogSource(kernel_log, shared.directory, filter));
  sources.push_back(MakeServiceSource(channel, shared.ours, shared.ledger));
  sources.push_back(MakeHostSource({{state, folder}}));
  return sources;
}

}  // namespace sassay::monitor
