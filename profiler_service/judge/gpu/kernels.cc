#include "profiler_service/judge/gpu/kernels.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "profiler_service/judge/inputs/inputs.h"

extern "C" const char sassay_judge_kernels_begin[];
extern "C" const char sassay_judge_kernels_end[];

namespace sassay::judge::gpu {
namespace {

// A GPU with slow fp64 takes seconds for the largest reference.
constexpr absl::Duration kTimeout = absl::Minutes(2);

sassay::v1::Dim3 Dim(uint64_t x, uint64_t y, uint64_t z) {
  sassay::v1::Dim3 dim;
  dim.set_x(static_cast<uint32_t>(x));
  dim.set_y(static_cast<uint32_t>(y));
  dim.set_z(static_cast<uint32_t>(z));
  return dim;
}

}  // namespace

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  if (this == &other) return *this;
  Free();
  device_ = std::exchange(other.device_, nullptr);
  address_ = other.address_;
  size_bytes_ = other.size_bytes_;
  return *this;
}

void DeviceMemory::Free() {
  if (device_ != nullptr) device_->Free(address_).IgnoreError();
  device_ = nullptr;
}

absl::StatusOr<std::unique_ptr<Kernels>> Kernels::Load(device::Device& device) {
  sassay::v1::Bundle module;
  module.set_cubin(sassay_judge_kernels_begin, sassay_judge_kernels_end - sassay_judge_kernels_begin);
  return Load(device, module);
}

absl::StatusOr<std::unique_ptr<Kernels>> Kernels::Load(device::Device& device, const sassay::v1::Bundle& module) {
  RETURN_IF_ERROR(device.LoadModule(module));
  std::unique_ptr<Kernels> kernels(new Kernels(device));
  const std::vector<float>& normal = NormalQuantiles();
  const absl::string_view bytes(reinterpret_cast<const char*>(normal.data()), normal.size() * sizeof(float));
  ASSIGN_OR_RETURN(kernels->normal_table_, kernels->Upload(bytes, "normal quantiles"));
  ASSIGN_OR_RETURN(kernels->partials_, kernels->Allocate(kPartials * kLargestPartial, "partial results"));
  return kernels;
}

absl::StatusOr<DeviceMemory> Kernels::Allocate(uint64_t size_bytes, absl::string_view label) {
  ASSIGN_OR_RETURN(const device::DeviceAddress address, device_.Allocate(size_bytes, label));
  return DeviceMemory(device_, address, size_bytes);
}

absl::StatusOr<DeviceMemory> Kernels::Upload(absl::string_view bytes, absl::string_view label) {
  ASSIGN_OR_RETURN(DeviceMemory memory, Allocate(bytes.size(), label));
  RETURN_IF_ERROR(device_.Write(memory.address(), bytes));
  return memory;
}

uint64_t Kernels::WalkBlocks(uint64_t count) {
  return std::clamp<uint64_t>((count + kThreads - 1) / kThreads, 1, kPartials);
}

absl::Status Kernels::LaunchBytes(absl::string_view kernel, const Grid& grid, std::string arguments,
                                  uint32_t shared_bytes) {
  device::Launch launch;
  launch.kernel = std::string(kernel);
  launch.grid = Dim(grid.x, grid.y, grid.z);
  launch.block = Dim(kThreads, 1, 1);
  launch.dynamic_shared_bytes = shared_bytes;
  launch.arguments.push_back(std::move(arguments));
  const absl::Status status = device_.Enqueue(launch);
  if (status.ok()) return status;
  return absl::InternalError(absl::StrCat("launching the judge's ", kernel, ": ", status.message()));
}

absl::Status Kernels::Finish() {
  ASSIGN_OR_RETURN(const device::Execution execution, device_.Synchronize(SteadyNow() + kTimeout));
  if (execution.outcome == sassay::worker::RUN_OUTCOME_OK) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("a kernel of the judge failed: ", execution.message));
}

absl::Status Kernels::Fetch(void* to, uint64_t size_bytes, device::DeviceAddress from) {
  RETURN_IF_ERROR(Finish());
  return device_.Read(absl::MakeSpan(static_cast<char*>(to), size_bytes), from);
}

absl::StatusOr<Element> ElementOf(sassay::v1::DType dtype) {
  switch (dtype) {
    case sassay::v1::DTYPE_FLOAT64:
      return Element::kFloat64;
    case sassay::v1::DTYPE_FLOAT32:
      return Element::kFloat32;
    case sassay::v1::DTYPE_FLOAT16:
      return Element::kFloat16;
    case sassay::v1::DTYPE_BFLOAT16:
      return Element::kBfloat16;
    case sassay::v1::DTYPE_FLOAT8_E4M3FN:
      return Element::kE4m3;
    case sassay::v1::DTYPE_FLOAT8_E5M2:
      return Element::kE5m2;
    case sassay::v1::DTYPE_INT64:
      return Element::kInt64;
    case sassay::v1::DTYPE_INT32:
      return Element::kInt32;
    case sassay::v1::DTYPE_INT16:
      return Element::kInt16;
    case sassay::v1::DTYPE_INT8:
      return Element::kInt8;
    case sassay::v1::DTYPE_UINT8:
      return Element::kUint8;
    case sassay::v1::DTYPE_BOOL:
      return Element::kBool;
    default:
      return absl::InvalidArgumentError(absl::StrCat("no tensor has the dtype ", sassay::v1::DType_Name(dtype)));
  }
}

}  // namespace sassay::judge::gpu
