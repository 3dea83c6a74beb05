#include "profiler_service/admission/testing/example_bundle.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/workload/catalog.h"
#include "common/workload/definition.h"

namespace sassay::admission {
namespace {

std::string Fixture(const std::string& name) {
  auto bytes = ReadFile(std::filesystem::path(SASSAY_BUNDLE_FIXTURES) / name);
  if (!bytes.ok()) {
    std::cerr << bytes.status() << "; build the target sassay_bundle_fixtures\n";
    std::abort();
  }
  return *bytes;
}

v1::Buffer& AddBuffer(v1::LaunchPlan& plan, v1::BufferKind kind, const std::string& name, uint64_t size_bytes) {
  v1::Buffer& buffer = *plan.add_buffers();
  buffer.set_kind(kind);
  buffer.set_name(name);
  buffer.set_size_bytes(size_bytes);
  return buffer;
}

void AddBuffers(v1::LaunchPlan& plan) {
  const v1::Workload workload = ExampleWorkload();
  for (const auto& tensor : workload.inputs()) {
    AddBuffer(plan, v1::BUFFER_KIND_INPUT, tensor.name(), TensorBytes(tensor));
  }
  for (const auto& tensor : workload.outputs()) {
    AddBuffer(plan, v1::BUFFER_KIND_OUTPUT, tensor.name(), TensorBytes(tensor));
  }
  AddBuffer(plan, v1::BUFFER_KIND_SETUP_ALLOCATION, "", 4096).set_source_line("kernel.cu:10");
  AddBuffer(plan, v1::BUFFER_KIND_CALL_ALLOCATION, "", 1024).set_source_line("kernel.cu:20");
  AddBuffer(plan, v1::BUFFER_KIND_SYMBOL, "coefficients", 17 * 4);
}

void AddTensorMap(v1::LaunchPlan& plan) {
  v1::TensorMap& map = *plan.add_tensor_maps();
  map.set_data_type(9);
  map.mutable_base()->set_buffer(0);
  for (const uint64_t extent : {256, 64}) map.add_global_dim(extent);
  map.add_global_stride_bytes(512);
  for (int i = 0; i < 2; ++i) map.add_box_dim(64);
  for (int i = 0; i < 2; ++i) map.add_element_stride(1);
  map.set_swizzle(3);
}

void AddSetup(v1::LaunchPlan& plan) {
  plan.add_setup()->mutable_allocate()->set_buffer(3);
  v1::Upload& upload = *plan.add_setup()->mutable_upload();
  upload.mutable_destination()->set_buffer(5);
  upload.mutable_bytes()->set_data(std::string(17 * 4, 'c'));
}

void SetExtents(v1::Dim3& extents, uint32_t x, uint32_t y, uint32_t z) {
  extents.set_x(x);
  extents.set_y(y);
  extents.set_z(z);
}

v1::KernelLaunch& AddLaunch(v1::LaunchPlan& plan, const std::string& kernel, uint32_t blocks, uint32_t threads) {
  v1::KernelLaunch& launch = *plan.add_steady()->mutable_launch();
  launch.set_kernel(kernel);
  SetExtents(*launch.mutable_grid(), blocks, 1, 1);
  SetExtents(*launch.mutable_block(), threads, 1, 1);
  return launch;
}

void AddPointer(v1::KernelLaunch& launch, uint32_t buffer) {
  v1::RelocatableBytes& bytes = *launch.add_arguments();
  bytes.set_data(std::string(8, '\0'));
  bytes.add_relocations()->mutable_pointer()->set_buffer(buffer);
}

void AddGemm(v1::LaunchPlan& plan) {
  v1::KernelLaunch& launch = AddLaunch(plan, "gemm", 64, 256);
  for (const uint32_t buffer : {0, 1, 2}) AddPointer(launch, buffer);
  launch.add_arguments()->set_data(std::string("\x40\0\0\0", 4));
}

void AddTensorMapLaunch(v1::LaunchPlan& plan) {
  v1::KernelLaunch& launch = AddLaunch(plan, "_Z10tensor_map14CUtensorMap_stiPf", 8, 128);
  v1::RelocatableBytes& map = *launch.add_arguments();
  map.set_data(std::string(128, '\0'));
  map.add_relocations()->set_tensor_map(0);
  launch.add_arguments()->set_data(std::string(4, '\0'));
  AddPointer(launch, 4);
}

void AddSteady(v1::LaunchPlan& plan) {
  plan.add_steady()->mutable_allocate()->set_buffer(4);
  v1::DeviceMemset& memset = *plan.add_steady()->mutable_memset();
  memset.mutable_destination()->set_buffer(4);
  memset.set_element_bytes(4);
  memset.set_width_elements(256);
  memset.set_rows(1);
  v1::DeviceCopy& copy = *plan.add_steady()->mutable_copy();
  copy.mutable_destination()->set_buffer(3);
  copy.mutable_source()->set_buffer(4);
  copy.set_width_bytes(1024);
  copy.set_rows(1);
  AddGemm(plan);
  AddTensorMapLaunch(plan);
  v1::Step& free = *plan.add_steady();
  free.mutable_free()->set_buffer(4);
  free.add_depends_on(4);
}

}  // namespace

v1::Workload ExampleWorkload() { return *WorkloadCatalog::BuiltIn().Resolve("gemm_n256_k256/M=64"); }

v1::Bundle ExampleBundle(const std::string& arch) {
  v1::Bundle bundle;
  bundle.set_format_version(kBundleFormatVersion);
  bundle.mutable_compilation()->set_arch(arch);
  bundle.mutable_compilation()->set_toolkit_version("13.0.88");
  bundle.mutable_compilation()->add_ptxas_options("-v");
  bundle.set_cubin(Fixture(absl::StrCat("kernels.", arch, ".cubin")));
  bundle.set_ptx(Fixture(absl::StrCat("kernels.", arch, ".ptx")));
  v1::LaunchPlan& plan = *bundle.add_plans();
  plan.set_workload("gemm_n256_k256/M=64");
  plan.set_abi(v1::ENTRY_ABI_C);
  plan.set_profile(v1::CAPTURE_PROFILE_STRICT);
  AddBuffers(plan);
  AddTensorMap(plan);
  AddSetup(plan);
  AddSteady(plan);
  plan.set_device_model("NVIDIA H200");
  v1::DeviceAssumption& assumption = *plan.add_assumptions();
  assumption.set_property("cudaDevAttrMultiProcessorCount");
  assumption.set_value(132);
  return bundle;
}

DeviceFacts ExampleDevice() {
  DeviceFacts device;
  device.arch = "sm_90a";
  device.model = "NVIDIA H200";
  device.multiprocessors = 132;
  device.memory_bytes = uint64_t{139} << 30;
  return device;
}

}  // namespace sassay::admission
