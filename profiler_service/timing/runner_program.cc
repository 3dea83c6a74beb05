#include "profiler_service/timing/runner_program.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "profiler_service/evaluate/session.h"
#include "profiler_service/verdict/verdict.h"

namespace sassay::timing {
namespace {

using sassay::worker::RunnerReply;

constexpr int kFairCalls = 100;

uint64_t Ns(absl::Duration duration) { return static_cast<uint64_t>(absl::ToInt64Nanoseconds(duration)); }

}  // namespace

absl::Duration RunnerProgram::Left() const { return std::max(options_.deadline - SteadyNow(), absl::Milliseconds(1)); }

absl::Status RunnerProgram::Take(const absl::StatusOr<RunnerReply>& reply, absl::Duration given) {
  if (absl::IsCancelled(reply.status())) return reply.status();
  if (!reply.ok()) return absl::UnavailableError(absl::StrCat("the runner was lost: ", reply.status().message()));
  if (reply->outcome() == worker::RUN_OUTCOME_OK) return absl::OkStatus();
  if (reply->outcome() == worker::RUN_OUTCOME_TIMEOUT && given < kFairCalls * options_.longest_call) {
    return absl::DeadlineExceededError("the time for timing was over before enough samples were taken");
  }
  evaluate::MaybeFailure failure = evaluate::FailureOf(*reply);
  const std::string reason = absl::StrCat("the timed run did not end well: ", failure->reason);
  if (verdict::IsInfrastructure(failure->code)) return absl::InternalError(reason);
  failure_ = std::move(failure);
  return absl::AbortedError(reason);
}

absl::Status RunnerProgram::Bind(absl::Span<const TensorSet> sets) {
  std::map<int, uint32_t> sent;
  for (uint32_t i = 0; i < sets.size(); ++i) {
    std::vector<worker::SharedRegion> regions = sets[i].regions;
    std::vector<int> fresh;
    for (worker::SharedRegion& region : regions) {
      const int descriptor = sets[i].descriptors[region.memory()];
      const auto [entry, first] = sent.emplace(descriptor, static_cast<uint32_t>(sent.size()));
      if (first) fresh.push_back(descriptor);
      region.set_memory(entry->second);
    }
    RETURN_IF_ERROR(Take(runner_.Bind(regions, fresh, i), Left()));
  }
  return absl::OkStatus();
}

absl::Status RunnerProgram::SetUp(const sassay::v1::Bundle& bundle, absl::Span<const TensorSet> sets) {
  RETURN_IF_ERROR(Take(runner_.Load(bundle, worker::RUN_MODE_TIMED), Left()));
  RETURN_IF_ERROR(Bind(sets));
  const absl::Duration given = Left();
  return Take(runner_.Setup(options_.poison_seed, given), given);
}

absl::StatusOr<WarmUpReport> RunnerProgram::WarmUp(int calls, absl::Duration at_least, absl::Duration at_most) {
  sassay::worker::WarmUp request;
  const absl::Duration given = Left();
  request.set_calls(static_cast<uint32_t>(calls));
  request.set_at_least_ns(Ns(at_least));
  request.set_at_most_ns(Ns(at_most));
  request.set_deadline_ns(Ns(given));
  const auto reply = runner_.WarmUp(request);
  RETURN_IF_ERROR(Take(reply, given));
  // The runner's word: who bounds its speed from outside tells it a number and does not ask.
  return WarmUpReport{static_cast<int>(std::min<uint32_t>(reply->block().calls(), 1 << 24)),
                      reply->block().clock_mhz()};
}

absl::StatusOr<BlockReport> RunnerProgram::RunBlock(const BlockSize& size) {
  sassay::worker::TimeBlock request;
  const absl::Duration given = Left();
  const std::vector<uint32_t> sets = options_.take(size.dropped + size.kept);
  request.mutable_sets()->Assign(sets.begin(), sets.end());
  request.set_poison_seed(options_.poison_seed + (++blocks_ << 32));
  request.set_deadline_ns(Ns(given));
  const auto reply = runner_.Time(request);
  RETURN_IF_ERROR(Take(reply, given));
  held_ = reply->block().held();
  BlockReport report;
  report.samples_ns.assign(reply->block().samples_ns().begin(), reply->block().samples_ns().end());
  report.clock_mhz = reply->block().clock_mhz();
  if (reply->block().late()) report.trouble = "launches came too late";
  return report;
}

}  // namespace sassay::timing
