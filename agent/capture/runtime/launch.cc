#include "agent/capture/runtime/launch.h"

#include <driver_types.h>

#include <algorithm>
#include <string>

#include "agent/capture/runtime/host_memory.h"
#include "agent/capture/runtime/kernels.h"
#include "agent/capture/runtime/streams.h"

namespace sassay::capture {
namespace {

std::string Triple(const uint32_t (&value)[3]) {
  return "(" + std::to_string(value[0]) + "," + std::to_string(value[1]) + "," + std::to_string(value[2]) + ")";
}

uint64_t Product(const uint32_t (&value)[3]) { return uint64_t{value[0]} * value[1] * value[2]; }

void CheckBlock(const LaunchRequest& request) {
  const Session& session = Session::Get();
  const uint64_t threads = Product(request.block);
  const auto limit = static_cast<uint64_t>(session.Attribute(cudaDevAttrMaxThreadsPerBlock));
  if (threads == 0) RefuseLaunch(request, FindingCode::kLaunchInvalid, "block " + Triple(request.block) + " is empty");
  if (threads > limit) {
    RefuseLaunch(request, FindingCode::kBlockLimit,
                 "block " + Triple(request.block) + " has " + std::to_string(threads) +
                     " threads; a block may have at most " + std::to_string(limit));
  }
  if (request.block[2] > static_cast<uint64_t>(session.Attribute(cudaDevAttrMaxBlockDimZ))) {
    RefuseLaunch(request, FindingCode::kBlockLimit,
                 "block " + Triple(request.block) + ": blockDim.z may be at most " +
                     std::to_string(session.Attribute(cudaDevAttrMaxBlockDimZ)));
  }
  if (threads > request.kernel->max_threads) {
    RefuseLaunch(request, FindingCode::kBlockLimit,
                 "block " + Triple(request.block) + " has " + std::to_string(threads) +
                     " threads; the kernel was compiled for at most " + std::to_string(request.kernel->max_threads) +
                     " (__launch_bounds__)");
  }
  const uint64_t registers = (uint64_t{request.kernel->registers} + 7) / 8 * 8 * ((threads + 31) / 32 * 32);
  if (registers > static_cast<uint64_t>(session.Attribute(cudaDevAttrMaxRegistersPerBlock))) {
    RefuseLaunch(request, FindingCode::kBlockLimit,
                 "too many resources: " + std::to_string(request.kernel->registers) + " registers x " +
                     std::to_string(threads) + " threads exceed the " +
                     std::to_string(session.Attribute(cudaDevAttrMaxRegistersPerBlock)) +
                     " registers of a block; use fewer threads or __launch_bounds__(" + std::to_string(threads) + ")");
  }
}

void CheckGrid(const LaunchRequest& request) {
  const uint64_t limits[3] = {(uint64_t{1} << 31) - 1, 65535, 65535};
  for (int axis = 0; axis < 3; ++axis) {
    if (request.grid[axis] == 0 || request.grid[axis] > limits[axis]) {
      RefuseLaunch(
          request, FindingCode::kLaunchInvalid,
          "grid " + Triple(request.grid) + ": extent " + "xyz"[axis] + " must be 1 to " + std::to_string(limits[axis]));
    }
  }
}

bool Same(const uint32_t (&a)[3], const uint32_t (&b)[3]) { return std::equal(a, a + 3, b); }

bool Empty(const uint32_t (&value)[3]) { return (value[0] | value[1] | value[2]) == 0; }

// The cluster that will run: the launch's, or the kernel's own.
const uint32_t (&EffectiveCluster(const LaunchRequest& request))[3] {
  return Empty(request.cluster) ? request.kernel->OwnCluster() : request.cluster;
}

void CheckOwnCluster(const LaunchRequest& request) {
  const auto& own = request.kernel->OwnCluster();
  if (Empty(own)) return;
  if (Product(own) == 0) {
    RefuseLaunch(request, FindingCode::kLaunchInvalid,
                 "the kernel's required cluster " + Triple(own) +
                     ": cudaFuncAttributeRequiredClusterWidth, Height and Depth must all be set, or none");
  }
  if (!Empty(request.cluster) && !Same(request.cluster, own)) {
    RefuseLaunch(request, FindingCode::kLaunchInvalid,
                 "cluster " + Triple(request.cluster) + "; the kernel requires exactly " + Triple(own) +
                     (Same(own, request.kernel->cluster) ? " (__cluster_dims__)" : " (cudaFuncSetAttribute)"));
  }
}

void CheckCluster(const LaunchRequest& request) {
  CheckOwnCluster(request);
  const auto& cluster = EffectiveCluster(request);
  if (Empty(cluster)) return;
  const uint64_t blocks = Product(cluster);
  if (blocks == 0) {
    RefuseLaunch(request, FindingCode::kLaunchInvalid, "cluster " + Triple(cluster) + ": no extent may be 0");
  }
  const uint64_t limit = request.kernel->non_portable_cluster ? 16 : 8;
  if (blocks > limit) {
    RefuseLaunch(request, FindingCode::kLaunchInvalid,
                 "cluster " + Triple(cluster) + " has " + std::to_string(blocks) + " blocks; at most " +
                     std::to_string(limit) +
                     (limit == 8 ? " unless cudaFuncAttributeNonPortableClusterSizeAllowed is set" : ""));
  }
  for (int axis = 0; axis < 3 && !request.kernel->blocks_are_clusters; ++axis) {
    if (request.grid[axis] % cluster[axis] != 0) {
      RefuseLaunch(request, FindingCode::kLaunchInvalid,
                   "grid " + Triple(request.grid) + " is not a multiple of cluster " + Triple(cluster));
    }
  }
}

void CheckShared(const LaunchRequest& request) {
  const KernelInfo& kernel = *request.kernel;
  const auto most = static_cast<uint64_t>(Session::Get().Attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  const uint64_t total = kernel.static_shared_bytes + request.dynamic_shared_bytes;
  const std::string asked = std::to_string(request.dynamic_shared_bytes) + " bytes of dynamic and " +
                            std::to_string(kernel.static_shared_bytes) + " of static shared memory";
  if (total > most) {
    RefuseLaunch(request, FindingCode::kSharedMemoryLimit,
                 asked + "; a block may have at most " + std::to_string(most) + " in all");
  }
  if (request.dynamic_shared_bytes > DynamicSharedLimit(kernel)) {
    RefuseLaunch(request, FindingCode::kSharedMemoryLimit,
                 asked + "; the kernel may use " + std::to_string(DynamicSharedLimit(kernel)) +
                     " dynamic bytes until cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, " +
                     std::to_string(request.dynamic_shared_bytes) + ") is called");
  }
}

void CheckCooperative(const LaunchRequest& request) {
  if (!request.cooperative) return;
  Session& session = Session::Get();
  const int resident =
      ResidentBlocks(*request.kernel, static_cast<int>(Product(request.block)), request.dynamic_shared_bytes);
  const int64_t multiprocessors = session.Attribute(cudaDevAttrMultiProcessorCount);
  session.Assume("cudaDevAttrMultiProcessorCount", multiprocessors);
  const uint64_t most = static_cast<uint64_t>(resident) * static_cast<uint64_t>(multiprocessors);
  if (Product(request.grid) <= most) return;
  RefuseLaunch(request, FindingCode::kLaunchInvalid,
               "cooperative grid " + Triple(request.grid) + " has " + std::to_string(Product(request.grid)) +
                   " blocks; " + std::to_string(most) + " can be resident at once (" + std::to_string(resident) +
                   " per multiprocessor)");
}

// What the launch must name: __cluster_dims__ are in the cubin, a cluster set at run time is nowhere else.
void AppendCluster(const LaunchRequest& request, WireWriter& launch) {
  const auto& cluster = Empty(request.cluster) ? request.kernel->required_cluster : request.cluster;
  if (Empty(cluster)) return;
  for (uint32_t extent : cluster) launch.RepeatedVarint(4, extent);
}

const void* ArgumentAddress(const LaunchRequest& request, size_t index) {
  const KernelInfo& kernel = *request.kernel;
  if (request.packed == nullptr) return request.arguments == nullptr ? nullptr : request.arguments[index];
  const size_t end = size_t{kernel.parameter_offsets[index]} + kernel.parameter_bytes[index];
  return end <= request.packed_bytes ? request.packed + kernel.parameter_offsets[index] : nullptr;
}

void AppendArguments(const LaunchRequest& request, WireWriter& launch) {
  const auto& sizes = request.kernel->parameter_bytes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const void* source = ArgumentAddress(request, i);
    if (source == nullptr) {
      RefuseLaunch(request, FindingCode::kLaunchInvalid,
                   "no value for parameter " + std::to_string(i) + " of " + std::to_string(sizes.size()));
    }
    CheckHostMemory(request, i, source, sizes[i]);
    launch.Bytes(6, source, sizes[i]);
  }
}

}  // namespace

void RefuseLaunch(const LaunchRequest& request, FindingCode code, const std::string& why) {
  WireWriter finding;
  finding.Varint(1, static_cast<uint64_t>(code));
  finding.Bytes(2, "launch of " + ShortName(request.kernel->symbol) + ": " + why);
  Session::Get().EmitAt(kFinding, finding, request.site);
  Session::Get().Leave(0);
}

void NoteLaunch(const LaunchRequest& request, const std::string& what) {
  WireWriter finding;
  finding.Bytes(2, "launch of " + ShortName(request.kernel->symbol) + ": " + what);
  finding.Varint(4, 1);
  Session::Get().EmitAt(kFinding, finding, request.site);
}

CallSite& PushedCallSite() {
  static thread_local CallSite site;
  return site;
}

int RecordLaunch(const LaunchRequest& request) {
  CheckBlock(request);
  CheckGrid(request);
  CheckCluster(request);
  CheckShared(request);
  CheckCooperative(request);
  WireWriter launch;
  launch.Bytes(1, request.kernel->symbol);
  for (uint32_t extent : request.grid) launch.RepeatedVarint(2, extent);
  for (uint32_t extent : request.block) launch.RepeatedVarint(3, extent);
  AppendCluster(request, launch);
  launch.Varint(5, request.dynamic_shared_bytes);
  AppendArguments(request, launch);
  launch.Varint(7, request.cooperative);
  launch.Varint(8, request.programmatic);
  const int carveout = request.carveout_percent >= 0 ? request.carveout_percent : request.kernel->carveout_percent;
  launch.Varint(9, static_cast<uint64_t>(std::clamp(carveout, -1, 100) + 1));
  launch.Varint(10, StreamNumber(request.function, request.stream));
  Session::Get().EmitAt(kLaunch, launch, request.site);
  return 0;
}

}  // namespace sassay::capture
