// The candidate's tensors while it is timed: several sets of them, all the judge's, whose contents are renewed between
// rounds and whose outputs are compared by surprise.
#ifndef SASSAY_PROFILER_SERVICE_TIMING_JUDGED_SETS_H_
#define SASSAY_PROFILER_SERVICE_TIMING_JUDGED_SETS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "profiler_service/admission/admission.h"
#include "profiler_service/evaluate/judge_case.h"
#include "profiler_service/evaluate/reference_session.h"
#include "profiler_service/evaluate/seed_pool.h"
#include "profiler_service/evaluate/workers.h"
#include "profiler_service/timing/conduct.h"
#include "profiler_service/timing/runner_program.h"

namespace sassay::timing {

// What a measurement needs of the candidate's tensors.
class TimedSets : public Interludes {
 public:
  virtual absl::Span<const TensorSet> sets() const = 0;
  // Sets for so many calls in a row, in an order that nobody can foresee; those that come last are as many different
  // ones as there are. Their outputs may be checked.
  virtual std::vector<uint32_t> Take(int calls) = 0;
  // What Check found, or why Refresh or Check could not be done: the candidate's fault or ours.
  virtual const evaluate::MaybeFailure& failure() const = 0;
  virtual uint32_t checked_calls() const = 0;
  virtual uint32_t renewed_sets() const = 0;
  // Why timed calls were not checked; empty if they were.
  virtual std::string unchecked_reason() const { return ""; }
};

// Sets that are cases of the judge.
//
// Every set has new inputs in every round; there are as many as can be renewed in kRefreshBudget, two at least. What is
// checked is chosen with a secret seed after the calls of a round have run, so that every timed call may be the checked
// one: each is drawn with probability kDrawnShare, and of all that were drawn a random kMostKept are kept aside (all
// are equally likely, whatever their number; one of the last round is always among them). Comparing takes ten times as
// long as a call, and would let the GPU cool down between rounds: the judge compares what was kept when the last round
// is over, in random order, until kCheckBudget is used up. A reference that is a kernel answers for these inputs then,
// in a runner that comes and goes with the comparisons, so that it is never on the device while something is timed.
//
// Where answers are known for given inputs alone (a golden file), one set in a secret place holds those of evaluate's
// first case, and its outputs are compared at once, after every other round; at least once, if there is a call.
//
// Thread-compatible. Everything given must outlive it. Failure: ABORTED, and failure() tells.
class JudgedSets : public TimedSets {
 public:
  static constexpr double kDrawnShare = 0.25;
  static constexpr size_t kMostKept = 12;
  // What renewing may take in a round; more, and there are fewer sets.
  static constexpr absl::Duration kRefreshBudget = absl::Milliseconds(400);
  static constexpr int kSmallestRing = 2;
  // What comparing may take in all before it ends with fewer than were kept; but not with fewer than these.
  static constexpr absl::Duration kCheckBudget = absl::Milliseconds(300);
  static constexpr uint32_t kFewestChecked = 2;

  struct Options {
    int sets = 1;
    // The distribution of evaluate's first case, whose inputs have the seed ("inputs", 0).
    std::string distribution = "normal";
    // Whether there is an answer for inputs of any seed; otherwise only for evaluate's first case.
    bool any_seed = true;
    // Makes the kernel that gives the answers, not opened yet; empty where the judge computes them itself.
    std::function<std::unique_ptr<evaluate::ReferenceSession>()> reference;
    std::function<absl::Time()> now;
  };
  JudgedSets(const admission::AdmittedBundle& bundle, evaluate::JudgePort& judge, absl::Time deadline,
             const evaluate::Seeds& seeds, Options options);

  // Makes the sets, with decoy inputs.
  absl::Status Prepare();

  absl::Span<const TensorSet> sets() const override { return sets_; }
  std::vector<uint32_t> Take(int calls) override;
  int ring() const override { return ring_; }
  absl::Status Refresh() override;
  absl::Status Check(bool last) override;
  const evaluate::MaybeFailure& failure() const override { return failure_; }
  uint32_t checked_calls() const override { return checked_; }
  uint32_t renewed_sets() const override { return renewed_; }
  std::string unchecked_reason() const override { return unchecked_; }

 private:
  // Outputs taken aside, and the seed of the inputs that they belong to.
  struct Kept {
    std::unique_ptr<evaluate::JudgeCase> outputs;
    uint64_t seed = 0;
  };

  evaluate::MaybeFailure PrepareRing(int sets);
  absl::Status Fail(evaluate::MaybeFailure failure);
  absl::Status Fill(uint32_t set);
  absl::Status FindRing();
  // Of the sets that were called since they were filled.
  std::vector<uint32_t> Called();
  // Draws of this round's calls.
  absl::Status Draw(bool last);
  absl::Status Keep(uint32_t set, bool surely);
  absl::Status CompareKept();
  absl::Status Compare(const Kept& kept, evaluate::ReferenceSession* reference);
  absl::Status CheckKnown(bool last);
  absl::Status Judged(const sassay::worker::JudgeReply& reply);

  const admission::AdmittedBundle& bundle_;
  evaluate::JudgePort& judge_;
  const absl::Time deadline_;
  const evaluate::Seeds& seeds_;
  const Options options_;
  std::mt19937_64 secret_;
  std::vector<std::unique_ptr<evaluate::JudgeCase>> cases_;
  std::vector<TensorSet> sets_;
  std::vector<uint64_t> filled_with_;  // the seed, by set
  // Sets that a call of this round has worked on: what earlier ones left right excuses no later one.
  std::set<uint32_t> used_;
  // The set that holds evaluate's first case.
  uint32_t known_ = 0;
  uint64_t fills_ = 0;
  uint32_t checked_ = 0, renewed_ = 0;
  // Sets that are used, from the first on; 0 before the first Refresh.
  int ring_ = 0;
  std::string unchecked_;
  // Outputs taken aside, the one of the last round first if there is one, and how many calls they were drawn from.
  std::vector<Kept> kept_;
  uint64_t drawn_ = 0;
  size_t most_kept_ = kMostKept;
  evaluate::MaybeFailure failure_;
};

}  // namespace sassay::timing

#endif  // SASSAY_PROFILER_SERVICE_TIMING_JUDGED_SETS_H_
