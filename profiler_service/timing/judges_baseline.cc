#include "profiler_service/timing/judges_baseline.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/fd.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"

namespace sassay::timing {
namespace {

using sassay::worker::JudgeReply;
using sassay::worker::TimeBaseline;

// What the judge may take beyond the job's deadline. More than its own for the device: a job that has little time left
// waits a while for nothing, and the judge, which is everybody's, is not killed for it.
constexpr absl::Duration kJudgeGrace = absl::Seconds(120);

uint64_t Ns(absl::Duration duration) { return static_cast<uint64_t>(absl::ToInt64Nanoseconds(duration)); }

absl::StatusCode CodeOf(sassay::worker::JudgeTrouble trouble) {
  switch (trouble) {
    case sassay::worker::JUDGE_TROUBLE_NO_BASELINE:
      return absl::StatusCode::kNotFound;
    case sassay::worker::JUDGE_TROUBLE_NO_CASE:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::StatusOr<JudgeReply> JudgesBaseline::Ask(TimeBaseline what) {
  if (SteadyNow() >= options_.deadline) {
    return absl::DeadlineExceededError("the time for timing was over before enough samples were taken");
  }
  sassay::worker::JudgeRequest request;
  request.set_case_id(case_);
  *what.mutable_workload() = options_.workload;
  what.set_seed(options_.seed);
  what.set_distribution(options_.distribution);
  what.set_tensor_sets(options_.tensor_sets);
  *request.mutable_time_baseline() = std::move(what);
  std::vector<UniqueFd> none;
  absl::StatusOr<JudgeReply> reply = judge_.Ask(request, none, options_.deadline + kJudgeGrace);
  if (absl::IsCancelled(reply.status())) return reply.status();
  if (!reply.ok()) return absl::UnavailableError(absl::StrCat("the judge was lost: ", reply.status().message()));
  if (!reply->error().empty()) return absl::Status(CodeOf(reply->trouble()), reply->error());
  return reply;
}

absl::Status JudgesBaseline::Prepare() {
  ASSIGN_OR_RETURN(const JudgeReply reply, Ask(TimeBaseline()));
  program_ = reply.baseline();
  return absl::OkStatus();
}

absl::StatusOr<WarmUpReport> JudgesBaseline::WarmUp(int calls, absl::Duration at_least, absl::Duration at_most) {
  TimeBaseline request;
  request.mutable_warm_up()->set_calls(static_cast<uint32_t>(calls));
  request.mutable_warm_up()->set_at_least_ns(Ns(at_least));
  request.mutable_warm_up()->set_at_most_ns(Ns(at_most));
  ASSIGN_OR_RETURN(const JudgeReply reply, Ask(std::move(request)));
  return WarmUpReport{static_cast<int>(reply.block().calls()), reply.block().clock_mhz(), reply.block().enqueue_ns()};
}

absl::StatusOr<BlockReport> JudgesBaseline::RunBlock(const BlockSize& size) {
  TimeBaseline request;
  request.mutable_block()->set_poison_seed(options_.seed + (++blocks_ << 32));
  for (int i = 0; i < size.dropped + size.kept; ++i) request.mutable_block()->add_sets(0);
  ASSIGN_OR_RETURN(const JudgeReply reply, Ask(std::move(request)));
  BlockReport report;
  report.samples_ns.assign(reply.block().samples_ns().begin(), reply.block().samples_ns().end());
  report.clock_mhz = reply.block().clock_mhz();
  if (reply.block().late()) report.trouble = "the baseline's launches came too late";
  return report;
}

}  // namespace sassay::timing
