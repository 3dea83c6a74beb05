// What one call left behind, compared with what should be there: the part of judging that needs no device and may take
// seconds, so that it runs beside the judge's own thread.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_COMPARISON_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_COMPARISON_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "profiler_service/judge/workload_state.h"
#include "profiler_service/wire/worker.pb.h"
#include "sassay/v1/verdict.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge {

// A tensor of a case as it was read after a call.
struct SeenTensor {
  bool output = false;
  int tensor = 0;  // index into the workload's inputs or outputs
  std::string bytes;
  uint64_t poison_seed = 0;                    // of an output: what it held before the call
  absl::optional<sassay::v1::Finding> damage;  // to its guards
};

// Owns what it compares. Life cycle: Add every tensor of the case, then Run once. Thread-compatible.
class Comparison {
 public:
  Comparison(sassay::v1::Workload workload, std::string distribution, std::shared_ptr<WorkloadState> state)
      : workload_(std::move(workload)), distribution_(std::move(distribution)), state_(std::move(state)) {}

  void Add(SeenTensor tensor) { tensors_.push_back(std::move(tensor)); }

  // Fills in numerics and findings. CANCELLED soon after `stop` (may be null) is set, INTERNAL if the reference is no
  // number where it must be one, INVALID_ARGUMENT if outputs are missing.
  absl::Status Run(const std::atomic<bool>* stop, sassay::worker::JudgeReply& reply) const;

 private:
  void CheckInput(const SeenTensor& seen, sassay::worker::JudgeReply& reply) const;
  void CheckOutput(const SeenTensor& seen, const Expected& expected, sassay::worker::JudgeReply& reply) const;

  const sassay::v1::Workload workload_;
  const std::string distribution_;
  const std::shared_ptr<WorkloadState> state_;
  std::vector<SeenTensor> tensors_;
};

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_COMPARISON_H_
