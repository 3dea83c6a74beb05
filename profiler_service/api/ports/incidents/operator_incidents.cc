#include "profiler_service/api/ports/incidents/operator_incidents.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/random.h"

namespace sassay::api {
namespace {

using sassay::v1::Gpu;
using sassay::v1::Incident;

constexpr char kPrefix[] = "operator-";

Incident NewIncident(const std::string& id, const std::string& gpu, absl::Time from) {
  Incident incident;
  incident.set_id(id);
  incident.set_revision(1);
  incident.set_uuid(gpu);
  incident.set_rule("operator");
  incident.set_severity(sassay::v1::SEVERITY_INFO);
  SetTimestamp(from, *incident.mutable_from());
  return incident;
}

std::string Deed(absl::string_view what, const std::string& actor, const std::string& reason) {
  return absl::StrCat(what, " by ", actor, reason.empty() ? "" : ": ", reason);
}

Incident Quarantined(const std::string& id, const std::string& gpu, absl::Time since, const std::string& actor,
                     const std::string& reason) {
  Incident incident = NewIncident(id, gpu, since);
  incident.set_after(sassay::v1::GPU_STATE_QUARANTINED);
  incident.set_reason(Deed("quarantined", actor, reason));
  incident.add_actions(incident.reason());
  return incident;
}

std::set<std::string> IncidentIds(const std::vector<Gpu>& gpus) {
  std::set<std::string> ids;
  for (const Gpu& gpu : gpus) {
    for (const sassay::v1::Hold& hold : gpu.holds()) ids.insert(hold.incident_id());
  }
  return ids;
}

sassay::v1::GpuState StateOf(const std::vector<Gpu>& gpus, const std::string& uuid) {
  for (const Gpu& gpu : gpus) {
    if (gpu.uuid() == uuid) return gpu.state();
  }
  return sassay::v1::GPU_STATE_UNSPECIFIED;
}

}  // namespace

std::string NewOperatorIncidentId() { return absl::StrCat(kPrefix, RandomHex(8)); }

Incident QuarantineIncident(const store::Hold& hold) {
  return Quarantined(hold.incident_id, hold.gpu, hold.since, hold.actor, hold.reason);
}

std::vector<Incident> EndedIncidents(const std::vector<Gpu>& before, const std::vector<Gpu>& after,
                                     const OperatorAct& act) {
  const std::set<std::string> still = IncidentIds(after);
  std::vector<Incident> ended;
  for (const Gpu& gpu : before) {
    for (const sassay::v1::Hold& hold : gpu.holds()) {
      if (!absl::StartsWith(hold.incident_id(), kPrefix) || still.count(hold.incident_id()) > 0) continue;
      Incident incident =
          Quarantined(hold.incident_id(), gpu.uuid(), TimeOf(hold.since()), hold.actor(), hold.reason());
      incident.set_revision(2);
      incident.set_before(sassay::v1::GPU_STATE_QUARANTINED);
      incident.set_after(StateOf(after, gpu.uuid()));
      incident.add_actions(Deed("ended", act.actor, act.reason));
      SetTimestamp(act.at, *incident.mutable_to());
      ended.push_back(std::move(incident));
    }
  }
  return ended;
}

Incident ReleaseIncident(const Gpu& before, const OperatorAct& act) {
  Incident incident = NewIncident(NewOperatorIncidentId(), before.uuid(), act.at);
  SetTimestamp(act.at, *incident.mutable_to());
  incident.set_before(before.state());
  incident.set_after(sassay::v1::GPU_STATE_HEALTHY);
  incident.set_reason(Deed("released", act.actor, act.reason));
  incident.add_actions(absl::StrCat(incident.reason(), "; it was ", before.reason()));
  return incident;
}

}  // namespace sassay::api
