// The workload's reference where that is a kernel, in a runner of its own: it says what is right for given inputs.
#ifndef SASSAY_PROFILER_SERVICE_EVALUATE_REFERENCE_SESSION_H_
#define SASSAY_PROFILER_SERVICE_EVALUATE_REFERENCE_SESSION_H_

#include <cstdint>
#include <string>

#include "profiler_service/evaluate/seed_pool.h"
#include "profiler_service/evaluate/session.h"
#include "profiler_service/evaluate/workers.h"

namespace sassay::evaluate {

// Life cycle: Open, then Answer as often as wanted; after a failure give it up. Destruction kills the runner.
// Thread-compatible. Ownership: what the context names and the seeds must outlive it. Failure: always ours, whatever
// the kernel did (RUNNER_LOST, JUDGE_LOST, INTERNAL), or CANCELLED_BY_CLIENT.
class ReferenceSession {
 public:
  // `context.reference` is what runs here; it must be there.
  ReferenceSession(const StageContext& context, const Seeds& seeds);
  ReferenceSession(const ReferenceSession&) = delete;
  ReferenceSession& operator=(const ReferenceSession&) = delete;

  // Starts the runner. The kernel never sees a candidate's buffers, and no candidate sees its.
  MaybeFailure Open();
  // Computes the outputs for these inputs; the judge compares every case that has them with these outputs from now on.
  MaybeFailure Answer(uint64_t seed, const std::string& distribution);

 private:
  const StageContext context_;
  const Seeds& seeds_;
  CandidateSession session_;
};

}  // namespace sassay::evaluate

#endif  // SASSAY_PROFILER_SERVICE_EVALUATE_REFERENCE_SESSION_H_
