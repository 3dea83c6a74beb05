// What the engine wants done: the only thing that leaves it.
//
// Why: the engine cannot act (it has no I/O), and whoever acts does not decide. A decision is pending until the engine
// is told what came of it, so that nothing is lost where the service cannot be reached.
#ifndef SASSAY_MONITOR_RULES_DECISION_H_
#define SASSAY_MONITOR_RULES_DECISION_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "sassay/v1/control.pb.h"
#include "sassay/v1/monitor_state.pb.h"

namespace sassay::monitor {

enum class DecisionKind {
  kPause,           // Control.PauseDispatch: gpu, state, reason, incident_id
  kResume,          // Control.ResumeDispatch of holder "monitor": gpu
  kRelease,         // Control.ReleaseGpu with force: gpu, reason. An operator asked, and the canary was clean
  kQuarantine,      // Control.QuarantineGpu: gpu, reason, incident_id
  kExclude,         // Control.ExcludeTurns: gpu, from, to, reason, incident_id
  kRunCanary,       // Control.RunCanary: gpu. What it took comes back as samples, see Engine::Acknowledge
  kRestartWorkers,  // Control.RestartWorkers: gpu, reason
  kRestartService,  // the supervised process, or systemd: reason
  kRecordIncident,  // Control.RecordIncident: incident
};

// "PAUSE", "RECORD_INCIDENT"; constant.
const char* DecisionKindName(DecisionKind kind);

// A value. Carrying one out twice does no harm: whoever was killed between doing and acknowledging gets it again.
struct Decision {
  uint64_t id = 0;  // rises; the same decision keeps its id, also across a restart of the monitor
  DecisionKind kind = DecisionKind::kRecordIncident;
  std::string gpu;  // NVML's UUID; empty for the service, the host, or every GPU
  std::string incident_id;
  std::string reason;                              // one line
  v1::GpuState state = v1::GPU_STATE_UNSPECIFIED;  // kPause: COOLING or PAUSED
  absl::Time from = absl::InfinitePast();          // kExclude: window by the wall clock …
  absl::Time to = absl::InfiniteFuture();          // … InfiniteFuture while it lasts
  v1::Incident incident;                           // kRecordIncident: the whole revision
};

// As it is kept in the journal. FromProto of an unknown kind is an incident to record, which does no harm.
v1::PendingDecision ToProto(const Decision& decision);
Decision FromProto(const v1::PendingDecision& kept);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_RULES_DECISION_H_
