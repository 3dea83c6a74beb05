// A runner with its candidate as a program that a measurement is conducted with.
#ifndef SASSAY_PROFILER_SERVICE_TIMING_RUNNER_PROGRAM_H_
#define SASSAY_PROFILER_SERVICE_TIMING_RUNNER_PROGRAM_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "profiler_service/evaluate/judge_case.h"
#include "profiler_service/timing/conduct.h"
#include "profiler_service/wire/runner_client.h"
#include "profiler_service/wire/worker.pb.h"
#include "sassay/v1/bundle.pb.h"

namespace sassay::timing {

// The judge's memory for the plan's tensors, once.
struct TensorSet {
  std::vector<sassay::worker::SharedRegion> regions;
  std::vector<int> descriptors;
};

// Thread-compatible; the runner must outlive it. Failure: ABORTED the candidate did something wrong, which is
// failure(); anything else is ours: UNAVAILABLE the runner was lost, CANCELLED, DEADLINE_EXCEEDED there was too little
// time.
class RunnerProgram : public TimedProgram {
 public:
  struct Options {
    uint64_t poison_seed = 0;
    // Of everything, by SteadyNow.
    absl::Time deadline;
    // What a call took when it was evaluated, at most: a call that had not a hundred times as long is not called
    // endless.
    absl::Duration longest_call;
    // The sets for so many calls in a row.
    std::function<std::vector<uint32_t>(int calls)> take;
  };
  RunnerProgram(wire::RunnerClient& runner, Options options) : runner_(runner), options_(std::move(options)) {}

  // Loads, hands over the tensors and replays setup. `bundle` holds only the plan to run.
  absl::Status SetUp(const sassay::v1::Bundle& bundle, absl::Span<const TensorSet> sets);
  absl::StatusOr<WarmUpReport> WarmUp(int calls, absl::Duration at_least, absl::Duration at_most) override;
  absl::StatusOr<BlockReport> RunBlock(const BlockSize& size) override;

  // What the candidate did wrong.
  const evaluate::MaybeFailure& failure() const { return failure_; }
  // Whether the launches of each call began together; false also before the first block.
  bool held() const { return held_; }

 private:
  // Every object is handed over once, however many sets lie in it.
  absl::Status Bind(absl::Span<const TensorSet> sets);
  absl::Duration Left() const;
  absl::Status Take(const absl::StatusOr<sassay::worker::RunnerReply>& reply, absl::Duration given);

  wire::RunnerClient& runner_;
  const Options options_;
  uint64_t blocks_ = 0;
  bool held_ = false;
  evaluate::MaybeFailure failure_;
};

}  // namespace sassay::timing

#endif  // SASSAY_PROFILER_SERVICE_TIMING_RUNNER_PROGRAM_H_
