// Which drivers run what a CUDA toolkit has built, and what to say where none does.
//
// The rule is NVIDIA's, "CUDA Compatibility", minor version compatibility
// (docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html, table 1; read in November 2026): what a
// toolkit of one major release has built runs with every driver of that major release or a later one. It holds for
// cubins, which is all that a service loads; PTX that a driver compiles would need its minor release, too.
#ifndef SASSAY_COMMON_TOOLCHAIN_CUDA_DRIVERS_H_
#define SASSAY_COMMON_TOOLCHAIN_CUDA_DRIVERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sassay/v1/profiler.pb.h"

namespace sassay {

// Whether a cubin that the release `toolkit` ("13.0.88") has built runs where the driver's newest CUDA is `driver_cuda`
// ("12.8"). What is not known stands in nobody's way.
bool RunsOn(absl::string_view toolkit, absl::string_view driver_cuda);

// "CUDA 13.0, which needs driver 580 or newer"; without the driver for a release that the table does not have.
std::string WhatToolkitNeeds(absl::string_view toolkit);

// FAILED_PRECONDITION where some of `devices` have `arch` (and `model`, unless empty), and the drivers of all of those
// are too old: what it was built with, what it needs, what they have, and what to do. OK otherwise.
absl::Status CheckDrivers(absl::string_view toolkit, absl::string_view arch, absl::string_view model,
                          const google::protobuf::RepeatedPtrField<v1::DeviceCapability>& devices);

}  // namespace sassay

#endif  // SASSAY_COMMON_TOOLCHAIN_CUDA_DRIVERS_H_
