// What candidates print on the device: the CUDA driver writes it to this process's standard output.
#ifndef SASSAY_PROFILER_SERVICE_RUNNER_OUTPUT_CAPTURE_H_
#define SASSAY_PROFILER_SERVICE_RUNNER_OUTPUT_CAPTURE_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/base/fd.h"

namespace sassay::runner {

// Turns standard output into memory of ours. Once per process, before a context exists. Thread-compatible.
class OutputCapture {
 public:
  static constexpr size_t kMaxBytes = 16 << 10;

  static absl::StatusOr<OutputCapture> Start();
  // What was printed since the last call, capped and marked as capped.
  std::string Take();

 private:
  explicit OutputCapture(UniqueFd memory) : memory_(std::move(memory)) {}
  UniqueFd memory_;
};

}  // namespace sassay::runner

#endif  // SASSAY_PROFILER_SERVICE_RUNNER_OUTPUT_CAPTURE_H_
