#include "profiler_service/wire/candidate_run.h"

#include "common/base/status_macros.h"

namespace sassay::wire {
namespace {

using sassay::worker::RunnerReply;

bool Ended(const RunnerReply& reply) { return reply.outcome() == worker::RUN_OUTCOME_OK; }

}  // namespace

absl::StatusOr<RunnerReply> Converse(const CandidateRun& run, worker::RunMode mode, RunnerClient& runner) {
  ASSIGN_OR_RETURN(RunnerReply reply, runner.Load(*run.bundle, mode));
  if (!Ended(reply)) return reply;
  ASSIGN_OR_RETURN(reply, runner.Bind(run.regions, run.descriptors));
  if (!Ended(reply)) return reply;
  ASSIGN_OR_RETURN(reply, runner.Setup(run.poison_seed, run.deadline));
  if (!Ended(reply) || !reply.findings().empty()) return reply;
  if (run.refill_after_setup) RETURN_IF_ERROR(run.refill_after_setup());
  return runner.Steady(run.poison_seed + 1, run.deadline);
}

}  // namespace sassay::wire
