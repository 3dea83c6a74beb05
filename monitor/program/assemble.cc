#include "monitor/program/assemble.h"

#include "monitor/sources/host_source.h"
#include "monitor/sources/kernel_log/source.h"
#include "monitor/sources/nvml/sources.h"
#include "monitor/sources/service/source.h"
#include "monitor/sources/xid_filter.h"

namespace sassay::monitor {

std::vector<std::unique_ptr<Source>> MakeSources(const SecureChannel& channel, const std::filesystem::path& state,
                                                 const std::filesystem::path& folder, const Shared& shared) {
  const auto session = std::make_shared<nvml::Session>();
  const auto filter = std::make_shared<XidFilter>();
  KernelLogOptions kernel_log;
  kernel_log.position_file = folder / "kernel_log.position";
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(nvml::MakeClockSource(session, shared.directory, shared.stakes));
  sources.push_back(nvml::MakeStateSource(session, shared.ours, shared.stakes));
  sources.push_back(nvml::MakeEventSource(session, filter));
  sources.push_back(MakeKernelLogSource(kernel_log, shared.directory, filter));
  sources.push_back(MakeServiceSource(channel, shared.ours, shared.stakes, shared.ledger));
  sources.push_back(MakeHostSource({{state, folder}}));
  return sources;
}

}  // namespace sassay::monitor
