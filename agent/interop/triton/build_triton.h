// From a Triton candidate to what a bundle is made of, on a machine without a GPU.
//
// kernel.py runs in a sandbox, once for each workload, with Triton from PyPI and a torch that only knows where tensors
// lie. Triton compiles to PTX for the target; instead of launching, what run() launches is written down. Out here the
// PTX of all kernels becomes one module, our ptxas assembles it by the rule that the service repeats (so a Triton
// bundle is VERIFIED like any other), and three recorded calls become the launch plan.
#ifndef SASSAY_AGENT_INTEROP_TRITON_BUILD_TRITON_H_
#define SASSAY_AGENT_INTEROP_TRITON_BUILD_TRITON_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/capture/devices/device_table.h"
#include "agent/interop/triton/installation.h"
#include "common/sandbox/sandbox.h"
#include "common/toolchain/toolchain.h"
#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/verdict.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::agent {

struct TritonRequest {
  std::string source;
  // "sm_90a" or "sm_100a".
  std::string arch;
  std::vector<v1::Workload> workloads;
  Toolchain toolchain;
  TritonInstallation installation;
  capture::DeviceModel device;
  // Which configuration of triton.autotune is taken, counted from 0: nothing can be timed here.
  uint32_t autotune_config = 0;
  absl::Duration timeout = absl::Minutes(2);
  std::optional<AllowUnsandboxed> unsandboxed;
};

// A compiled and recorded candidate; plans in the workloads' order.
struct TritonCandidate {
  v1::Compilation compilation;
  std::string cubin;
  std::string ptx;
  std::vector<v1::KernelFacts> kernels;
  std::string sass_families_missing;
  std::vector<v1::LaunchPlan> plans;
  absl::Duration compile_time;
  absl::Duration capture_time;
};

// A candidate, or a COMPILE_ERROR or CAPTURE_ERROR verdict.
using TritonOutcome = std::variant<TritonCandidate, v1::Verdict>;

// Whether the sources are a Triton candidate: one Python file.
bool IsTritonCandidate(const std::vector<v1::SourceFile>& sources);

// Blocking; from any thread. FAILED_PRECONDITION where there is no sandbox; INVALID_ARGUMENT for a workload that run()
// cannot be called with; UNAVAILABLE where Python did not come up.
absl::StatusOr<TritonOutcome> BuildTriton(const TritonRequest& request);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_INTEROP_TRITON_BUILD_TRITON_H_
