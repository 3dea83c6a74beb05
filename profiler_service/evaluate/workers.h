// What a stage needs of the outside, as narrow interfaces: a judge to ask and runners to start. The pipeline gives real
// processes, tests give objects.
#ifndef SASSAY_PROFILER_SERVICE_EVALUATE_WORKERS_H_
#define SASSAY_PROFILER_SERVICE_EVALUATE_WORKERS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/base/fd.h"
#include "profiler_service/admission/admission.h"
#include "profiler_service/wire/worker.pb.h"

namespace sassay::evaluate {

// One runner for one candidate and one stage; same contract as wire::RunnerClient. Destruction kills it.
class CandidateRunner {
 public:
  virtual ~CandidateRunner() = default;
  virtual absl::StatusOr<sassay::worker::RunnerReply> Load(const sassay::v1::Bundle& bundle,
                                                           sassay::worker::RunMode mode) = 0;
  virtual absl::StatusOr<sassay::worker::RunnerReply> Bind(absl::Span<const sassay::worker::SharedRegion> regions,
                                                           absl::Span<const int> descriptors) = 0;
  virtual absl::StatusOr<sassay::worker::RunnerReply> Setup(uint64_t poison_seed, absl::Duration device_deadline) = 0;
  // `left_out`: the launch that this call does without, by its position among the launches of a call.
  virtual absl::StatusOr<sassay::worker::RunnerReply> Steady(uint64_t poison_seed, absl::Duration device_deadline,
                                                             absl::optional<uint32_t> left_out) = 0;
  absl::StatusOr<sassay::worker::RunnerReply> Steady(uint64_t poison_seed, absl::Duration device_deadline) {
    return Steady(poison_seed, device_deadline, absl::nullopt);
  }
  // Versions of the device it runs on.
  virtual sassay::v1::Versions versions() const = 0;
  // From any thread, also during a call, which then returns CANCELLED.
  virtual void Kill() = 0;
};

// A judge. Thread-safe: requests of several cases are under way at once, of one case one at a time.
//
// Failure: UNAVAILABLE the judge has died (it is restarted; its cases are gone); DEADLINE_EXCEEDED; CANCELLED the job
// is cancelled and the answer no longer waited for. The reply's own
// trouble is judge.h's.
class JudgePort {
 public:
  virtual ~JudgePort() = default;
  // `descriptors` receives what travels beside the reply.
  virtual absl::StatusOr<sassay::worker::JudgeReply> Ask(const sassay::worker::JudgeRequest& request,
                                                         std::vector<UniqueFd>& descriptors, absl::Time deadline) = 0;
  // Frees the case's memory: before anything that is asked later is looked at, and nobody waits for it.
  virtual void Drop(uint64_t case_id) = 0;
  // A case id that no other stage of this process uses.
  virtual uint64_t NewCase() = 0;
};

// The workers of one device, for one job. Thread-compatible. Calls return CANCELLED once the job is cancelled.
class Workers {
 public:
  virtual ~Workers() = default;
  virtual absl::StatusOr<std::unique_ptr<CandidateRunner>> StartRunner(sassay::worker::RunMode mode,
                                                                       absl::Time deadline) = 0;
  virtual JudgePort& judge() = 0;
  // The process of the last of these runners on which a candidate went wrong; 0 if it is not known.
  virtual uint32_t troubled_runner() const { return 0; }
};

// What every stage that runs a candidate is given.
struct StageContext {
  const admission::AdmittedBundle& bundle;
  Workers& workers;
  // Of the whole job, by SteadyNow.
  absl::Time deadline;
  // Of one request to the device, at most; the job's deadline shortens it.
  absl::Duration device_deadline = absl::Seconds(10);
  // A fault must happen again, alone, before it is the candidate's: hardware can fail, an emulator does not.
  bool faults_need_proof = true;
  // The approved kernel that says what is right, where the workload's reference is one; null otherwise.
  const admission::AdmittedBundle* reference = nullptr;
};

}  // namespace sassay::evaluate

#endif  // SASSAY_PROFILER_SERVICE_EVALUATE_WORKERS_H_
