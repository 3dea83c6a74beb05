// The cluster at full size: 1,000 GPUs, 100,000 submissions that wait at once, half an hour. Prints what
// docs/measurements/2026-11-scheduling.md holds. Arguments: size (1), minutes (30), seed (1).
#include <cstdlib>

#include "tests/sim/report.h"
#include "tests/sim/scenarios.h"

int main(int argc, char** argv) {
  const double size = argc > 1 ? std::atof(argv[1]) : 1.0;
  const sassay::sim::Ns minutes = argc > 2 ? std::atoi(argv[2]) : 30;
  const uint64_t seed = argc > 3 ? static_cast<uint64_t>(std::atoll(argv[3])) : 1;
  sassay::sim::Report report =
      sassay::sim::Simulate(sassay::sim::BusyCluster(size, minutes * sassay::sim::kMinute, seed));
  sassay::sim::Print(report, sassay::sim::kMinute, 10 * sassay::sim::kMinute);
  return 0;
}
