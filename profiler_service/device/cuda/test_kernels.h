// For GPU tests: the kernels of testdata/test_kernels.cu, as PTX that lies beside the test program and that the driver
// assembles for whatever GPU there is.
#ifndef SASSAY_PROFILER_SERVICE_DEVICE_CUDA_TEST_KERNELS_H_
#define SASSAY_PROFILER_SERVICE_DEVICE_CUDA_TEST_KERNELS_H_

#include <filesystem>
#include <string>

#include "common/base/files.h"
#include "profiler_service/wire/gpu_nodes.h"
#include "sassay/v1/bundle.pb.h"

namespace sassay::device::cuda {

// Empty if a GPU test can run here; otherwise why not.
inline std::string WhyNoGpu() { return wire::ListGpuNodes().empty() ? "no NVIDIA GPU that this process may open" : ""; }

// A bundle whose image is the PTX.
inline v1::Bundle TestKernels() {
  v1::Bundle bundle;
  const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "test_kernels.ptx";
  const auto ptx = ReadFile(path);
  if (!ptx.ok()) return bundle;
  bundle.set_cubin(*ptx);
  bundle.set_ptx(*ptx);
  return bundle;
}

}  // namespace sassay::device::cuda

#endif  // SASSAY_PROFILER_SERVICE_DEVICE_CUDA_TEST_KERNELS_H_
