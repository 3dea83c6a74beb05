// A node's backing: a front end keeps everything.
#ifndef SASSAY_PROFILER_SERVICE_API_SERVICE_NODE_BACKING_H_
#define SASSAY_PROFILER_SERVICE_API_SERVICE_NODE_BACKING_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "profiler_service/api/service/backing.h"
#include "profiler_service/api/service/server.h"
#include "profiler_service/cluster/front_ends.h"

namespace sassay::api {

// What a front end is told about this node: its GPUs, by the names that `facts.gpus` gives them, and what can be run on
// them `places` at once.
sassay::v1::NodeFacts NodeFactsOf(const ServiceFacts& facts, uint32_t places);

// How the options say that a node reaches its front ends, and what it is called; its instance is a new one.
cluster::FrontEndOptions FrontEndOptionsOf(const ServiceOptions& options);

// A front end at --join; Join does so as --node-name, and waits for one until `give_up`: then CANCELLED, others as
// Membership::Join's. Errors as of FrontEnds::Open. `facts.gpus` outlives it.
absl::StatusOr<std::unique_ptr<Backing>> OpenNodeBacking(const ServiceOptions& options, const ServiceFacts& facts,
                                                         uint32_t places, std::function<bool()> give_up);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_SERVICE_NODE_BACKING_H_
