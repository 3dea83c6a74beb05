// What would come of joining, for `--check`: the way to each front end tried once, in words.
#ifndef SASSAY_PROFILER_SERVICE_CLUSTER_JOIN_TRIAL_H_
#define SASSAY_PROFILER_SERVICE_CLUSTER_JOIN_TRIAL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "profiler_service/cluster/front_ends.h"

namespace sassay::cluster {

struct JoinTrial {
  std::string address;
  // OK: this node would be taken in. Else what fails, and the flag that mends it: the address, TLS, the token, the
  // name, the clock, or a service that admits no nodes.
  absl::Status status;
  // Of the front end; empty where it did not say. It may differ from ours by one release.
  std::string version = {};
  bool name_taken = false;
};

// One call for each of options.addresses; nothing is registered. Takes options.call_timeout for each that does not
// answer.
std::vector<JoinTrial> TryJoin(const FrontEndOptions& options);

}  // namespace sassay::cluster

#endif  // SASSAY_PROFILER_SERVICE_CLUSTER_JOIN_TRIAL_H_
