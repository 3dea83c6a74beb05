// The launches of a call as a turn's record keeps them, and how many of their blocks a multiprocessor holds.
#ifndef SASSAY_AGENT_FEEDBACK_LAUNCH_SHAPES_H_
#define SASSAY_AGENT_FEEDBACK_LAUNCH_SHAPES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/plan.pb.h"
#include "sassay/v1/trajectory.pb.h"

namespace sassay::agent {

// The distinct launches of the plan's steady call in its order, at most 32. For Submitted.launches.
std::vector<v1::LaunchShape> LaunchShapes(const v1::LaunchPlan& plan);

// How many blocks of a launch one multiprocessor holds at once.
struct OccupancyEstimate {
  // 0: not even one fits.
  uint32_t blocks = 0;
  uint32_t warps = 0;
  // Of sm_90 and sm_100.
  uint32_t most_warps = 64;
  // What bounds it: "registers", "shared memory", "warps", "blocks".
  std::string limit;
};

// By the allocation rules of compute capability 9.0 and 10.0 (CUDA C++ Programming Guide, "Compute Capabilities":
// 65,536 registers in units of 8 per thread, 228 KiB of shared memory with 1 KiB reserved for each block, 64 warps, 32
// blocks). An estimate: setmaxnreg, clusters and a carve-out that the driver chose otherwise are not in it.
OccupancyEstimate EstimateOccupancy(const v1::KernelFacts& kernel, const v1::LaunchShape& launch);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_FEEDBACK_LAUNCH_SHAPES_H_
