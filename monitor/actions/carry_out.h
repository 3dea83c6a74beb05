// One decision, carried out: which call it is, and what came of it.
#ifndef SASSAY_MONITOR_ACTIONS_CARRY_OUT_H_
#define SASSAY_MONITOR_ACTIONS_CARRY_OUT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "monitor/actions/control_client.h"
#include "monitor/rules/decision.h"
#include "monitor/sources/service/hold_ledger.h"
#include "monitor/sources/source.h"

namespace sassay::monitor {

// What came of a decision.
struct Outcome {
  uint64_t id = 0;
  DecisionKind kind = DecisionKind::kRecordIncident;
  absl::Status status;
  // What the canary took (canary.tensor_ns, canary.memory_ns), or that the judge could not run it (canary.failed 1) or
  // that the GPU computed wrongly (canary.failed 2).
  std::vector<Sample> samples{};
  v1::Incident incident{};  // kRecordIncident: what was recorded
};

// How the service process is ended and started.
using RestartService = std::function<absl::Status(const std::string& reason)>;

// Makes the call that `decision` asks for, once; blocks until its deadline at most (5 s; a canary's own). Doing it
// twice does no harm. Thread-safe.
Outcome CarryOut(const Decision& decision, const ControlClient& client, const RestartService& restart,
                 HoldLedger& ledger);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_ACTIONS_CARRY_OUT_H_
