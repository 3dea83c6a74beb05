// Several PTX modules as one: a bundle has one cubin.
#ifndef SASSAY_AGENT_INTEROP_TRITON_JOIN_PTX_H_
#define SASSAY_AGENT_INTEROP_TRITON_JOIN_PTX_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay::agent {

// A module that Triton made, and the one kernel in it.
struct PtxModule {
  std::string kernel;
  std::string ptx;
};

struct JoinedPtx {
  std::string ptx;
  // The kernels' names in it, in the modules' order; equal modules share one.
  std::vector<std::string> kernels;
};

// One module stays as it is. Of several, functions and variables that share a name are numbered ("matmul_1"), line
// tables are joined, and debug sections, which hold no lines, go. INVALID_ARGUMENT for modules of different headers, or
// without their kernel.
absl::StatusOr<JoinedPtx> JoinPtx(const std::vector<PtxModule>& modules);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_INTEROP_TRITON_JOIN_PTX_H_
