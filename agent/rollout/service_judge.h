// Compiles and captures here, and has the service judge.
#ifndef SASSAY_AGENT_ROLLOUT_SERVICE_JUDGE_H_
#define SASSAY_AGENT_ROLLOUT_SERVICE_JUDGE_H_

#include <functional>
#include <string>
#include <vector>

#include "agent/build/builder.h"
#include "agent/rollout/judge.h"
#include "agent/rollout/slots.h"
#include "agent/submit/connection.h"
#include "agent/submit/retry.h"
#include "sassay/v1/profiler.pb.h"

namespace sassay::agent {

// How much at once, and what is asked for.
struct ServiceJudgeOptions {
  // Compilers and captures; the machine's CPUs.
  size_t builds = 1;
  // Submissions that the service has at once: enough to keep its GPUs busy, and well below what it lets a tenant queue.
  size_t submissions = 64;
  // Stages, sanitize policy and deadlines; request_id, bundle and workload are filled in.
  v1::ProfileRequest request;
  // Larger bundles are the candidate's fault; what the service accepts.
  uint64_t max_bundle_bytes = 0;
  // What the service has: a bundle for newer drivers than any of these is not uploaded. Empty: nothing is known.
  google::protobuf::RepeatedPtrField<v1::DeviceCapability> devices;
  RetryPolicy retry;
  // What else is captured, for the sanitizer (ShapesForSanitizers).
  std::function<std::vector<v1::Workload>(const v1::Workload&)> welcome = [](const v1::Workload&) {
    return std::vector<v1::Workload>();
  };
  // Where it is set, a job that is stopped is cancelled in the service, and its end is waited for shortly, or until
  // this is stopped. Without it the service goes on, and the same request id finds the submission again.
  Stopper* cancelling = nullptr;
};

// One channel to the service, shared by all. A bundle's bytes are let go as soon as they are uploaded, so that what
// waits in the service's queue costs no memory here; a candidate that must be submitted again is built again, which the
// compile cache makes cheap. A job that is stopped while it is built takes its compiler with it.
class ServiceJudge final : public Judge {
 public:
  ServiceJudge(const Builder& builder, Connection& connection, ServiceJudgeOptions options);
  // For bundles alone: no compiler is needed. FAILED_PRECONDITION for jobs with sources.
  ServiceJudge(Connection& connection, ServiceJudgeOptions options);

  absl::StatusOr<Judgement> Run(const JudgeJob& job, const JudgeListener& listener, Stopper& stopper) override;
  void Close() override;

 private:
  absl::StatusOr<BuildOutcome> Build(const JudgeJob& job, const JudgeListener& listener, Stopper& stopper);
  absl::StatusOr<Judgement> Submit(const JudgeJob& job, BuiltBundle built, const JudgeListener& listener,
                                   Stopper& stopper);

  const Builder* const builder_;
  Connection& connection_;
  const ServiceJudgeOptions options_;
  Slots builds_;
  Slots submissions_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_ROLLOUT_SERVICE_JUDGE_H_
