// Is it right? The plan replayed on inputs that nobody could know, each time with other contents, distributions and
// poison, and every output compared by the judge.
#ifndef SASSAY_PROFILER_SERVICE_EVALUATE_EVALUATE_H_
#define SASSAY_PROFILER_SERVICE_EVALUATE_EVALUATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "profiler_service/evaluate/seed_pool.h"
#include "profiler_service/evaluate/session.h"
#include "profiler_service/evaluate/workers.h"
#include "profiler_service/verdict/observations.h"

namespace sassay::evaluate {

// What to try.
struct EvaluatePlan {
  // One steady call for each, in order; never empty.
  std::vector<std::string> distributions = {"normal"};
  // The first case once more, with the same inputs and other poison: outputs that differ are reported, and convict only
  // where one of the two is wrong.
  bool repeat_first = true;
  // Outputs that are wrong are asked for once more, with the same inputs and other bytes wherever the candidate has not
  // written (EvaluateSeen::wrong_by_itself).
  bool repeat_wrong = false;
  // How long launches may be left out, one at a time, of the calls of a candidate that has passed; zero for not at all.
  absl::Duration leaving_out = absl::ZeroDuration();
};

// What evaluate saw. Only Evaluate makes one.
class Evaluation {
 public:
  const verdict::EvaluateSeen& seen() const { return seen_; }
  bool passed() const { return !seen_.failure.has_value(); }
  const std::vector<std::string>& notes() const { return notes_; }
  const sassay::v1::Versions& versions() const { return versions_; }
  uint64_t device_ns() const { return device_ns_; }
  // A fault or a timeout on hardware: nobody's fault until Prove has seen another.
  bool needs_proof() const { return needs_proof_; }
  // What each request to the device was given at most.
  absl::Duration device_deadline() const { return device_deadline_; }
  // The failure came while the candidate's own launches ran, not while a runner started, loaded or took buffers.
  bool launched() const { return launched_; }

 private:
  friend class Evaluator;
  Evaluation() = default;

  verdict::EvaluateSeen seen_;
  std::vector<std::string> notes_;
  sassay::v1::Versions versions_;
  uint64_t device_ns_ = 0;
  absl::Duration device_deadline_;
  bool needs_proof_ = false;
  bool launched_ = false;
};

// Order within a case: a fault or a timeout, then what the judge found outside the outputs (guard bands, inputs), then
// the outputs. The first case that fails ends it.
//
// A fault or a timeout: what hardware can do, too.
bool NeedsProof(const verdict::Failure& failure);

// A lost runner or judge is tried once more before it is reported. Never fails otherwise than by seen().failure.
Evaluation Evaluate(const StageContext& context, const Seeds& seeds, const EvaluatePlan& plan);

// Blame: what Evaluate saw as `first` (which needs_proof) must go wrong again in a fresh runner. Anything that does,
// wrong outputs too, is the candidate's; if nothing does, the failure is DEVICE_LOST, unless `first` was a timeout
// after less than is allowed now: then the candidate is only slow. The caller has the device to itself and has
// just seen it work, or it proves nothing.
Evaluation Prove(const StageContext& context, const Seeds& seeds, const EvaluatePlan& plan, const Evaluation& first);

}  // namespace sassay::evaluate

#endif  // SASSAY_PROFILER_SERVICE_EVALUATE_EVALUATE_H_
