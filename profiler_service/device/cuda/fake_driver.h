// For tests alone: a driver without a GPU behind it, so that what we make of its errors is tested on any machine.
#ifndef SASSAY_PROFILER_SERVICE_DEVICE_CUDA_FAKE_DRIVER_H_
#define SASSAY_PROFILER_SERVICE_DEVICE_CUDA_FAKE_DRIVER_H_

#include <map>
#include <string>

#include "profiler_service/device/cuda/driver.h"

namespace sassay::device::cuda {

// What the fake's calls return: by name, and for everything once a kernel has faulted. A launch of the kernel "refused"
// is an invalid value. One test at a time.
struct FakeDriverState {
  std::map<std::string, CUresult> results;
  // Set by a launch of the kernel "faults"; every later call returns it, as a real context does.
  CUresult sticky = CUDA_SUCCESS;
  CUdeviceptr next_address = 0x700000000000;
};

// The state behind FakeDriver, for the test to change.
FakeDriverState& FakeState();

// Every function succeeds and does next to nothing, unless FakeState says otherwise. Resets FakeState.
Driver FakeDriver();

}  // namespace sassay::device::cuda

#endif  // SASSAY_PROFILER_SERVICE_DEVICE_CUDA_FAKE_DRIVER_H_
