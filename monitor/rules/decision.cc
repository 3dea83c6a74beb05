#include "monitor/rules/decision.h"

#include <array>

namespace sassay::monitor {
namespace {

constexpr std::array<const char*, 9> kNames = {"PAUSE",           "RESUME",          "RELEASE",
                                               "QUARANTINE",      "EXCLUDE",         "RUN_CANARY",
                                               "RESTART_WORKERS", "RESTART_SERVICE", "RECORD_INCIDENT"};

int64_t Kept(absl::Time time) {
  return time == absl::InfiniteFuture() || time == absl::InfinitePast() ? 0 : absl::ToUnixNanos(time);
}

DecisionKind KindOf(const std::string& name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return static_cast<DecisionKind>(i);
  }
  return DecisionKind::kRecordIncident;
}

}  // namespace

const char* DecisionKindName(DecisionKind kind) { return kNames[static_cast<size_t>(kind)]; }

v1::PendingDecision ToProto(const Decision& decision) {
  v1::PendingDecision kept;
  kept.set_id(decision.id);
  kept.set_kind(DecisionKindName(decision.kind));
  kept.set_uuid(decision.gpu);
  kept.set_incident_id(decision.incident_id);
  kept.set_reason(decision.reason);
  kept.set_state(decision.state);
  kept.set_from_ns(Kept(decision.from));
  kept.set_to_ns(Kept(decision.to));
  if (decision.kind == DecisionKind::kRecordIncident) *kept.mutable_incident() = decision.incident;
  return kept;
}

Decision FromProto(const v1::PendingDecision& kept) {
  Decision decision;
  decision.id = kept.id();
  decision.kind = KindOf(kept.kind());
  decision.gpu = kept.uuid();
  decision.incident_id = kept.incident_id();
  decision.reason = kept.reason();
  decision.state = kept.state();
  if (kept.from_ns() != 0) decision.from = absl::FromUnixNanos(kept.from_ns());
  if (kept.to_ns() != 0) decision.to = absl::FromUnixNanos(kept.to_ns());
  decision.incident = kept.incident();
  return decision;
}

}  // namespace sassay::monitor
