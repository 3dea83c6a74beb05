// The part of Judge that takes times: of baselines, and of the canary.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/workload/definition.h"
#include "profiler_service/judge/gpu/canary.h"
#include "profiler_service/judge/judge.h"

namespace sassay::judge {
namespace {

using sassay::worker::JudgeReply;

constexpr uint32_t kMostSets = 64;
constexpr int kMostSamples = 4096;

// Of one request to the device, and nobody's to choose: what is late is given up together with this judge, which serves
// every job on the device, and so a job's own little time must not decide. Baselines take milliseconds.
constexpr absl::Duration kDeviceDeadline = absl::Seconds(60);
constexpr absl::Duration kLongestWarmUp = absl::Seconds(20);

absl::Time DeviceDeadline() { return SteadyNow() + kDeviceDeadline; }

absl::Status CheckEnd(const device::Execution& execution) {
  if (execution.outcome == sassay::worker::RUN_OUTCOME_OK) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the baseline did not end well: ", execution.message));
}

// Whether there will be none however often one asks.
bool IsNotToBeHad(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsUnimplemented(status) || absl::IsUnavailable(status) ||
         absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status);
}

}  // namespace

absl::StatusOr<std::shared_ptr<Baseline>> Judge::KnownBaseline(const sassay::v1::Workload& workload) {
  const std::string key = absl::StrCat(workload.definition_sha256(), workload.name());
  const auto known = std::find_if(known_baselines_.begin(), known_baselines_.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  std::shared_ptr<Baseline> baseline;
  if (known != known_baselines_.end()) {
    baseline = known->second;
    known_baselines_.erase(known);
  } else {
    BaselineOptions options;
    options.workspace_limit_bytes = JudgesWorkspaceLimit(device_.info().memory_bytes);
    ASSIGN_OR_RETURN(baseline, MakeBaseline(workload, device_, options));
  }
  known_baselines_.emplace_back(key, baseline);
  if (known_baselines_.size() > kKnownBaselines) known_baselines_.erase(known_baselines_.begin());
  return baseline;
}

absl::StatusOr<TimedBaseline*> Judge::FindBaseline(uint64_t id, const sassay::worker::TimeBaseline& request,
                                                   JudgeReply& reply) {
  const auto found = baselines_.find(id);
  if (found != baselines_.end()) return found->second.get();
  if (request.has_block() || request.has_warm_up()) {
    reply.set_trouble(sassay::worker::JUDGE_TROUBLE_NO_CASE);
    return absl::NotFoundError(absl::StrCat("the judge has no baseline ", id));
  }
  const auto fill = [&](int set, absl::Span<const device::DeviceAddress> buffers) -> absl::Status {
    const uint64_t seed = request.seed() + static_cast<uint64_t>(set);
    if (OnDevice(request.workload())) {
      return examiner_->WriteInputs(request.workload(), seed, request.distribution(), buffers);
    }
    Case holder;
    holder.workload = request.workload();
    RETURN_IF_ERROR(TakeState(holder, seed, request.distribution(), reply));
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (holder.workload.inputs(static_cast<int>(i)).scalar()) continue;
      RETURN_IF_ERROR(device_.Write(buffers[i], holder.state->inputs()[i]));
    }
    return absl::OkStatus();
  };
  absl::StatusOr<std::shared_ptr<Baseline>> known = KnownBaseline(request.workload());
  if (IsNotToBeHad(known.status())) reply.set_trouble(sassay::worker::JUDGE_TROUBLE_NO_BASELINE);
  RETURN_IF_ERROR(known.status());
  const int sets = static_cast<int>(std::clamp<uint32_t>(request.tensor_sets(), 1, kMostSets));
  absl::StatusOr<std::unique_ptr<TimedBaseline>> made =
      TimedBaseline::Create(*std::move(known), device_, request.workload(), sets, fill);
  if (IsNotToBeHad(made.status())) reply.set_trouble(sassay::worker::JUDGE_TROUBLE_NO_BASELINE);
  RETURN_IF_ERROR(made.status());
  return (baselines_[id] = *std::move(made)).get();
}

absl::Status Judge::TimeBaseline(uint64_t id, const sassay::worker::TimeBaseline& request, JudgeReply& reply) {
  ASSIGN_OR_RETURN(judge::TimedBaseline* const baseline, FindBaseline(id, request, reply));
  reply.mutable_baseline()->set_library(baseline->facts().library);
  reply.mutable_baseline()->set_version(baseline->facts().version);
  reply.mutable_baseline()->set_algorithm(baseline->facts().algorithm);
  if (request.has_warm_up()) {
    device::StretchLength length;
    length.calls = static_cast<int>(std::min<uint32_t>(request.warm_up().calls(), kMostSamples));
    length.at_least = absl::Nanoseconds(request.warm_up().at_least_ns());
    length.at_most = std::min(absl::Nanoseconds(request.warm_up().at_most_ns()), kLongestWarmUp);
    ASSIGN_OR_RETURN(const device::Stretch stretch, baseline->WarmUp(length, DeviceDeadline()));
    RETURN_IF_ERROR(CheckEnd(stretch.execution));
    reply.mutable_block()->set_calls(static_cast<uint32_t>(stretch.calls));
    reply.mutable_block()->set_clock_mhz(stretch.clock_mhz);
    reply.mutable_block()->set_enqueue_ns(stretch.enqueue_ns);
  }
  if (request.has_block()) {
    const int samples = std::min(request.block().sets_size(), kMostSamples);
    ASSIGN_OR_RETURN(const device::SampledBlock block,
                     baseline->Time(request.block().poison_seed(), samples, DeviceDeadline()));
    RETURN_IF_ERROR(CheckEnd(block.execution));
    reply.mutable_block()->mutable_samples_ns()->Assign(block.samples_ns.begin(), block.samples_ns.end());
    reply.mutable_block()->set_calls(static_cast<uint32_t>(samples));
    reply.mutable_block()->set_clock_mhz(block.clock_mhz);
    reply.mutable_block()->set_late(block.late);
    reply.mutable_block()->set_held(true);
  }
  return absl::OkStatus();
}

absl::Status Judge::RunCanary(JudgeReply& reply) {
  if (examiner_ == nullptr) return absl::FailedPreconditionError("a device that runs no kernels of ours has no canary");
  ASSIGN_OR_RETURN(const std::unique_ptr<gpu::Canary> canary, gpu::Canary::Create(examiner_->kernels()));
  absl::StatusOr<sassay::v1::RunCanaryResponse> response = canary->Run();
  if (absl::IsDataLoss(response.status())) reply.set_trouble(sassay::worker::JUDGE_TROUBLE_WRONG_RESULT);
  RETURN_IF_ERROR(response.status());
  *reply.mutable_canary() = *std::move(response);
  return absl::OkStatus();
}

}  // namespace sassay::judge
