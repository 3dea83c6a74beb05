// A discrete-event simulation of a cluster: nodes with GPUs ask for work as the service's nodes do, and the service's
// own policy (profiler_service/scheduling) answers.
//
// What is modelled: places and the lease of each GPU, states that judges hold, the way to the scheduler and one
// scheduler that answers one node at a time, leases that expire after a node was lost, drains, poisonous candidates.
// What is not: the driver's one lock for all contexts of a host (docs/measurements/2026-11-h200-lanes.md), uploads, the
// network's failures.
#ifndef SASSAY_TESTS_SIM_CLUSTER_H_
#define SASSAY_TESTS_SIM_CLUSTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "profiler_service/scheduling/account.h"
#include "tests/sim/demand.h"
#include "tests/sim/report.h"

namespace sassay::sim {

// Equal nodes.
struct NodeGroup {
  size_t pool = 0;
  std::string model;
  size_t nodes = 1;
  size_t gpus = 8;  // of each
};

struct Options {
  uint64_t seed = 1;
  std::vector<NodeGroup> groups;
  std::vector<Habits> tenants;
  uint32_t places = 4;  // of each GPU (--jobs-per-device)
  Ns lasts = 20 * kMinute;
  bool serve_all = false;       // then go on, without new submissions, until everything has its verdict
  Ns way = kSecond / 1000;      // from a node to the scheduler, and back
  Ns acquire = kSecond / 5000;  // what the scheduler takes for one answer
  Ns poll = 5 * kSecond;        // who got nothing asks again, if nobody calls it
  Ns lease = 30 * kSecond;
  uint32_t max_losses = 10;
  Ns between_losses = 0;  // mean, of all nodes together; 0: none is lost
  Ns repair = kMinute;
  Ns between_drains = 0;  // one node after another is drained, for `repair`; 0: none
  scheduling::Rules rules;
};

// The same options give the same report but for the times of the CPU.
Report Simulate(const Options& options);

}  // namespace sassay::sim

#endif  // SASSAY_TESTS_SIM_CLUSTER_H_
