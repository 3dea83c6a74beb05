// For tests: captures an entry of one of the candidates in testdata/, in the real sandbox.
#ifndef SASSAY_AGENT_CAPTURE_PLAN_CAPTURE_TESTING_H_
#define SASSAY_AGENT_CAPTURE_PLAN_CAPTURE_TESTING_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "agent/capture/plan/capture.h"
#include "common/base/files.h"
#include "common/workload/catalog.h"

namespace sassay::capture {

// A request for `entry` of testdata candidate `name`, for gemm_n256_k256/M=64.
inline CaptureRequest CandidateRequest(const std::string& name, const std::string& entry) {
  const std::string bin = std::getenv("SASSAY_TEST_BIN");
  const std::string candidate = bin + "/../tests/capture/" + name;
  CaptureRequest request;
  request.shared_object = *ReadFile(candidate + ".so");
  request.cubin = *ReadFile(candidate + ".cubin");
  request.entry = entry;
  request.program_directory = bin;
  request.workloads = {*WorkloadCatalog::BuiltIn().Resolve("gemm_n256_k256/M=64")};
  request.source_roots = {std::string(std::getenv("SASSAY_TEST_SOURCE")) + "/agent/capture/testdata/"};
  if (!ProbeSandbox().Complete()) request.allow_unsandboxed = AllowUnsandboxed{"the test machine has no sandbox"};
  return request;
}

inline WorkloadCapture CaptureOne(const CaptureRequest& request) {
  auto result = Capture(request);
  if (!result.ok()) {
    ADD_FAILURE() << result.status();
    return {};
  }
  return result->workloads[0];
}

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_PLAN_CAPTURE_TESTING_H_
