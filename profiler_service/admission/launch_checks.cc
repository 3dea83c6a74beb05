#include "profiler_service/admission/launch_checks.h"

#include "absl/strings/str_cat.h"
#include "common/demangle/demangle.h"

namespace sassay::admission {
namespace {

using v1::Dim3;
using v1::KernelLaunch;

Rejection Refuse(v1::VerdictCode code, const std::string& path, absl::string_view field, std::string reason) {
  return {code, absl::StrCat(path, ".", field), std::move(reason)};
}

std::string Text(const Dim3& extents) { return absl::StrCat(extents.x(), " x ", extents.y(), " x ", extents.z()); }

// Extents are checked to be at most 2^31 each before; the product saturates.
uint64_t Volume(const Dim3& extents) {
  uint64_t volume = uint64_t{extents.x()} * extents.y();
  if (__builtin_mul_overflow(volume, uint64_t{extents.z()}, &volume)) return UINT64_MAX;
  return volume;
}

bool IsEmpty(const Dim3& extents) { return extents.x() == 0 || extents.y() == 0 || extents.z() == 0; }

bool Same(const Dim3& a, const Dim3& b) { return a.x() == b.x() && a.y() == b.y() && a.z() == b.z(); }

Complaint CheckGrid(const KernelLaunch& launch, const std::string& path) {
  const Dim3& grid = launch.grid();
  if (IsEmpty(grid)) {
    return Refuse(v1::VERDICT_CODE_LAUNCH_INVALID, path, "grid", absl::StrCat(Text(grid), ", no extent may be 0"));
  }
  if (grid.x() > kMaxGridX || grid.y() > kMaxGridYZ || grid.z() > kMaxGridYZ) {
    return Refuse(v1::VERDICT_CODE_LAUNCH_INVALID, path, "grid",
                  absl::StrCat(Text(grid), ", at most ", kMaxGridX, " x ", kMaxGridYZ, " x ", kMaxGridYZ));
  }
  return absl::nullopt;
}

Complaint CheckBlock(const KernelLaunch& launch, const CubinKernel& kernel, const std::string& path) {
  const Dim3& block = launch.block();
  const auto refuse = [&](std::string why) {
    return Refuse(v1::VERDICT_CODE_BLOCK_LIMIT, path, "block", absl::StrCat(Text(block), why));
  };
  if (IsEmpty(block)) return refuse(", no extent may be 0");
  if (block.x() > kMaxBlockXY || block.y() > kMaxBlockXY || block.z() > kMaxBlockZ ||
      Volume(block) > kMaxThreadsPerBlock) {
    return refuse(absl::StrCat(" is more than ", kMaxThreadsPerBlock, " threads or than ", kMaxBlockXY, " x ",
                               kMaxBlockXY, " x ", kMaxBlockZ));
  }
  if (kernel.max_threads_per_block != 0 && Volume(block) > kernel.max_threads_per_block) {
    return refuse(absl::StrCat(" is ", Volume(block), " threads; ", ShortKernelName(kernel.symbol),
                               " is compiled for at most ", kernel.max_threads_per_block, " (__launch_bounds__)"));
  }
  if (kernel.required_block && !Same(block, *kernel.required_block)) {
    return refuse(
        absl::StrCat("; ", ShortKernelName(kernel.symbol), " is compiled for exactly ", Text(*kernel.required_block)));
  }
  return absl::nullopt;
}

// The cluster that will be launched: the kernel's own, the launch's, or none.
const Dim3* EffectiveCluster(const KernelLaunch& launch, const CubinKernel& kernel) {
  if (kernel.required_cluster) return &*kernel.required_cluster;
  return launch.has_cluster() ? &launch.cluster() : nullptr;
}

Complaint CheckCluster(const KernelLaunch& launch, const CubinKernel& kernel, const ArchLimits& arch,
                       const std::string& path) {
  const auto refuse = [&](std::string why) {
    return Refuse(v1::VERDICT_CODE_LAUNCH_INVALID, path, "cluster", std::move(why));
  };
  const Dim3* cluster = EffectiveCluster(launch, kernel);
  if (cluster == nullptr) return absl::nullopt;
  if (!arch.clusters) return refuse(absl::StrCat("sm_", arch.sm, " has no clusters"));
  if (IsEmpty(*cluster)) return refuse(absl::StrCat(Text(*cluster), ", no extent may be 0"));
  if (launch.has_cluster() && !Same(launch.cluster(), *cluster)) {
    return refuse(absl::StrCat(Text(launch.cluster()), "; ", ShortKernelName(kernel.symbol),
                               " is compiled for exactly ", Text(*cluster), " (__cluster_dims__)"));
  }
  if (Volume(*cluster) > kMaxClusterBlocks) {
    return refuse(absl::StrCat(Text(*cluster), " is more than ", kMaxClusterBlocks, " blocks"));
  }
  const Dim3& grid = launch.grid();
  const bool divides = grid.x() % cluster->x() == 0 && grid.y() % cluster->y() == 0 && grid.z() % cluster->z() == 0;
  if (!divides && !kernel.blocks_are_clusters) {
    return refuse(absl::StrCat("the grid ", Text(grid), " is not a multiple of the cluster ", Text(*cluster)));
  }
  return absl::nullopt;
}

Complaint CheckResources(const KernelLaunch& launch, const CubinKernel& kernel, const ArchLimits& arch,
                         const std::string& path) {
  const uint64_t shared = uint64_t{kernel.static_shared_bytes} + launch.dynamic_shared_bytes();
  if (shared > arch.max_shared_bytes_per_block) {
    return Refuse(v1::VERDICT_CODE_SHARED_MEMORY_LIMIT, path, "dynamic_shared_bytes",
                  absl::StrCat(launch.dynamic_shared_bytes(), " with ", kernel.static_shared_bytes,
                               " static bytes is more than the ", arch.max_shared_bytes_per_block,
                               " bytes a block can have on sm_", arch.sm));
  }
  const uint32_t threads = static_cast<uint32_t>(Volume(launch.block()));
  if (BlocksPerMultiprocessor(arch, kernel, threads, launch.dynamic_shared_bytes()) == 0) {
    return Refuse(v1::VERDICT_CODE_LAUNCH_INVALID, path, "block",
                  absl::StrCat(threads, " threads with ", kernel.registers,
                               " registers each do not fit a multiprocessor; use __launch_bounds__ or fewer threads"));
  }
  return absl::nullopt;
}

Complaint CheckResidency(const KernelLaunch& launch, const CubinKernel& kernel, const ArchLimits& arch,
                         const DeviceFacts& device, const std::string& path) {
  if (!launch.cooperative() || device.emulated) return absl::nullopt;
  const uint64_t resident = uint64_t{device.multiprocessors} *
                            BlocksPerMultiprocessor(arch, kernel, static_cast<uint32_t>(Volume(launch.block())),
                                                    launch.dynamic_shared_bytes());
  if (Volume(launch.grid()) <= resident) return absl::nullopt;
  return Refuse(v1::VERDICT_CODE_LAUNCH_INVALID, path, "cooperative",
                absl::StrCat(Volume(launch.grid()), " blocks cannot all be resident; this device holds ", resident));
}

}  // namespace

Complaint CheckLaunchShape(const KernelLaunch& launch, const CubinKernel& kernel, const ArchLimits& arch,
                           const DeviceFacts& device, const std::string& path) {
  if (auto complaint = CheckGrid(launch, path)) return complaint;
  if (auto complaint = CheckBlock(launch, kernel, path)) return complaint;
  if (auto complaint = CheckCluster(launch, kernel, arch, path)) return complaint;
  if (auto complaint = CheckResources(launch, kernel, arch, path)) return complaint;
  if (auto complaint = CheckResidency(launch, kernel, arch, device, path)) return complaint;
  if (launch.programmatic_stream_serialization() && !arch.clusters) {
    return Refuse(v1::VERDICT_CODE_LAUNCH_INVALID, path, "programmatic_stream_serialization",
                  absl::StrCat("sm_", arch.sm, " has no programmatic dependent launch"));
  }
  if (launch.shared_carveout_percent_plus_one() > 101) {
    return Refuse(v1::VERDICT_CODE_LAUNCH_INVALID, path, "shared_carveout_percent_plus_one",
                  absl::StrCat(launch.shared_carveout_percent_plus_one(), ", at most 101"));
  }
  return absl::nullopt;
}

}  // namespace sassay::admission
