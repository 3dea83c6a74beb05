// One way into recording for all eight launch functions.
#ifndef SASSAY_AGENT_CAPTURE_RUNTIME_LAUNCH_H_
#define SASSAY_AGENT_CAPTURE_RUNTIME_LAUNCH_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "agent/capture/runtime/session.h"

namespace sassay::capture {

// What a launch asks for, whichever function asked.
struct LaunchRequest {
  const char* function = "";
  KernelInfo* kernel = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t cluster[3] = {0, 0, 0};
  uint64_t dynamic_shared_bytes = 0;
  // Pointers to arguments, or (CU_LAUNCH_PARAM_BUFFER_POINTER) one packed buffer.
  void** arguments = nullptr;
  const char* packed = nullptr;
  size_t packed_bytes = 0;
  bool cooperative = false;
  bool programmatic = false;
  int carveout_percent = -1;
  const void* stream = nullptr;
  CallSite site;
};

// Validates like the driver, but ends the capture where the driver would return an error: a launch that fails is the
// candidate's first cause. Returns 0.
int RecordLaunch(const LaunchRequest& request);

// Ends the capture, naming the kernel and the launch's source line.
[[noreturn]] void RefuseLaunch(const LaunchRequest& request, FindingCode code, const std::string& why);
// Records something that becomes a warning of the plan.
void NoteLaunch(const LaunchRequest& request, const std::string& what);

// Remembered between __cudaPushCallConfiguration (whose caller is the line of `<<<…>>>`) and the launch.
CallSite& PushedCallSite();

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_RUNTIME_LAUNCH_H_
