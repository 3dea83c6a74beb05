// Workers without processes: the real judge on plain memory, and runners whose kernel is a C++ function. For tests.
#ifndef SASSAY_PROFILER_SERVICE_EVALUATE_TESTING_FAKE_WORKERS_H_
#define SASSAY_PROFILER_SERVICE_EVALUATE_TESTING_FAKE_WORKERS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "profiler_service/evaluate/workers.h"
#include "profiler_service/judge/judge.h"
#include "profiler_service/judge/testing/memory_device.h"

namespace sassay::evaluate {

// The candidate's view of its tensors, by name, one kernel call.
using Tensors = std::map<std::string, absl::Span<char>>;
// `call` counts the steady calls of one runner from 0. The reply says how it ended.
using FakeKernel = std::function<sassay::worker::RunnerReply(int call, Tensors& tensors)>;

// A reply that ended so.
sassay::worker::RunnerReply Ended(sassay::worker::RunOutcome outcome = sassay::worker::RUN_OUTCOME_OK,
                                  sassay::v1::VerdictCode code = sassay::v1::VERDICT_CODE_OK,
                                  const std::string& message = "");

// gemm_n256_k256: C = A B^T with f32 sums, rows [0, rows) only.
sassay::worker::RunnerReply HonestGemm(int call, Tensors& tensors);
void GemmRows(Tensors& tensors, int first, int last);

// A kernel that remembers an answer and gives it to whatever comes later.
class Memoizer {
 public:
  // HonestGemm, whose answer is kept.
  FakeKernel Remember();
  // Gives what was kept. Neither kernel outlives this.
  FakeKernel Repeat();

 private:
  std::string remembered_;
};

// The judge of the tests. Thread-safe.
class InProcessJudge : public JudgePort {
 public:
  // The catalogue outlives it.
  explicit InProcessJudge(const WorkloadCatalog& catalog = WorkloadCatalog::BuiltIn());
  absl::StatusOr<sassay::worker::JudgeReply> Ask(const sassay::worker::JudgeRequest& request,
                                                 std::vector<UniqueFd>& descriptors, absl::Time deadline) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Drop(uint64_t case_id) override ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t NewCase() override ABSL_LOCKS_EXCLUDED(mutex_);

  // The next request finds the judge dead, and its cases gone.
  void Kill() ABSL_LOCKS_EXCLUDED(mutex_);
  // The judge's device has memory for so many more objects.
  void LimitObjects(size_t count) ABSL_LOCKS_EXCLUDED(mutex_);
  // Objects that are still allocated.
  size_t objects() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Restart() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const judge::StateOptions options_;
  absl::Mutex mutex_;
  std::unique_ptr<judge::MemoryDevice> device_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<judge::Judge> judge_ ABSL_GUARDED_BY(mutex_);
  bool dead_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t cases_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Starts runners that call `kernels` in turn: the first runner the first kernel, later ones the last.
class FakeWorkers : public Workers {
 public:
  FakeWorkers(JudgePort& judge, std::vector<FakeKernel> kernels) : judge_(judge), kernels_(std::move(kernels)) {}

  absl::StatusOr<std::unique_ptr<CandidateRunner>> StartRunner(sassay::worker::RunMode mode,
                                                               absl::Time deadline) override;
  JudgePort& judge() override { return judge_; }

  int started() const { return started_; }

  // What a call does that leaves out the launch of that number; it does nothing by default.
  FakeKernel without_launch = [](int, Tensors&) { return Ended(); };
  // How runners answer when they have loaded the candidate.
  sassay::worker::RunnerReply load_reply = Ended();

 private:
  JudgePort& judge_;
  const std::vector<FakeKernel> kernels_;
  int started_ = 0;
};

}  // namespace sassay::evaluate

#endif  // SASSAY_PROFILER_SERVICE_EVALUATE_TESTING_FAKE_WORKERS_H_
