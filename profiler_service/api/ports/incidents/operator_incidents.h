// What an operator does with a GPU, as incidents: whoever looks for the reason of a gap finds it where the monitor's
// own are (`sassay-admin incidents`), and not in the audit log alone. They exclude nothing: an operator who wants turns
// to be run again says so with ExcludeTurns.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_INCIDENTS_OPERATOR_INCIDENTS_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_INCIDENTS_OPERATOR_INCIDENTS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "profiler_service/store/records.h"
#include "sassay/v1/control.pb.h"

namespace sassay::api {

// Who did something, when and why.
struct OperatorAct {
  std::string actor;
  std::string reason;
  absl::Time at;
};

// The id of an incident to come. A quarantine's stands in its hold, which is durable: so the incident can be ended
// after a restart, too.
std::string NewOperatorIncidentId();

// Revision 1 of the incident that such a hold begins.
sassay::v1::Incident QuarantineIncident(const store::Hold& hold);

// The last revisions of those operators' incidents whose holds are in `before` and not in `after`.
std::vector<sassay::v1::Incident> EndedIncidents(const std::vector<sassay::v1::Gpu>& before,
                                                 const std::vector<sassay::v1::Gpu>& after, const OperatorAct& act);

// A release of what the monitor, or an operator's pause, held: an incident of one moment.
sassay::v1::Incident ReleaseIncident(const sassay::v1::Gpu& before, const OperatorAct& act);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_INCIDENTS_OPERATOR_INCIDENTS_H_
