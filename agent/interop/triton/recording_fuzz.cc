// Whatever bytes the sandbox leaves: reading them ends, and what was read makes a plan or a verdict.
#include <cstdint>

#include "agent/interop/triton/plan.h"
#include "agent/interop/triton/recording.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto recording = sassay::agent::ParseTritonRecording(text, 3);
  if (!recording.ok()) return 0;
  if (recording->failure.has_value()) {
    sassay::agent::TritonFailureVerdict(*recording->failure, text);
    return 0;
  }
  sassay::v1::Workload workload;
  for (const char* name : {"A", "B"}) workload.add_inputs()->set_name(name);
  workload.add_outputs()->set_name("C");
  const std::vector<std::string> symbols(recording->kernels.size(), "kernel");
  sassay::agent::MakeTritonPlan(*recording, workload, symbols, "NVIDIA H200");
  return 0;
}
