#include "agent/capture/runtime/queries.h"

#include <cuda.h>
#include <driver_types.h>

#include <algorithm>
#include <map>
#include <string>

#include "agent/capture/runtime/kernels.h"
#include "agent/capture/runtime/memory.h"
#include "agent/capture/runtime/operations.h"
#include "agent/capture/runtime/session.h"

namespace sassay::capture {
namespace {

// The driver's defaults on compute capability 9.0 and 10.0.
std::map<int, size_t>& Limits() {
  static auto* limits = new std::map<int, size_t>{{cudaLimitStackSize, 1024},
                                                  {cudaLimitPrintfFifoSize, 1 << 20},
                                                  {cudaLimitMallocHeapSize, 8 << 20},
                                                  {cudaLimitDevRuntimeSyncDepth, 2},
                                                  {cudaLimitDevRuntimePendingLaunchCount, 2048},
                                                  {cudaLimitMaxL2FetchGranularity, 64},
                                                  {cudaLimitPersistingL2CacheSize, 0}};
  return *limits;
}

// Pool attributes are int (the first three) or uint64_t.
struct Pool {
  int reuse[3] = {1, 1, 1};
  uint64_t release_threshold = 0;
};

Pool& ThePool() {
  static auto* pool = new Pool;
  return *pool;
}

bool IsReuse(int attribute) {
  return attribute >= cudaMemPoolReuseFollowEventDependencies && attribute <= cudaMemPoolReuseAllowInternalDependencies;
}

}  // namespace

int SetLimit(const char* function, int limit, size_t value) {
  if (Limits().count(limit) == 0) return kInvalidValue;
  if (limit != cudaLimitStackSize && limit != cudaLimitPersistingL2CacheSize &&
      limit != cudaLimitMaxL2FetchGranularity && value != Limits()[limit]) {
    Session::Get().Refuse(FindingCode::kUnsupportedApi, std::string("unsupported: ") + function + "(" +
                                                            std::to_string(limit) + ", " + std::to_string(value) +
                                                            "): the replay keeps the driver's limits");
  }
  Limits()[limit] = value;
  return kSuccess;
}

int GetLimit(int limit, size_t* value) {
  if (value == nullptr || Limits().count(limit) == 0) return kInvalidValue;
  *value = Limits()[limit];
  Session::Get().Assume("cudaLimit(" + std::to_string(limit) + ")", static_cast<int64_t>(*value));
  return kSuccess;
}

int SetPoolAttribute(int attribute, const void* value) {
  if (value == nullptr) return kInvalidValue;
  if (IsReuse(attribute)) ThePool().reuse[attribute - 1] = *static_cast<const int*>(value);
  if (attribute == cudaMemPoolAttrReleaseThreshold) ThePool().release_threshold = *static_cast<const uint64_t*>(value);
  return kSuccess;
}

int GetPoolAttribute(int attribute, void* value) {
  if (value == nullptr) return kInvalidValue;
  if (IsReuse(attribute)) {
    *static_cast<int*>(value) = ThePool().reuse[attribute - 1];
    return kSuccess;
  }
  auto& number = *static_cast<uint64_t*>(value);
  switch (attribute) {
    case cudaMemPoolAttrReleaseThreshold:
      number = ThePool().release_threshold;
      return kSuccess;
    case cudaMemPoolAttrReservedMemCurrent:
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemCurrent:
    case cudaMemPoolAttrUsedMemHigh:
      number = AddressSpace::Get().allocated_bytes();
      return kSuccess;
    default:
      return kInvalidValue;
  }
}

void MemoryInfo(size_t* free_bytes, size_t* total_bytes) {
  Session& session = Session::Get();
  const uint64_t total = session.task().device_memory_bytes;
  const uint64_t free = total - std::min(total, AddressSpace::Get().live_bytes());
  if (total_bytes != nullptr) *total_bytes = total;
  session.Assume("cudaMemGetInfo.total", static_cast<int64_t>(total));
  if (free_bytes == nullptr) return;
  *free_bytes = free;
  session.Assume("cudaMemGetInfo.free", static_cast<int64_t>(free));
}

int ParameterInfo(const char* function, const void* handle, size_t index, size_t* offset, size_t* size) {
  const KernelInfo& kernel = RequireKernel(function, handle);
  if (index >= kernel.parameter_bytes.size() || offset == nullptr) return kInvalidValue;
  *offset = kernel.parameter_offsets[index];
  if (size != nullptr) *size = kernel.parameter_bytes[index];
  return kSuccess;
}

int FunctionAttribute(const char* function, const void* handle, int attribute, int* value) {
  const KernelInfo& kernel = RequireKernel(function, handle);
  if (value == nullptr) return kInvalidValue;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = static_cast<int>(kernel.max_threads);
      return kSuccess;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(kernel.static_shared_bytes);
      return kSuccess;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      *value = 0;
      return kSuccess;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = static_cast<int>(kernel.stack_bytes);
      return kSuccess;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = static_cast<int>(kernel.registers);
      return kSuccess;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = static_cast<int>(Session::Get().Attribute(cudaDevAttrComputeCapabilityMajor) * 10 +
                                Session::Get().Attribute(cudaDevAttrComputeCapabilityMinor));
      return kSuccess;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = static_cast<int>(DynamicSharedLimit(kernel));
      return kSuccess;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = kernel.carveout_percent;
      return kSuccess;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      *value = static_cast<int>(kernel.OwnCluster()[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH]);
      return kSuccess;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      *value = kernel.non_portable_cluster ? 1 : 0;
      return kSuccess;
    default:
      return kInvalidValue;
  }
}

}  // namespace sassay::capture
