// The workload's baseline, which runs in the judge's process, as a program that a measurement is conducted with.
#ifndef SASSAY_PROFILER_SERVICE_TIMING_JUDGES_BASELINE_H_
#define SASSAY_PROFILER_SERVICE_TIMING_JUDGES_BASELINE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "profiler_service/evaluate/workers.h"
#include "profiler_service/timing/conduct.h"
#include "profiler_service/wire/worker.pb.h"
#include "sassay/v1/timing.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::timing {

// A case of the judge, owned: destruction frees its memory.
//
// Life cycle: Prepare, then the calls of a TimedProgram. Thread-compatible; the judge must outlive it. Failure:
// NOT_FOUND there is no such baseline here, with the reason; UNAVAILABLE the judge was lost; DEADLINE_EXCEEDED the
// deadline has passed, so that nothing more is asked for; CANCELLED; anything else is the judge's own trouble.
class JudgesBaseline : public TimedProgram {
 public:
  struct Options {
    sassay::v1::Workload workload;
    uint64_t seed = 0;
    std::string distribution;
    uint32_t tensor_sets = 1;
    // Of everything, by SteadyNow.
    absl::Time deadline;
  };
  JudgesBaseline(evaluate::JudgePort& judge, Options options)
      : judge_(judge), options_(std::move(options)), case_(judge.NewCase()) {}
  ~JudgesBaseline() override { judge_.Drop(case_); }

  // Chooses the algorithm and makes the tensors; the GPU should be idle.
  absl::Status Prepare();
  absl::StatusOr<WarmUpReport> WarmUp(int calls, absl::Duration at_least, absl::Duration at_most) override;
  absl::StatusOr<BlockReport> RunBlock(const BlockSize& size) override;

  // Valid after Prepare.
  const sassay::v1::BaselineProgram& program() const { return program_; }

 private:
  absl::StatusOr<sassay::worker::JudgeReply> Ask(sassay::worker::TimeBaseline request);

  evaluate::JudgePort& judge_;
  const Options options_;
  const uint64_t case_;
  uint64_t blocks_ = 0;
  sassay::v1::BaselineProgram program_;
};

}  // namespace sassay::timing

#endif  // SASSAY_PROFILER_SERVICE_TIMING_JUDGES_BASELINE_H_
