// Runtime and driver API: how many blocks and clusters are resident at once. Every answer that depends on the GPU is
// recorded as an assumption.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "agent/capture/runtime/kernels.h"
#include "agent/capture/runtime/operations.h"
#include "agent/capture/runtime/session.h"

namespace capture = sassay::capture;
using capture::ApiScope;
using capture::FindingCode;
using capture::KernelInfo;
using capture::Session;

namespace {

// "cudaOccupancyMaxActiveClusters(kernel,128,0,4)" = `value`.
void Assume(const char* question, const KernelInfo& kernel, std::initializer_list<uint64_t> arguments, int64_t value) {
  std::string property = std::string(question) + "(" + kernel.symbol;
  for (uint64_t argument : arguments) property += "," + std::to_string(argument);
  Session::Get().Assume(property + ")", value);
}

int Blocks(const char* function, int* blocks, const void* handle, int threads, size_t shared) {
  ApiScope scope(function);
  const KernelInfo& kernel = capture::RequireKernel(function, handle);
  if (blocks == nullptr) return scope.Return(capture::kInvalidValue);
  *blocks = capture::ResidentBlocks(kernel, threads, shared);
  Assume("cudaOccupancyMaxActiveBlocksPerMultiprocessor", kernel, {static_cast<uint64_t>(threads), shared}, *blocks);
  return 0;
}

// Blocks of the cluster that a launch with these attributes would have. CUlaunchAttribute has the runtime's layout.
int ClusterBlocks(const cudaLaunchAttribute* attributes, unsigned count, const KernelInfo& kernel) {
  for (unsigned i = 0; i < count; ++i) {
    const auto& dim = attributes[i].val.clusterDim;
    if (attributes[i].id == cudaLaunchAttributeClusterDimension) return static_cast<int>(dim.x * dim.y * dim.z);
  }
  const auto& own = kernel.OwnCluster();
  return static_cast<int>(std::max(1U, own[0] * own[1] * own[2]));
}

struct ClusterQuestion {
  uint64_t threads;
  uint64_t shared;
  const cudaLaunchAttribute* attributes;
  unsigned attribute_count;
};

int Clusters(const char* function, int* clusters, const void* handle, const ClusterQuestion& question) {
  ApiScope scope(function);
  const KernelInfo& kernel = capture::RequireKernel(function, handle);
  if (clusters == nullptr) return scope.Return(capture::kInvalidValue);
  const int blocks = ClusterBlocks(question.attributes, question.attribute_count, kernel);
  *clusters = capture::ResidentClusters(kernel, static_cast<int>(question.threads), question.shared, blocks);
  Assume("cudaOccupancyMaxActiveClusters", kernel, {question.threads, question.shared, static_cast<uint64_t>(blocks)},
         *clusters);
  return 0;
}

int LargestCluster(const char* function, int* size, const void* handle) {
  ApiScope scope(function);
  const KernelInfo& kernel = capture::RequireKernel(function, handle);
  if (size == nullptr) return scope.Return(capture::kInvalidValue);
  *size = kernel.non_portable_cluster ? 16 : 8;
  Assume("cudaOccupancyMaxPotentialClusterSize", kernel, {}, *size);
  return 0;
}

int AvailableShared(const char* function, size_t* bytes, const void* handle, int blocks) {
  ApiScope scope(function);
  const KernelInfo& kernel = capture::RequireKernel(function, handle);
  if (bytes == nullptr) return scope.Return(capture::kInvalidValue);
  const Session& session = Session::Get();
  const int64_t share = session.Attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / std::max(blocks, 1);
  const int64_t taken = session.Attribute(cudaDevAttrReservedSharedMemoryPerBlock) + kernel.static_shared_bytes;
  *bytes = static_cast<size_t>(
      std::clamp<int64_t>(share / 128 * 128 - taken, 0,
                          session.Attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - kernel.static_shared_bytes));
  Assume("cudaOccupancyAvailableDynamicSMemPerBlock", kernel, {static_cast<uint64_t>(blocks)},
         static_cast<int64_t>(*bytes));
  return 0;
}

}  // namespace

extern "C" {

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int block, size_t shared) {
  return static_cast<cudaError_t>(
      Blocks("cudaOccupancyMaxActiveBlocksPerMultiprocessor", blocks, kernel, block, shared));
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel, int block,
                                                                   size_t shared, unsigned int) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block, shared);
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int block, size_t shared) {
  return static_cast<CUresult>(Blocks("cuOccupancyMaxActiveBlocksPerMultiprocessor", blocks, function, block, shared));
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int block,
                                                              size_t shared, unsigned int) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block, shared);
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* kernel, const cudaLaunchConfig_t* config) {
  const dim3 block = config->blockDim;
  return static_cast<cudaError_t>(
      Clusters("cudaOccupancyMaxActiveClusters", clusters, kernel,
               {uint64_t{block.x} * block.y * block.z, config->dynamicSmemBytes, config->attrs, config->numAttrs}));
}
CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction kernel, const CUlaunchConfig* config) {
  return static_cast<CUresult>(
      Clusters("cuOccupancyMaxActiveClusters", clusters, kernel,
               {uint64_t{config->blockDimX} * config->blockDimY * config->blockDimZ, config->sharedMemBytes,
                reinterpret_cast<const cudaLaunchAttribute*>(config->attrs), config->numAttrs}));
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* kernel, const cudaLaunchConfig_t*) {
  return static_cast<cudaError_t>(LargestCluster("cudaOccupancyMaxPotentialClusterSize", size, kernel));
}
CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction kernel, const CUlaunchConfig*) {
  return static_cast<CUresult>(LargestCluster("cuOccupancyMaxPotentialClusterSize", size, kernel));
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* kernel, int blocks, int) {
  return static_cast<cudaError_t>(AvailableShared("cudaOccupancyAvailableDynamicSMemPerBlock", bytes, kernel, blocks));
}
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction kernel, int blocks, int) {
  return static_cast<CUresult>(AvailableShared("cuOccupancyAvailableDynamicSMemPerBlock", bytes, kernel, blocks));
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function, CUoccupancyB2DSize size_of,
                                          size_t shared, int limit) {
  ApiScope scope("cuOccupancyMaxPotentialBlockSize");
  if (size_of != nullptr) {
    Session::Get().Refuse(FindingCode::kUnsupportedApi,
                          "unsupported: cuOccupancyMaxPotentialBlockSize with a size function");
  }
  const KernelInfo& kernel = capture::RequireKernel("cuOccupancyMaxPotentialBlockSize", function);
  capture::BestBlockSize(kernel, shared, limit, grid, block);
  const int64_t multiprocessors = Session::Get().Attribute(cudaDevAttrMultiProcessorCount);
  Session::Get().Assume("cudaDevAttrMultiProcessorCount", multiprocessors);
  Assume("cuOccupancyMaxPotentialBlockSize", kernel, {shared, static_cast<uint64_t>(std::max(limit, 0))}, *block);
  return CUDA_SUCCESS;
}

}  // extern "C"
