// The part of CudaDevice that deals with the candidate's module: loading, launching and waiting.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/demangle/demangle.h"
#include "profiler_service/device/cuda/cuda_device.h"
#include "profiler_service/device/cuda/fault.h"

namespace sassay::device::cuda {
namespace {

constexpr uint32_t kPortableClusterBlocks = 8;
constexpr uint32_t kDefaultDynamicSharedBytes = 48 << 10;

uint64_t Blocks(const sassay::v1::Dim3& extent) { return static_cast<uint64_t>(extent.x()) * extent.y() * extent.z(); }

std::string Text(const sassay::v1::Dim3& extent) {
  return absl::StrCat("(", extent.x(), ",", extent.y(), ",", extent.z(), ")");
}

std::string Text(const Launch& launch) {
  return absl::StrCat("launching ", ShortKernelName(launch.kernel), " with grid ", Text(launch.grid), ", block ",
                      Text(launch.block), ", cluster ", Text(launch.cluster), ", ", launch.dynamic_shared_bytes,
                      " bytes of dynamic shared memory");
}

std::vector<CUlaunchAttribute> Attributes(const Launch& launch) {
  std::vector<CUlaunchAttribute> attributes;
  CUlaunchAttribute attribute{};
  if (Blocks(launch.cluster) > 0) {
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = launch.cluster.x();
    attribute.value.clusterDim.y = launch.cluster.y();
    attribute.value.clusterDim.z = launch.cluster.z();
    attributes.push_back(attribute);
  }
  if (launch.cooperative) {
    attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
    attributes.push_back(attribute);
  }
  if (launch.programmatic_stream_serialization) {
    attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    attributes.push_back(attribute);
  }
  return attributes;
}

// The driver copies as many bytes as the kernel declares: fewer in `arguments` would be read out of bounds here.
absl::Status CheckArguments(const Launch& launch, const std::vector<size_t>& parameter_bytes) {
  bool equal = launch.arguments.size() == parameter_bytes.size();
  for (size_t i = 0; equal && i < parameter_bytes.size(); ++i) {
    equal = launch.arguments[i].size() == parameter_bytes[i];
  }
  if (equal) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      ShortKernelName(launch.kernel), ": the cubin declares parameters of (", absl::StrJoin(parameter_bytes, ", "),
      ") bytes, the launch has (",
      absl::StrJoin(launch.arguments, ", ",
                    [](std::string* out, const std::string& bytes) { absl::StrAppend(out, bytes.size()); }),
      ")"));
}

// cuTensorMapEncodeTiled reads full arrays.
struct TensorMapArguments {
  explicit TensorMapArguments(const sassay::v1::TensorMap& map) {
    std::copy_n(map.global_dim().begin(), std::min(map.global_dim_size(), 5), global_dim);
    std::copy_n(map.global_stride_bytes().begin(), std::min(map.global_stride_bytes_size(), 4), global_stride);
    std::copy_n(map.box_dim().begin(), std::min(map.box_dim_size(), 5), box_dim);
    std::copy_n(map.element_stride().begin(), std::min(map.element_stride_size(), 5), element_stride);
  }
  cuuint64_t global_dim[5] = {1, 1, 1, 1, 1};
  cuuint64_t global_stride[4] = {};
  cuuint32_t box_dim[5] = {1, 1, 1, 1, 1};
  cuuint32_t element_stride[5] = {1, 1, 1, 1, 1};
};

}  // namespace

absl::Status CudaDevice::LoadModule(const sassay::v1::Bundle& bundle) {
  RETURN_IF_ERROR(Enter());
  if (module_ != nullptr) return absl::FailedPreconditionError("this context already has a module");
  char log[4096] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(uintptr_t{sizeof(log) - 1})};
  const CUresult result = driver_.cuModuleLoadDataEx(&module_, bundle.cubin().data(), 2, options, values);
  if (result == CUDA_SUCCESS) {
    if (counter_ == nullptr) return absl::OkStatus();
    const absl::StatusOr<uint64_t> crc = counter_->CubinCrc(bundle.cubin());
    cubin_crc_ = crc.value_or(0);
    NoteCounting(crc.status());
    return absl::OkStatus();
  }
  module_ = nullptr;
  const std::string message = absl::StrCat("loading the cubin: ", driver_.Describe(result), log[0] ? "; " : "", log);
  if (IsRefusal(result)) return absl::InvalidArgumentError(message);
  return absl::Status(driver_.Check(result, "").code(), message);
}

absl::StatusOr<SymbolRegion> CudaDevice::Symbol(absl::string_view name) {
  RETURN_IF_ERROR(Enter());
  if (module_ == nullptr) return absl::FailedPreconditionError("no module is loaded");
  CUdeviceptr address = 0;
  size_t size = 0;
  RETURN_IF_ERROR(driver_.Check(driver_.cuModuleGetGlobal(&address, &size, module_, std::string(name).c_str()),
                                absl::StrCat("looking for the variable ", name)));
  memory_.Admit(address, size);
  return SymbolRegion{address, size};
}

absl::StatusOr<std::array<char, 128>> CudaDevice::EncodeTensorMap(const sassay::v1::TensorMap& map,
                                                                  DeviceAddress base) {
  RETURN_IF_ERROR(Enter());
  const int rank = map.global_dim_size();
  if (rank < 1 || rank > 5) {
    return absl::InvalidArgumentError(absl::StrCat("a tensor map has 1 to 5 dimensions, got ", rank));
  }
  const TensorMapArguments arguments(map);
  CUtensorMap encoded{};
  const CUresult result = driver_.cuTensorMapEncodeTiled(
      &encoded, static_cast<CUtensorMapDataType>(map.data_type()), static_cast<cuuint32_t>(rank),
      reinterpret_cast<void*>(base), arguments.global_dim, arguments.global_stride, arguments.box_dim,
      arguments.element_stride, static_cast<CUtensorMapInterleave>(map.interleave()),
      static_cast<CUtensorMapSwizzle>(map.swizzle()), static_cast<CUtensorMapL2promotion>(map.l2_promotion()),
      static_cast<CUtensorMapFloatOOBfill>(map.oob_fill()));
  if (IsRefusal(result)) return absl::InvalidArgumentError("encoding a tensor map: " + driver_.Describe(result));
  RETURN_IF_ERROR(driver_.Check(result, "encoding a tensor map"));
  std::array<char, 128> bytes;
  static_assert(sizeof(encoded) == sizeof(bytes));
  std::memcpy(bytes.data(), &encoded, sizeof(encoded));
  return bytes;
}

absl::StatusOr<CudaDevice::Kernel*> CudaDevice::FindKernel(const std::string& name) {
  if (const auto known = kernels_.find(name); known != kernels_.end()) return &known->second;
  if (module_ == nullptr) return absl::FailedPreconditionError("no module is loaded");
  Kernel kernel;
  const CUresult result = driver_.cuModuleGetFunction(&kernel.function, module_, name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) {
    return absl::InvalidArgumentError(absl::StrCat("the cubin has no kernel ", name));
  }
  RETURN_IF_ERROR(Try(result, absl::StrCat("looking for the kernel ", name)));
  size_t offset = 0, size = 0;
  while (driver_.cuFuncGetParamInfo(kernel.function, kernel.parameter_bytes.size(), &offset, &size) == CUDA_SUCCESS) {
    kernel.parameter_bytes.push_back(size);
  }
  return &(kernels_[name] = std::move(kernel));
}

absl::Status CudaDevice::Prepare(Kernel& kernel, const Launch& launch) {
  const auto set = [&](CUfunction_attribute attribute, int value, absl::string_view what) -> absl::Status {
    const CUresult result = driver_.cuFuncSetAttribute(kernel.function, attribute, value);
    if (result == CUDA_SUCCESS || IsKernelFault(result)) return Try(result, "");
    const std::string message =
        absl::StrCat(ShortKernelName(launch.kernel), ": ", what, " ", value, ": ", driver_.Describe(result));
    return IsRefusal(result) ? absl::InvalidArgumentError(message) : absl::InternalError(message);
  };
  if (launch.dynamic_shared_bytes > std::max(kDefaultDynamicSharedBytes, kernel.dynamic_shared_limit)) {
    RETURN_IF_ERROR(set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(launch.dynamic_shared_bytes),
                        "dynamic shared memory in bytes"));
    kernel.dynamic_shared_limit = launch.dynamic_shared_bytes;
  }
  if (Blocks(launch.cluster) > kPortableClusterBlocks) {
    RETURN_IF_ERROR(set(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, "non-portable cluster size"));
  }
  if (launch.shared_carveout_percent >= 0) {
    RETURN_IF_ERROR(set(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, launch.shared_carveout_percent,
                        "shared memory carve-out in percent"));
  }
  return absl::OkStatus();
}

absl::Status CudaDevice::BeginBusy() {
  if (pending_) return absl::OkStatus();
  pending_ = true;
  return Try(driver_.cuEventRecord(busy_begin_, stream_), "recording an event");
}

absl::Status CudaDevice::Enqueue(const Launch& launch) {
  RETURN_IF_ERROR(Enter());
  ASSIGN_OR_RETURN(Kernel * kernel, FindKernel(launch.kernel));
  if (fault_ != CUDA_SUCCESS) return absl::OkStatus();
  RETURN_IF_ERROR(CheckArguments(launch, kernel->parameter_bytes));
  RETURN_IF_ERROR(Prepare(*kernel, launch));
  RETURN_IF_ERROR(BeginBusy());
  std::vector<CUlaunchAttribute> attributes = Attributes(launch);
  CUlaunchConfig config{};
  config.gridDimX = launch.grid.x();
  config.gridDimY = launch.grid.y();
  config.gridDimZ = launch.grid.z();
  config.blockDimX = launch.block.x();
  config.blockDimY = launch.block.y();
  config.blockDimZ = launch.block.z();
  config.sharedMemBytes = launch.dynamic_shared_bytes;
  config.hStream = stream_;
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  std::vector<void*> arguments;
  for (const std::string& bytes : launch.arguments) arguments.push_back(const_cast<char*>(bytes.data()));
  if (counting_) NoteCounting(counter_->Arm(launch.kernel));
  const CUresult result = driver_.cuLaunchKernelEx(&config, kernel->function, arguments.data(), nullptr);
  if (!IsKernelFault(result)) last_kernel_ = launch.kernel;
  if (IsRefusal(result)) return absl::InvalidArgumentError(absl::StrCat(Text(launch), ": ", driver_.Describe(result)));
  return Try(result, Text(launch));
}

uint64_t CudaDevice::BusyNanoseconds() {
  float milliseconds = 0;
  if (driver_.cuEventElapsedTime(&milliseconds, busy_begin_, busy_end_) != CUDA_SUCCESS) return 0;
  return static_cast<uint64_t>(static_cast<double>(milliseconds) * 1e6);
}

absl::StatusOr<Execution> CudaDevice::Synchronize(absl::Time deadline) {
  RETURN_IF_ERROR(Enter());
  CUresult result = fault_;
  if (result == CUDA_SUCCESS) result = driver_.cuEventRecord(busy_end_, stream_);
  if (result == CUDA_SUCCESS) result = Poll(deadline);
  if (result != CUDA_SUCCESS) abandoned_ = true;
  if (result == CUDA_ERROR_NOT_READY) return TimeoutExecution(last_kernel_);
  Execution execution = ExecutionFor(result, last_kernel_, driver_.Describe(result));
  if (result != CUDA_SUCCESS) return execution;
  if (pending_) execution.device_ns = BusyNanoseconds();
  pending_ = false;
  DropStaging();
  if (counting_) NoteCounting(counter_->Take());
  return execution;
}

}  // namespace sassay::device::cuda
