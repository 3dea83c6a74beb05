#include "profiler_service/evaluate/dead_launches.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"

namespace sassay::evaluate {
namespace {

using sassay::v1::DroppedLaunches;

std::vector<std::string> KernelsOf(const sassay::v1::LaunchPlan& plan) {
  std::vector<std::string> kernels;
  for (const sassay::v1::Step& step : plan.steady()) {
    if (step.has_launch()) kernels.push_back(step.launch().kernel());
  }
  return kernels;
}

class Finder {
 public:
  Finder(CandidateSession& session, std::vector<std::string> kernels, const LeftOutPlan& how)
      : session_(session), kernels_(std::move(kernels)), how_(how), end_(how.now() + how.budget) {}

  DroppedLaunches Find() {
    for (const uint32_t launch : Choose()) {
      if (how_.now() + how_.usual_call > end_) {
        Stop(absl::StrCat("a call takes ", absl::FormatDuration(how_.usual_call), ", all of them together may take ",
                          absl::FormatDuration(how_.budget)));
        break;
      }
      if (!Try(launch)) break;
    }
    return Report();
  }

 private:
  std::vector<uint32_t> Choose() {
    std::vector<uint32_t> launches(kernels_.size());
    std::iota(launches.begin(), launches.end(), 0u);
    std::mt19937_64 random(how_.random_seed);
    std::shuffle(launches.begin(), launches.end(), random);
    if (launches.size() > LeftOutPlan::kMostTried) {
      launches.resize(LeftOutPlan::kMostTried);
      Stop(absl::StrCat(LeftOutPlan::kMostTried, " launches are tried at most"));
    }
    return launches;
  }

  // Whether another one can be tried in the same runner.
  bool Try(uint32_t launch) {
    const AnsweredInputs& inputs = how_.inputs[tried_ % how_.inputs.size()];
    if (const MaybeFailure failure = session_.Fill(inputs.seed, inputs.distribution)) return Stop(failure->reason);
    const absl::Duration deadline = std::max(LeftOutPlan::kFairCalls * how_.usual_call, LeftOutPlan::kShortestDeadline);
    const MaybeFailure ended = session_.SteadyWithout(launch, how_.poison_seed + tried_, deadline);
    if (ended.has_value() && IsLostWorker(*ended)) return Stop(ended->reason);
    ++tried_;
    if (ended.has_value()) return Stop(absl::StrCat("the call without launch ", launch, ": ", ended->reason));
    sassay::worker::JudgeReply reply;
    if (const MaybeFailure failure = session_.Compare(reply)) {
      --tried_;
      return Stop(failure->reason);
    }
    if (WrongIn(reply).empty()) dead_.insert(launch);
    return true;
  }

  bool Stop(std::string why) {
    why_not_all_ = std::move(why);
    return false;
  }

  DroppedLaunches Report() const {
    DroppedLaunches report;
    report.set_launches(static_cast<uint32_t>(kernels_.size()));
    report.set_tried(tried_);
    for (const uint32_t launch : dead_) {
      sassay::v1::DeadLaunch* dead = report.add_dead();
      dead->set_launch(launch);
      dead->set_kernel(kernels_[launch]);
    }
    if (tried_ < kernels_.size()) report.set_reason(why_not_all_);
    return report;
  }

  CandidateSession& session_;
  const std::vector<std::string> kernels_;
  const LeftOutPlan& how_;
  const absl::Time end_;
  uint32_t tried_ = 0;
  std::set<uint32_t> dead_;
  std::string why_not_all_;
};

}  // namespace

DroppedLaunches FindDeadLaunches(CandidateSession& session, const sassay::v1::LaunchPlan& plan,
                                 const LeftOutPlan& how) {
  return Finder(session, KernelsOf(plan), how).Find();
}

}  // namespace sassay::evaluate
