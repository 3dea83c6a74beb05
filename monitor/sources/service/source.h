// What the profiling service says of itself.
#ifndef SASSAY_MONITOR_SOURCES_SERVICE_SOURCE_H_
#define SASSAY_MONITOR_SOURCES_SERVICE_SOURCE_H_

#include <memory>

#include "common/rpc/secure_channel.h"
#include "monitor/sources/our_processes.h"
#include "monitor/sources/service/hold_ledger.h"
#include "monitor/sources/source.h"
#include "monitor/sources/stakes.h"

namespace sassay::monitor {

// "service": Control.StreamTelemetry as samples (telemetry.h), and
//   service.silent_seconds   since the last heartbeat; since the start where there was none. Several times a second.
//   service.started          another instance answers than before (text: its id)
//   service.telemetry_gap    messages that were lost because nobody took them
//   gpu.model                of each GPU that the service has (text), once a minute
//   gpu.released             a hold of this monitor's has gone that `ledger` does not know to have ended
// Tells `ours` who the service's processes are, and `stakes` on which GPUs it works.
//
// Life cycle: a thread follows the stream and connects again when it breaks or is silent for five seconds; the
// destructor ends it. Failure: a service that does not want this client (token, role, version) is an error of the
// reading and no silence: it would not help to restart it.
std::unique_ptr<Source> MakeServiceSource(SecureChannel channel, std::shared_ptr<OurProcesses> ours,
                                          std::shared_ptr<Stakes> stakes, std::shared_ptr<HoldLedger> ledger);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_SOURCES_SERVICE_SOURCE_H_
