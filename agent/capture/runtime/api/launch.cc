// Runtime API: launches, function attributes, occupancy.
#include "agent/capture/runtime/launch.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>
#include <vector>

#include "agent/capture/runtime/api/shared_api.h"
#include "agent/capture/runtime/kernels.h"
#include "agent/capture/runtime/operations.h"
#include "agent/capture/runtime/streams.h"

namespace capture = sassay::capture;
using capture::ApiScope;
using capture::FindingCode;
using capture::LaunchRequest;
using capture::Session;

namespace {

struct PushedConfiguration {
  dim3 grid, block;
  size_t shared;
  void* stream;
  capture::CallSite site;
};

std::vector<PushedConfiguration>& Pushed() {
  static thread_local std::vector<PushedConfiguration> pushed;
  return pushed;
}

void Set(uint32_t (&to)[3], dim3 from) {
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
}

LaunchRequest Request(const char* function, const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                      cudaStream_t stream) {
  LaunchRequest request;
  request.function = function;
  request.kernel = &capture::RequireKernel(function, kernel);
  Set(request.grid, grid);
  Set(request.block, block);
  request.arguments = arguments;
  request.dynamic_shared_bytes = shared;
  request.stream = stream;
  request.site = Session::Get().FindCallSite();
  return request;
}

// The stub's own address says nothing; the line of `<<<…>>>` does.
void UsePushedSite(LaunchRequest& request) {
  if (capture::PushedCallSite().count > 0) request.site = capture::PushedCallSite();
  capture::PushedCallSite().count = 0;
}

void ApplyAttribute(LaunchRequest& request, const cudaLaunchAttribute& attribute) {
  switch (attribute.id) {
    case cudaLaunchAttributeClusterDimension:
      request.cluster[0] = attribute.val.clusterDim.x;
      request.cluster[1] = attribute.val.clusterDim.y;
      request.cluster[2] = attribute.val.clusterDim.z;
      return;
    case cudaLaunchAttributeCooperative:
      request.cooperative = attribute.val.cooperative != 0;
      return;
    case cudaLaunchAttributeProgrammaticStreamSerialization:
      request.programmatic = attribute.val.programmaticStreamSerializationAllowed != 0;
      return;
    case cudaLaunchAttributePreferredSharedMemoryCarveout:
      request.carveout_percent = static_cast<int>(attribute.val.sharedMemCarveout);
      return;
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    case cudaLaunchAttributeMemSyncDomain:
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributeSynchronizationPolicy:
    case cudaLaunchAttributePreferredClusterDimension:
      return;  // hints: they change speed, never what is computed
    default:
      Session::Get().Refuse(FindingCode::kUnsupportedApi,
                            "unsupported: launch attribute " + std::to_string(static_cast<int>(attribute.id)));
  }
}

void ApplyAttributes(LaunchRequest& request, const cudaLaunchAttribute* attributes, unsigned count) {
  for (unsigned i = 0; i < count; ++i) ApplyAttribute(request, attributes[i]);
}

// One extent at a time; whether the three fit each other is seen at the launch, as the driver does it.
int SetRequiredCluster(ApiScope& scope, capture::KernelInfo& kernel, int axis, int value) {
  if (kernel.cluster[0] != 0) {
    return scope.Return(
        cudaErrorNotPermitted,
        capture::ShortName(kernel.symbol) + ": the cluster is fixed by __cluster_dims__ and cannot be set again");
  }
  if (value < 0) return scope.Return(capture::kInvalidValue, "a cluster of " + std::to_string(value) + " blocks");
  kernel.required_cluster[axis] = static_cast<uint32_t>(value);
  return 0;
}

int SetMaxDynamicShared(ApiScope& scope, capture::KernelInfo& kernel, int value) {
  const int64_t most = Session::Get().Attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (value < 0 || value + int64_t{kernel.static_shared_bytes} > most) {
    return scope.Return(capture::kInvalidValue,
                        capture::ShortName(kernel.symbol) + ": " + std::to_string(value) + " bytes of dynamic and " +
                            std::to_string(kernel.static_shared_bytes) +
                            " of static shared memory; a block may have at most " + std::to_string(most) + " in all");
  }
  kernel.dynamic_shared_limit = static_cast<uint32_t>(value);
  return 0;
}

}  // namespace

namespace sassay::capture {

// Shared with the driver API: the numbers of cudaFuncAttribute and CUfunction_attribute agree.
int SetFunctionAttribute(const char* function, const void* handle, int attribute, int value) {
  ApiScope scope(function);
  KernelInfo& kernel = RequireKernel(function, handle);
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      return SetMaxDynamicShared(scope, kernel, value);
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      kernel.carveout_percent = value;
      return 0;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      kernel.non_portable_cluster = value != 0;
      return 0;
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
      return 0;
    case cudaFuncAttributeRequiredClusterWidth:
    case cudaFuncAttributeRequiredClusterHeight:
    case cudaFuncAttributeRequiredClusterDepth:
      return SetRequiredCluster(scope, kernel, attribute - cudaFuncAttributeRequiredClusterWidth, value);
    default:
      return scope.Return(kInvalidValue, "attribute " + std::to_string(attribute));
  }
}

// `attributes` are cudaLaunchAttribute or CUlaunchAttribute: one layout, one numbering.
int LaunchWithAttributes(const char* function, LaunchRequest& request, const void* attributes, unsigned count) {
  ApplyAttributes(request, static_cast<const cudaLaunchAttribute*>(attributes), count);
  UsePushedSite(request);
  return RecordLaunch(request);
}

}  // namespace sassay::capture

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream) {
  ApiScope scope("__cudaPushCallConfiguration");
  Pushed().push_back({grid, block, shared, stream, Session::Get().FindCallSite()});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  ApiScope scope("__cudaPopCallConfiguration");
  if (Pushed().empty()) return cudaErrorMissingConfiguration;
  const PushedConfiguration& top = Pushed().back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *static_cast<void**>(stream) = top.stream;
  capture::PushedCallSite() = top.site;
  Pushed().pop_back();
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(stub));
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  ApiScope scope("cudaLaunchKernel");
  LaunchRequest request = Request("cudaLaunchKernel", kernel, grid, block, arguments, shared, stream);
  UsePushedSite(request);
  return static_cast<cudaError_t>(capture::RecordLaunch(request));
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                                        cudaStream_t stream) {
  ApiScope scope("cudaLaunchCooperativeKernel");
  LaunchRequest request = Request("cudaLaunchCooperativeKernel", kernel, grid, block, arguments, shared, stream);
  request.cooperative = true;
  return static_cast<cudaError_t>(capture::RecordLaunch(request));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
  ApiScope scope("cudaLaunchKernelExC");
  LaunchRequest request = Request("cudaLaunchKernelExC", kernel, config->gridDim, config->blockDim, arguments,
                                  config->dynamicSmemBytes, config->stream);
  return static_cast<cudaError_t>(
      capture::LaunchWithAttributes("cudaLaunchKernelExC", request, config->attrs, config->numAttrs));
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  return static_cast<cudaError_t>(capture::SetFunctionAttribute("cudaFuncSetAttribute", kernel, attribute, value));
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int) {
  return static_cast<cudaError_t>(
      capture::SetFunctionAttribute("cudaKernelSetAttributeForDevice", kernel, attribute, value));
}

cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* handle) {
  ApiScope scope("cudaFuncGetAttributes");
  const capture::KernelInfo& kernel = capture::RequireKernel("cudaFuncGetAttributes", handle);
  *attributes = {};
  attributes->sharedSizeBytes = kernel.static_shared_bytes;
  attributes->localSizeBytes = kernel.stack_bytes;
  attributes->maxThreadsPerBlock = static_cast<int>(kernel.max_threads);
  attributes->numRegs = static_cast<int>(kernel.registers);
  attributes->ptxVersion = attributes->binaryVersion =
      static_cast<int>(Session::Get().Attribute(cudaDevAttrComputeCapabilityMajor) * 10 +
                       Session::Get().Attribute(cudaDevAttrComputeCapabilityMinor));
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(capture::DynamicSharedLimit(kernel));
  attributes->preferredShmemCarveout = kernel.carveout_percent;
  attributes->clusterDimMustBeSet = 0;
  attributes->requiredClusterWidth = static_cast<int>(kernel.OwnCluster()[0]);
  attributes->requiredClusterHeight = static_cast<int>(kernel.OwnCluster()[1]);
  attributes->requiredClusterDepth = static_cast<int>(kernel.OwnCluster()[2]);
  attributes->nonPortableClusterSizeAllowed = kernel.non_portable_cluster;
  return cudaSuccess;
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* stub) {
  ApiScope scope("cudaGetFuncBySymbol");
  *function = reinterpret_cast<cudaFunction_t>(&capture::RequireKernel("cudaGetFuncBySymbol", stub));
  return cudaSuccess;
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  ApiScope scope("cudaGetKernel");
  *kernel = reinterpret_cast<cudaKernel_t>(&capture::RequireKernel("cudaGetKernel", stub));
  return cudaSuccess;
}

}  // extern "C"
