// What a runner may see: its own program, the system's libraries, and of the machine's devices only its GPU.
#ifndef SASSAY_PROFILER_SERVICE_WIRE_RUNNER_SANDBOX_H_
#define SASSAY_PROFILER_SERVICE_WIRE_RUNNER_SANDBOX_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/sandbox/sandbox.h"

namespace sassay::wire {

// The policy for profiler-runner at `program` on `device` ("cuda:0", "emulated:sm_90a").
//
// Emulated: no device node at all, memory limited. CUDA: the GPU's nodes below `root`/dev and the driver's libraries
// where they lie outside the system's folders (/usr/local/nvidia on container hosts); address space unlimited, because
// the driver reserves far more than it uses. `extra_programs` (compute-sanitizer) are made visible with their folders.
SandboxPolicy RunnerSandbox(absl::string_view device, const std::filesystem::path& program,
                            const std::vector<std::filesystem::path>& extra_programs = {},
                            const std::filesystem::path& root = "/");

}  // namespace sassay::wire

#endif  // SASSAY_PROFILER_SERVICE_WIRE_RUNNER_SANDBOX_H_
