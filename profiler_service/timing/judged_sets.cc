#include "profiler_service/timing/judged_sets.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/verdict/verdict.h"

namespace sassay::timing {
namespace {

// What the judge's comparison says about a timed call.
evaluate::MaybeFailure FailureIn(const sassay::worker::JudgeReply& reply) {
  verdict::Failure failure;
  failure.findings.assign(reply.findings().begin(), reply.findings().end());
  if (!failure.findings.empty()) {
    failure.code = failure.findings.front().code();
    failure.reason = failure.findings.front().message();
    return failure;
  }
  if (reply.numerics().passed()) return absl::nullopt;
  failure.code = sassay::v1::VERDICT_CODE_TIMED_OUTPUT_WRONG;
  failure.reason = absl::StrCat("right when it was evaluated, wrong among the timed calls: ",
                                verdict::DescribeNumerics(reply.numerics()));
  return failure;
}

}  // namespace

JudgedSets::JudgedSets(const admission::AdmittedBundle& bundle, evaluate::JudgePort& judge, absl::Time deadline,
                       const evaluate::Seeds& seeds, Options options)
    : bundle_(bundle),
      judge_(judge),
      deadline_(deadline),
      seeds_(seeds),
      options_(std::move(options)),
      secret_(seeds.Get("timing check", 0)) {}

absl::Status JudgedSets::Fail(evaluate::MaybeFailure failure) {
  failure_ = std::move(failure);
  return absl::AbortedError(failure_->reason);
}

absl::Status JudgedSets::Prepare() {
  evaluate::MaybeFailure failure;
  // A smaller ring is as good as the memory there is.
  for (int sets = std::max(options_.sets, 1); sets > 0; sets = sets > kSmallestRing ? (sets + 1) / 2 : sets - 1) {
    failure = PrepareRing(sets);
    if (!failure.has_value()) return absl::OkStatus();
    if (evaluate::IsLostWorker(*failure) || failure->code != sassay::v1::VERDICT_CODE_INTERNAL) break;
  }
  return Fail(std::move(failure));
}

evaluate::MaybeFailure JudgedSets::PrepareRing(int sets) {
  cases_.clear();
  std::vector<evaluate::JudgeCase*> twins;
  for (int i = 0; i < sets; ++i) {
    cases_.push_back(std::make_unique<evaluate::JudgeCase>(bundle_, judge_, deadline_));
    if (i > 0) twins.push_back(cases_.back().get());
  }
  if (evaluate::MaybeFailure failure = cases_.front()->Prepare(seeds_.Get("decoy", 0), twins)) return failure;
  for (const auto& made : cases_) sets_.push_back({made->regions(), made->descriptors()});
  filled_with_.resize(cases_.size());
  return absl::nullopt;
}

std::vector<uint32_t> JudgedSets::Take(int calls) {
  std::vector<uint32_t> order(static_cast<size_t>(std::max(ring_, 1)));
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), secret_);
  std::vector<uint32_t> taken;
  for (int i = 0; i < calls; ++i) taken.push_back(order[static_cast<size_t>(i) % order.size()]);
  used_.insert(taken.begin(), taken.end());
  return taken;
}

absl::Status JudgedSets::Fill(uint32_t set) {
  const bool known = !options_.any_seed && set == known_;
  const uint64_t seed = known ? seeds_.Get("inputs", 0) : seeds_.Get("timing inputs", fills_++);
  filled_with_[set] = seed;
  evaluate::MaybeFailure failure =
      known ? cases_[set]->Fill(seed, options_.distribution) : cases_[set]->FillForOnce(seed, options_.distribution);
  return failure.has_value() ? Fail(std::move(failure)) : absl::OkStatus();
}

// How long a set takes to fill shows the first one.
absl::Status JudgedSets::FindRing() {
  const absl::Time begin = options_.now();
  RETURN_IF_ERROR(Fill(0));
  const double affordable = kRefreshBudget / std::max(options_.now() - begin, absl::Microseconds(1));
  const double most = static_cast<double>(sets_.size());
  ring_ = static_cast<int>(std::clamp(affordable, std::min<double>(kSmallestRing, most), most));
  known_ = static_cast<uint32_t>(secret_() % static_cast<uint64_t>(ring_));
  return absl::OkStatus();
}

absl::Status JudgedSets::Refresh() {
  used_.clear();
  const bool first = ring_ == 0;
  if (first) RETURN_IF_ERROR(FindRing());
  for (int set = 0; set < ring_; ++set) RETURN_IF_ERROR(Fill(static_cast<uint32_t>(set)));
  renewed_ += first ? 0 : static_cast<uint32_t>(ring_);
  return absl::OkStatus();
}

std::vector<uint32_t> JudgedSets::Called() {
  std::vector<uint32_t> called(used_.begin(), used_.end());
  std::shuffle(called.begin(), called.end(), secret_);
  return called;
}

absl::Status JudgedSets::Check(bool last) {
  if (!options_.any_seed) return CheckKnown(last);
  RETURN_IF_ERROR(Draw(last));
  return last ? CompareKept() : absl::OkStatus();
}

absl::Status JudgedSets::Draw(bool last) {
  const std::vector<uint32_t> called = Called();
  for (size_t i = 0; i < called.size(); ++i) {
    const bool surely = last && i == 0;
    if (std::bernoulli_distribution(kDrawnShare)(secret_) || surely) RETURN_IF_ERROR(Keep(called[i], surely));
  }
  used_.clear();
  return absl::OkStatus();
}

// Algorithm R (Vitter 1985): each of the drawn ones stays with the same probability.
absl::Status JudgedSets::Keep(uint32_t set, bool surely) {
  size_t place = static_cast<size_t>(secret_() % ++drawn_);
  if (kept_.size() < most_kept_) place = kept_.size();
  if (surely && place >= most_kept_) place %= most_kept_;
  if (place >= most_kept_) return absl::OkStatus();
  auto aside = std::make_unique<evaluate::JudgeCase>(bundle_, judge_, deadline_);
  if (evaluate::MaybeFailure failure = cases_[set]->KeepAs(*aside)) {
    if (kept_.empty() || failure->code != sassay::v1::VERDICT_CODE_INTERNAL) return Fail(std::move(failure));
    // As many as there is memory for.
    most_kept_ = kept_.size();
    return absl::OkStatus();
  }
  if (place == kept_.size()) kept_.emplace_back();
  kept_[place] = {std::move(aside), filled_with_[set]};
  if (surely) std::swap(kept_.front(), kept_[place]);
  return absl::OkStatus();
}

absl::Status JudgedSets::CompareKept() {
  if (kept_.size() > 1) std::shuffle(kept_.begin() + 1, kept_.end(), secret_);
  std::unique_ptr<evaluate::ReferenceSession> reference;
  if (options_.reference != nullptr && !kept_.empty()) {
    reference = options_.reference();
    if (evaluate::MaybeFailure failure = reference->Open()) return Fail(std::move(failure));
  }
  const absl::Time begin = options_.now();
  uint32_t compared = 0;
  for (const Kept& kept : kept_) {
    if (compared >= kFewestChecked && options_.now() - begin > kCheckBudget) break;
    RETURN_IF_ERROR(Compare(kept, reference.get()));
    ++compared;
  }
  kept_.clear();
  drawn_ = 0;
  return absl::OkStatus();
}

absl::Status JudgedSets::Compare(const Kept& kept, evaluate::ReferenceSession* reference) {
  if (reference != nullptr) {
    if (evaluate::MaybeFailure failure = reference->Answer(kept.seed, options_.distribution)) {
      return Fail(std::move(failure));
    }
  }
  sassay::worker::JudgeReply reply;
  if (evaluate::MaybeFailure failure = kept.outputs->Compare(reply)) return Fail(std::move(failure));
  return Judged(reply);
}

absl::Status JudgedSets::CheckKnown(bool last) {
  if (used_.count(known_) == 0) return absl::OkStatus();
  const bool must = last || checked_ == 0;
  if (!must && !std::bernoulli_distribution(0.5)(secret_)) return absl::OkStatus();
  sassay::worker::JudgeReply reply;
  if (evaluate::MaybeFailure failure = cases_[known_]->Compare(reply)) {
    // The answer of a reference that is a kernel is kept only as long as there is room.
    if (failure->code != sassay::v1::VERDICT_CODE_INTERNAL) return Fail(std::move(failure));
    unchecked_ = failure->reason;
    return absl::OkStatus();
  }
  return Judged(reply);
}

absl::Status JudgedSets::Judged(const sassay::worker::JudgeReply& reply) {
  ++checked_;
  if (evaluate::MaybeFailure failure = FailureIn(reply)) return Fail(std::move(failure));
  return absl::OkStatus();
}

}  // namespace sassay::timing
