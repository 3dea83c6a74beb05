// What the store knows, as sassay.v1.Cluster says it, and back: shared by the node's end and the front end's.
#ifndef SASSAY_PROFILER_SERVICE_CLUSTER_CONVERT_H_
#define SASSAY_PROFILER_SERVICE_CLUSTER_CONVERT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "profiler_service/store/records.h"
#include "profiler_service/store/store.h"
#include "sassay/v1/cluster.pb.h"

namespace sassay::cluster {

// 1 to 64 letters, digits, '.', '_' or '-'. INVALID_ARGUMENT names `field`.
absl::Status CheckNodeName(absl::string_view field, const std::string& name);

// At a node a lease's owner is the number of the call that took it; a front end puts the node's names before it. A
// lease with any other owner gets the number 0, which nobody has.
sassay::v1::LeaseId LeaseIdOf(const store::Lease& lease);

sassay::v1::Leased ToProto(const store::Lease& lease, uint64_t number, absl::Time now);
// `now` is the node's: the lease ends by its clock.
store::Lease FromProto(const sassay::v1::Leased& leased, absl::Time now);

sassay::v1::EndingFacts ToProto(const store::Ending& ending);
store::Ending FromProto(const sassay::v1::EndingFacts& ending);

sassay::v1::Window ToProto(const store::BadWindow& window);
store::BadWindow FromProto(const sassay::v1::Window& window);

sassay::v1::HoldOfGpu ToProto(const store::Hold& hold);
store::Hold FromProto(const sassay::v1::HoldOfGpu& hold);

sassay::v1::ProvisionalTiming ToProto(const store::Provisional& timing);
store::Provisional FromProto(const sassay::v1::ProvisionalTiming& timing);

// A node says how its attempts end; that its process was killed or crashed is for others to say. INVALID_ARGUMENT.
absl::StatusOr<sassay::v1::AttemptEnd> ToProto(store::Ended ended);
absl::StatusOr<store::Ended> FromProto(sassay::v1::AttemptEnd end);

sassay::v1::RenewalOutcome ToProto(store::Renewal renewal);
store::Renewal FromProto(sassay::v1::RenewalOutcome outcome);

}  // namespace sassay::cluster

#endif  // SASSAY_PROFILER_SERVICE_CLUSTER_CONVERT_H_
