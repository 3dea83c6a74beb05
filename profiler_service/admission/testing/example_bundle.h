// A small bundle that passes admission, made of really compiled code, for tests that need one or want to damage one.
#ifndef SASSAY_PROFILER_SERVICE_ADMISSION_TESTING_EXAMPLE_BUNDLE_H_
#define SASSAY_PROFILER_SERVICE_ADMISSION_TESTING_EXAMPLE_BUNDLE_H_

#include <string>

#include "profiler_service/admission/admission.h"
#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::admission {

// "gemm_n256_k256/M=64" of the built-in catalogue.
sassay::v1::Workload ExampleWorkload();

// A bundle for ExampleWorkload() for `arch` ("sm_90a", "sm_100a"), out of common/bundle/testdata/kernels.cu. Its plan
// has, besides the tensors A, B and C (buffers 0 to 2), a setup allocation (3), a call allocation (4) and the symbol
// `coefficients` (5); setup allocates 3 and uploads the symbol; a call allocates 4, fills it, copies 4 to 3, launches
// `gemm` with three pointers and M, launches `tensor_map` (sm_90 and later) and frees 4.
sassay::v1::Bundle ExampleBundle(const std::string& arch = "sm_90a");

// The H200 that ExampleBundle was captured for.
DeviceFacts ExampleDevice();

}  // namespace sassay::admission

#endif  // SASSAY_PROFILER_SERVICE_ADMISSION_TESTING_EXAMPLE_BUNDLE_H_
