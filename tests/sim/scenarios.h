// The cluster that test and bench simulate: two architectures, two models in one of them, tenants of every habit.
#ifndef SASSAY_TESTS_SIM_SCENARIOS_H_
#define SASSAY_TESTS_SIM_SCENARIOS_H_

#include "tests/sim/cluster.h"

namespace sassay::sim {

// `size` 1: 1,000 GPUs and 100,000 submissions that wait at once; 0.05: 50 and 5,000. Under load from beginning to end.
Options BusyCluster(double size, Ns lasts, uint64_t seed);

}  // namespace sassay::sim

#endif  // SASSAY_TESTS_SIM_SCENARIOS_H_
