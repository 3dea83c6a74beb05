#include "agent/feedback/launch_shapes.h"

#include <algorithm>

#include "google/protobuf/util/message_differencer.h"

namespace sassay::agent {
namespace {

constexpr size_t kMostLaunches = 32;
constexpr uint64_t kRegistersPerPartition = 16384;
constexpr uint64_t kPartitions = 4;
constexpr uint64_t kSharedBytes = 233472;
constexpr uint64_t kReservedSharedBytes = 1024;
constexpr uint64_t kSharedUnitBytes = 128;
constexpr uint64_t kMostWarps = 64;
constexpr uint64_t kMostBlocks = 32;
constexpr uint64_t kWarpThreads = 32;

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

v1::LaunchShape ShapeOf(const v1::KernelLaunch& launch) {
  v1::LaunchShape shape;
  shape.set_kernel(launch.kernel());
  *shape.mutable_grid() = launch.grid();
  *shape.mutable_block() = launch.block();
  if (launch.has_cluster()) *shape.mutable_cluster() = launch.cluster();
  shape.set_dynamic_shared_bytes(launch.dynamic_shared_bytes());
  return shape;
}

bool Contains(const std::vector<v1::LaunchShape>& shapes, const v1::LaunchShape& shape) {
  return std::any_of(shapes.begin(), shapes.end(), [&](const v1::LaunchShape& other) {
    return google::protobuf::util::MessageDifferencer::Equals(other, shape);
  });
}

uint64_t WarpsOf(const v1::Dim3& block) {
  const uint64_t threads = std::max<uint64_t>(1, uint64_t{block.x()} * block.y() * block.z());
  return (threads + kWarpThreads - 1) / kWarpThreads;
}

uint64_t BlocksByRegisters(const v1::KernelFacts& kernel, uint64_t warps) {
  const uint64_t per_warp = RoundUp(std::max<uint64_t>(1, kernel.registers()), 8) * kWarpThreads;
  return kRegistersPerPartition / per_warp * kPartitions / warps;
}

uint64_t BlocksBySharedMemory(const v1::KernelFacts& kernel, const v1::LaunchShape& launch) {
  const uint64_t bytes = uint64_t{kernel.static_shared_bytes()} + launch.dynamic_shared_bytes() + kReservedSharedBytes;
  return kSharedBytes / RoundUp(bytes, kSharedUnitBytes);
}

}  // namespace

std::vector<v1::LaunchShape> LaunchShapes(const v1::LaunchPlan& plan) {
  std::vector<v1::LaunchShape> shapes;
  for (const v1::Step& step : plan.steady()) {
    if (!step.has_launch()) continue;
    v1::LaunchShape shape = ShapeOf(step.launch());
    if (!Contains(shapes, shape)) shapes.push_back(std::move(shape));
    if (shapes.size() == kMostLaunches) break;
  }
  return shapes;
}

OccupancyEstimate EstimateOccupancy(const v1::KernelFacts& kernel, const v1::LaunchShape& launch) {
  const uint64_t warps = WarpsOf(launch.block());
  const std::pair<uint64_t, const char*> bounds[] = {{BlocksBySharedMemory(kernel, launch), "shared memory"},
                                                     {BlocksByRegisters(kernel, warps), "registers"},
                                                     {kMostWarps / warps, "warps"},
                                                     {kMostBlocks, "blocks"}};
  const auto least = std::min_element(std::begin(bounds), std::end(bounds),
                                      [](const auto& a, const auto& b) { return a.first < b.first; });
  OccupancyEstimate estimate;
  estimate.blocks = static_cast<uint32_t>(least->first);
  estimate.warps = static_cast<uint32_t>(least->first * warps);
  estimate.limit = least->second;
  return estimate;
}

}  // namespace sassay::agent
