#include "profiler_service/evaluate/evaluate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/steady_time.h"
#include "profiler_service/evaluate/dead_launches.h"
#include "profiler_service/evaluate/reference_session.h"
#include "profiler_service/verdict/verdict.h"

namespace sassay::evaluate {
namespace {

using sassay::v1::Numerics;
using sassay::worker::JudgeReply;

// Which repetition of a case follows wrong outputs; seeds depend on it.
constexpr uint64_t kWrongAgain = 2;

// How far the worst output is from its allowance; what makes one case worse than another.
double Badness(const Numerics& numerics) {
  double worst = 0;
  for (const sassay::v1::OutputComparison& output : numerics.outputs()) {
    const double allowed = output.allowed_relative_rms_error();
    worst = std::max(worst, allowed > 0 ? output.relative_rms_error() / allowed : output.relative_rms_error());
  }
  return worst;
}

sassay::v1::VerdictCode CodeOf(const Numerics& numerics) {
  uint64_t wrong = 0, unwritten = 0, non_finite = 0;
  for (const sassay::v1::OutputComparison& output : numerics.outputs()) {
    wrong += output.wrong();
    unwritten += output.unwritten();
    non_finite += output.non_finite();
  }
  // A wrong bf16 element equals the poison by chance once in 2^10: a majority is no chance.
  if (wrong > 0 && 2 * unwritten >= wrong) return sassay::v1::VERDICT_CODE_UNWRITTEN_OUTPUT;
  return non_finite > 0 ? sassay::v1::VERDICT_CODE_NON_FINITE : sassay::v1::VERDICT_CODE_MISMATCH;
}

// Whether two calls erred in the same way. Wrong elements equal the poison by chance, other ones each time; those that
// were truly not written differ in their errors.
bool SameErrors(Numerics a, Numerics b) {
  for (Numerics* numerics : {&a, &b}) {
    for (sassay::v1::OutputComparison& output : *numerics->mutable_outputs()) output.clear_unwritten();
  }
  return a.SerializeAsString() == b.SerializeAsString();
}

}  // namespace

bool NeedsProof(const verdict::Failure& failure) {
  const sassay::v1::VerdictStatus status = verdict::StatusOf(failure.code);
  return (status == sassay::v1::VERDICT_STATUS_RUNTIME_ERROR || status == sassay::v1::VERDICT_STATUS_TIMEOUT) &&
         failure.code != sassay::v1::VERDICT_CODE_LAUNCH_REFUSED;
}

class Evaluator {
 public:
  Evaluator(const StageContext& context, const Seeds& seeds, const EvaluatePlan& plan)
      : context_(context), seeds_(seeds), plan_(plan) {
    evaluation_.seen_.replay_id = seeds.replay_id();
    evaluation_.device_deadline_ = context.device_deadline;
  }

  Evaluation Run() {
    MaybeFailure failure = Attempt();
    if (failure.has_value() && IsLostWorker(*failure)) failure = AttemptAgain(*failure);
    evaluation_.needs_proof_ = failure.has_value() && context_.faults_need_proof && NeedsProof(*failure);
    evaluation_.seen_.failure = std::move(failure);
    return std::move(evaluation_);
  }

  Evaluation RunAgain(const Evaluation& first) {
    evaluation_.notes_ = first.notes_;
    evaluation_.device_ns_ = first.device_ns_;
    evaluation_.seen_.failure = Attempt();
    if (!evaluation_.seen_.failure.has_value() && !WasHasty(first)) {
      evaluation_.seen_.failure = Unproven(*first.seen_.failure);
    }
    return std::move(evaluation_);
  }

 private:
  void Note(std::string note) { evaluation_.notes_.push_back(std::move(note)); }

  // The loss has used up time that the candidate was promised: what it then had too little of is the loss's fault.
  MaybeFailure AttemptAgain(const verdict::Failure& lost) {
    Note(absl::StrCat("evaluate began again: ", lost.reason));
    MaybeFailure failure = Attempt();
    if (failure.has_value() && failure->code == sassay::v1::VERDICT_CODE_QUEUE_DEADLINE) return lost;
    return failure;
  }

  bool WasHasty(const Evaluation& first) const {
    return first.device_deadline_ < context_.device_deadline &&
           verdict::StatusOf(first.seen_.failure->code) == sassay::v1::VERDICT_STATUS_TIMEOUT;
  }

  static verdict::Failure Unproven(const verdict::Failure& first) {
    verdict::Failure unproven;
    unproven.code = sassay::v1::VERDICT_CODE_DEVICE_LOST;
    unproven.reason =
        absl::StrCat("a fault (", first.reason, ") did not happen again in a fresh runner, alone on the device");
    return unproven;
  }

  // One runner, every case.
  MaybeFailure Attempt() {
    evaluation_.seen_.numerics.reset();
    evaluation_.seen_.dropped_launches.reset();
    evaluation_.seen_.wrong_by_itself = false;
    shortest_case_ = absl::InfiniteDuration();
    evaluation_.launched_ = false;
    tried_.clear();
    if (MaybeFailure failure = OpenReference()) return failure;
    CandidateSession session(context_, sassay::worker::RUN_MODE_PLAIN);
    MaybeFailure failure = Cases(session);
    if (!failure.has_value()) LeaveOutLaunches(session);
    evaluation_.seen_.device_output = session.device_output();
    evaluation_.device_ns_ += session.device_ns();
    evaluation_.versions_ = session.versions();
    evaluation_.launched_ = failure.has_value() && session.launching();
    return failure;
  }

  MaybeFailure OpenReference() {
    reference_.reset();
    if (context_.reference == nullptr) return absl::nullopt;
    return reference_.emplace(context_, seeds_).Open();
  }

  // Computes what is right for a case, in the reference's own runner.
  MaybeFailure RunReference(uint64_t seed, const std::string& distribution) {
    return reference_.has_value() ? reference_->Answer(seed, distribution) : absl::nullopt;
  }

  MaybeFailure Cases(CandidateSession& session) {
    if (MaybeFailure failure = session.Open(seeds_.Get("decoy", 0), seeds_.Get("poison", 0))) return failure;
    for (size_t i = 0; i < plan_.distributions.size(); ++i) {
      if (MaybeFailure failure = Case(session, i, /*repetition=*/0)) return failure;
    }
    return plan_.repeat_first ? Case(session, 0, /*repetition=*/1) : absl::nullopt;
  }

  MaybeFailure Case(CandidateSession& session, size_t index, uint64_t repetition) {
    JudgeReply reply;
    if (MaybeFailure failure = Call(session, index, repetition, reply)) return failure;
    Remember(reply.numerics(), plan_.distributions[index]);
    if (MaybeFailure failure = OutsideOutputs(reply)) return failure;
    if (repetition > 0) return Repeated(reply.numerics());
    MaybeFailure failure = Outputs(reply.numerics(), index);
    if (!failure.has_value() || !plan_.repeat_wrong) return failure;
    return WrongAgain(session, index, reply.numerics(), *std::move(failure));
  }

  // One call and what the judge finds.
  MaybeFailure Call(CandidateSession& session, size_t index, uint64_t repetition, JudgeReply& reply) {
    const std::string& distribution = plan_.distributions[index];
    const uint64_t seed = seeds_.Get("inputs", index);
    if (MaybeFailure failure = RunReference(seed, distribution)) return failure;
    const absl::Time begin = SteadyNow();
    MaybeFailure filled =
        repetition == kWrongAgain ? session.FillAnew(seed, distribution) : session.Fill(seed, distribution);
    if (filled.has_value()) return filled;
    if (MaybeFailure failure = session.Steady(seeds_.Get("poison", 1 + index + (repetition << 32)))) return failure;
    if (MaybeFailure failure = session.Compare(reply)) return failure;
    shortest_case_ = std::min(shortest_case_, SteadyNow() - begin);
    return absl::nullopt;
  }

  // A fault or a hang of the second call is the greater failure; trouble of ours tells nothing.
  MaybeFailure WrongAgain(CandidateSession& session, size_t index, const Numerics& wrong, verdict::Failure failure) {
    JudgeReply reply;
    MaybeFailure again = Call(session, index, kWrongAgain, reply);
    if (again.has_value()) return NeedsProof(*again) ? again : failure;
    if (MaybeFailure outside = OutsideOutputs(reply)) return outside;
    evaluation_.seen_.wrong_by_itself = SameErrors(reply.numerics(), wrong);
    return failure;
  }

  // The inputs used last are those of which the judge surely has the answers still.
  void LeaveOutLaunches(CandidateSession& session) {
    const v1::LaunchPlan& plan = context_.bundle.plan();
    const auto is_launch = [](const v1::Step& step) { return step.has_launch(); };
    const bool several = std::count_if(plan.steady().begin(), plan.steady().end(), is_launch) > 1;
    if (plan_.leaving_out <= absl::ZeroDuration() || !several) return;
    const size_t last = plan_.distributions.size() - 1;
    LeftOutPlan how;
    how.inputs = {{seeds_.Get("inputs", last), plan_.distributions[last]},
                  {seeds_.Get("inputs", 0), plan_.distributions[0]}};
    if (!plan_.repeat_first) std::swap(how.inputs[0], how.inputs[1]);
    how.random_seed = seeds_.Get("left out launches", 0);
    how.poison_seed = seeds_.Get("poison left out", 0);
    how.budget = plan_.leaving_out;
    how.usual_call = shortest_case_;
    how.now = [] { return SteadyNow(); };
    evaluation_.seen_.dropped_launches = FindDeadLaunches(session, plan, how);
  }

  // The report keeps the worst case; a failing case is the last and the worst.
  void Remember(const Numerics& numerics, const std::string& distribution) {
    tried_.push_back(distribution);
    absl::optional<Numerics>& kept = evaluation_.seen_.numerics;
    if (!kept.has_value() || !numerics.passed() || Badness(numerics) > Badness(*kept)) {
      const bool peer = !kept.has_value() || kept->peer_rule_passed();
      kept = numerics;
      kept->set_peer_rule_passed(peer && numerics.peer_rule_passed());
    }
    kept->mutable_distributions()->Assign(tried_.begin(), tried_.end());
  }

  static MaybeFailure OutsideOutputs(const JudgeReply& reply) {
    if (reply.findings().empty()) return absl::nullopt;
    verdict::Failure failure;
    failure.code = reply.findings(0).code();
    failure.reason = reply.findings(0).message();
    failure.findings.assign(reply.findings().begin(), reply.findings().end());
    return failure;
  }

  MaybeFailure Outputs(const Numerics& numerics, size_t index) {
    if (index == 0) first_ = numerics;
    if (numerics.passed()) return absl::nullopt;
    verdict::Failure failure;
    failure.code = CodeOf(numerics);
    failure.reason = verdict::DescribeNumerics(numerics);
    return failure;
  }

  // The first case again. Bitwise differences show in the sums of errors.
  MaybeFailure Repeated(const Numerics& numerics) {
    const bool same = numerics.SerializeAsString() == first_.SerializeAsString();
    if (!same) Note("evaluate: outputs differ from run to run with the same inputs");
    if (numerics.passed()) return absl::nullopt;
    verdict::Failure failure;
    failure.code = sassay::v1::VERDICT_CODE_NONDETERMINISTIC;
    failure.reason =
        absl::StrCat("right at first, wrong when run again on the same inputs: ", verdict::DescribeNumerics(numerics));
    return failure;
  }

  const StageContext& context_;
  const Seeds& seeds_;
  const EvaluatePlan& plan_;
  absl::optional<ReferenceSession> reference_;
  std::vector<std::string> tried_;
  absl::Duration shortest_case_;
  Numerics first_;
  Evaluation evaluation_;
};

Evaluation Evaluate(const StageContext& context, const Seeds& seeds, const EvaluatePlan& plan) {
  return Evaluator(context, seeds, plan).Run();
}

Evaluation Prove(const StageContext& context, const Seeds& seeds, const EvaluatePlan& plan, const Evaluation& first) {
  return Evaluator(context, seeds, plan).RunAgain(first);
}

}  // namespace sassay::evaluate
