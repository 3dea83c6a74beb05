// What the nodes of a cluster can run: for Capabilities, for operators, and for whoever submits what none of them can.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_CLUSTER_CLUSTER_DEVICES_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_CLUSTER_CLUSTER_DEVICES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "profiler_service/cluster/node_registry.h"
#include "profiler_service/reuse/reuse.h"
#include "sassay/v1/control.pb.h"
#include "sassay/v1/profiler.pb.h"

namespace sassay::api {

using Nodes = std::vector<cluster::NodeRegistry::NodePtr>;

// Adds the devices of `living` nodes, each with its node's name, to what the front end itself has; and the toolkit that
// establishes provenance, if the front end has none and all of them have the same.
void AddDevices(const Nodes& living, sassay::v1::GetCapabilitiesResponse& capabilities);

// Who might judge a submission: `own` devices, of a process with these settings (NodeFacts.settings_sha256), and
// `known` nodes.
reuse::Judges JudgesOf(const sassay::v1::GetCapabilitiesResponse& own, const std::string& settings_sha256,
                       const Nodes& known);

// Says whose the GPU is and what runs there, if it is one of `known` nodes.
void AddNode(const Nodes& known, sassay::v1::Gpu& gpu);

// The architecture in whose pool a bundle waits (store::AskedPool). `own` are the front end's own devices, `known` the
// nodes that were heard of within a day: one that is away may come back. What cannot be read as a bundle goes to any
// pool: admission says what is wrong with it. FAILED_PRECONDITION: none of them could run it, with what it would take;
// UNAVAILABLE: there is none at all.
absl::StatusOr<std::string> PoolFor(absl::string_view untrusted_beginning, const std::string& gpu_model,
                                    const sassay::v1::GetCapabilitiesResponse& own, const Nodes& known);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_CLUSTER_CLUSTER_DEVICES_H_
