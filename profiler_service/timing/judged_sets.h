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
// What is checked is chosen with a secret seed after the calls have run, so that every timed call may be the checked
// one. Where the judge makes inputs and answers quickly (on the GPU), every set has new inputs in every round, and each
// output is checked with probability kCheckShare. Where that would let the GPU grow cold, fewer sets are renewed, and
// only outputs are checked whose answer the judge knows: those of one set, in a secret place, that holds the inputs of
// evaluate's first case. At least one output of the first round is checked and, where anything was called since, one of
// the last.
//
// Thread-compatible. Everything given must outlive it. Failure: ABORTED, and failure() tells.
class JudgedSets : public TimedSets {
 public:
  static constexpr double kCheckShare = 0.25;
  // What renewing and checking may take in a round; more, and they are made rarer.
  static constexpr absl::Duration kRefreshBudget = absl::Milliseconds(200);
  static constexpr absl::Duration kCheckBudget = absl::Milliseconds(150);

  struct Options {
    int sets = 1;
    // The distribution of evaluate's first case, whose inputs have the seed ("inputs", 0).
    std::string distribution = "normal";
    // Whether the judge can say what is right for inputs of any seed; otherwise only for evaluate's first case.
    bool any_seed = true;
    std::function<absl::Time()> now;
  };
  JudgedSets(const admission::AdmittedBundle& bundle, evaluate::JudgePort& judge, absl::Time deadline,
             const evaluate::Seeds& seeds, Options options);

  // Makes the sets, with decoy inputs.
  absl::Status Prepare();

  absl::Span<const TensorSet> sets() const override { return sets_; }
  std::vector<uint32_t> Take(int calls) override;
  absl::Status Refresh() override;
  absl::Status Check(bool last) override;
  const evaluate::MaybeFailure& failure() const override { return failure_; }
  uint32_t checked_calls() const override { return checked_; }
  uint32_t renewed_sets() const override { return renewed_; }
  std::string unchecked_reason() const override { return unchecked_; }

 private:
  absl::Status Fail(evaluate::MaybeFailure failure);
  absl::Status Fill(uint32_t set);
  absl::Status CheckSet(uint32_t set);
  std::vector<uint32_t> Chosen(bool last);
  bool Slow() const { return !options_.any_seed || slow_; }

  const admission::AdmittedBundle& bundle_;
  evaluate::JudgePort& judge_;
  const absl::Time deadline_;
  const evaluate::Seeds& seeds_;
  const Options options_;
  std::mt19937_64 secret_;
  std::vector<std::unique_ptr<evaluate::JudgeCase>> cases_;
  std::vector<TensorSet> sets_;
  // Sets that a call of this round has worked on: what earlier ones left right excuses no later one.
  std::set<uint32_t> used_;
  // The set that holds evaluate's first case.
  uint32_t known_ = 0;
  bool known_is_placed_ = false;
  uint64_t fills_ = 0;
  uint32_t checked_ = 0, renewed_ = 0;
  bool filled_ = false;
  std::string unchecked_;
  // Checks of new inputs take too long.
  bool slow_ = false;
  // Of one set, as it was last seen.
  absl::Duration fill_cost_;
  // Sets that may be renewed, saved up over rounds that were too short for one.
  double credit_ = 0;
  uint32_t next_ = 0;
  evaluate::MaybeFailure failure_;
};

}  // namespace sassay::timing

#endif  // SASSAY_PROFILER_SERVICE_TIMING_JUDGED_SETS_H_
