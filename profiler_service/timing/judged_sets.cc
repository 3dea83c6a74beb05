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
  for (int i = 0; i < std::max(options_.sets, 1); ++i) {
    auto made = std::make_unique<evaluate::JudgeCase>(bundle_, judge_, deadline_);
    if (evaluate::MaybeFailure failure = made->Prepare(seeds_.Get("decoy", 0))) {
      // A smaller ring is as good as the memory there is.
      if (i > 0 && !evaluate::IsLostWorker(*failure) && failure->code == sassay::v1::VERDICT_CODE_INTERNAL) break;
      return Fail(std::move(failure));
    }
    sets_.push_back({made->regions(), made->descriptors()});
    cases_.push_back(std::move(made));
  }
  return absl::OkStatus();
}

std::vector<uint32_t> JudgedSets::Take(int calls) {
  std::vector<uint32_t> order(sets_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), secret_);
  std::vector<uint32_t> taken;
  for (int i = 0; i < calls; ++i) taken.push_back(order[static_cast<size_t>(i) % order.size()]);
  used_.insert(taken.begin(), taken.end());
  return taken;
}

absl::Status JudgedSets::Fill(uint32_t set) {
  const absl::Time begin = options_.now();
  const bool known = Slow() && set == known_;
  const uint64_t seed = known ? seeds_.Get("inputs", 0) : seeds_.Get("timing inputs", fills_++);
  if (evaluate::MaybeFailure failure = cases_[set]->Fill(seed, options_.distribution)) return Fail(std::move(failure));
  used_.erase(set);
  known_is_placed_ = known_is_placed_ || known;
  fill_cost_ = options_.now() - begin;
  return absl::OkStatus();
}

absl::Status JudgedSets::Refresh() {
  if (!filled_) {
    known_ = static_cast<uint32_t>(secret_() % sets_.size());
    for (uint32_t set = 0; set < sets_.size(); ++set) RETURN_IF_ERROR(Fill(set));
    filled_ = true;
    return absl::OkStatus();
  }
  if (Slow() && !known_is_placed_) RETURN_IF_ERROR(Fill(known_));
  const double affordable = kRefreshBudget / std::max(fill_cost_, absl::Microseconds(1));
  credit_ = std::min(credit_ + affordable, static_cast<double>(sets_.size()));
  for (; credit_ >= 1; credit_ -= 1) {
    RETURN_IF_ERROR(Fill(next_++ % static_cast<uint32_t>(sets_.size())));
    ++renewed_;
  }
  used_.clear();
  return absl::OkStatus();
}

std::vector<uint32_t> JudgedSets::Chosen(bool last) {
  std::vector<uint32_t> candidates(used_.begin(), used_.end());
  if (Slow()) candidates.assign(known_is_placed_ ? used_.count(known_) : 0, known_);
  std::vector<uint32_t> chosen;
  for (const uint32_t set : candidates) {
    if (std::bernoulli_distribution(Slow() ? 0.5 : kCheckShare)(secret_)) chosen.push_back(set);
  }
  if (candidates.empty() && last && options_.any_seed) candidates.assign(used_.begin(), used_.end());
  if (chosen.empty() && last && !candidates.empty()) chosen.push_back(candidates[secret_() % candidates.size()]);
  std::shuffle(chosen.begin(), chosen.end(), secret_);
  return chosen;
}

absl::Status JudgedSets::CheckSet(uint32_t set) {
  sassay::worker::JudgeReply reply;
  if (evaluate::MaybeFailure failure = cases_[set]->Compare(reply)) {
    // The answer of a reference that is a kernel is kept only as long as there is room.
    if (options_.any_seed || failure->code != sassay::v1::VERDICT_CODE_INTERNAL) return Fail(std::move(failure));
    unchecked_ = failure->reason;
    return absl::OkStatus();
  }
  ++checked_;
  if (evaluate::MaybeFailure failure = FailureIn(reply)) return Fail(std::move(failure));
  return absl::OkStatus();
}

// Comparing costs next to nothing where the judge's answers come from the GPU; how much it costs here shows the first
// time.
absl::Status JudgedSets::Check(bool last) {
  const absl::Time begin = options_.now();
  for (const uint32_t set : Chosen(last || checked_ == 0)) {
    RETURN_IF_ERROR(CheckSet(set));
    if (options_.now() - begin <= kCheckBudget) continue;
    slow_ = true;
    break;
  }
  return absl::OkStatus();
}

}  // namespace sassay::timing
