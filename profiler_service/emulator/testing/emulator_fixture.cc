#include "profiler_service/emulator/testing/emulator_fixture.h"

#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "profiler_service/emulator/emulated_device.h"

namespace sassay::emulator {
namespace {

template <class T>
T Must(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
    std::abort();
  }
  return *std::move(value);
}

void Must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}

sassay::v1::Dim3 Dim(const std::array<uint32_t, 3>& extents) {
  sassay::v1::Dim3 dim;
  dim.set_x(extents[0]);
  dim.set_y(extents[1]);
  dim.set_z(extents[2]);
  return dim;
}

}  // namespace

sassay::v1::Bundle CompiledBundle(const std::string& name) {
  sassay::v1::Bundle bundle;
  bundle.set_ptx(Must(ReadFile(absl::StrCat(SASSAY_TEST_PTX_DIR, "/", name, ".ptx"))));
  auto& source = *bundle.add_sources();
  source.set_path(absl::StrCat(name, ".cu"));
  source.set_content(Must(ReadFile(absl::StrCat(SASSAY_TEST_KERNEL_DIR, "/", name, ".cu"))));
  return bundle;
}

std::string CompiledCubin(const std::string& name) {
  return Must(ReadFile(absl::StrCat(SASSAY_TEST_PTX_DIR, "/", name, ".cubin")));
}

sassay::v1::Bundle TextBundle(const std::string& body, const std::string& arch) {
  sassay::v1::Bundle bundle;
  bundle.set_ptx(absl::StrCat(".version 9.0\n.target ", arch, "\n.address_size 64\n", body));
  return bundle;
}

Emulated::Emulated(const sassay::v1::Bundle& bundle, sassay::worker::RunMode mode, const std::string& arch)
    : device_(Must(EmulatedDevice::Open(arch, mode))) {
  Must(device_->LoadModule(bundle));
}

uint64_t Emulated::Allocate(uint64_t size_bytes, const std::string& label) {
  return Must(device_->Allocate(size_bytes, label));
}

uint64_t Emulated::UploadBytes(const void* data, uint64_t size_bytes, const std::string& label) {
  const uint64_t address = Allocate(size_bytes, label);
  Must(device_->Write(address, absl::MakeConstSpan(static_cast<const char*>(data), size_bytes)));
  return address;
}

void Emulated::DownloadBytes(void* data, uint64_t size_bytes, uint64_t address) {
  Must(device_->Read(absl::MakeSpan(static_cast<char*>(data), size_bytes), address));
}

device::Execution Emulated::Run(const std::string& kernel, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
                                const std::vector<std::string>& arguments, uint32_t dynamic_shared_bytes,
                                bool cooperative, absl::Duration deadline) {
  device::Launch launch;
  launch.kernel = kernel;
  launch.grid = Dim(grid);
  launch.block = Dim(block);
  launch.dynamic_shared_bytes = dynamic_shared_bytes;
  launch.cooperative = cooperative;
  launch.arguments = arguments;
  device::Execution trouble;
  trouble.outcome = sassay::worker::RUN_OUTCOME_INFRA;
  const absl::Status enqueued = device_->Enqueue(launch);
  if (!enqueued.ok()) {
    trouble.message = enqueued.ToString();
    return trouble;
  }
  auto execution = device_->Synchronize(absl::Now() + deadline);
  if (execution.ok()) return *execution;
  trouble.message = execution.status().ToString();
  return trouble;
}

}  // namespace sassay::emulator
