// A case of the judge, owned: the candidate's buffers for one stage.
#ifndef SASSAY_PROFILER_SERVICE_EVALUATE_JUDGE_CASE_H_
#define SASSAY_PROFILER_SERVICE_EVALUATE_JUDGE_CASE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/base/fd.h"
#include "profiler_service/evaluate/workers.h"
#include "profiler_service/verdict/observations.h"
#include "profiler_service/wire/worker.pb.h"

namespace sassay::evaluate {

// Nothing, or why the stage ends here.
using MaybeFailure = absl::optional<verdict::Failure>;

// Life cycle: Prepare, then Fill and Compare as often as wanted; or KeepAs of another case makes it, and it can only be
// compared; destruction frees the judge's memory. Threads:
// thread-compatible. Failure: JUDGE_LOST (also for a case that died with an earlier judge), TOO_LARGE_FOR_DEVICE the
// reference would take too long, NO_REFERENCE, CANCELLED_BY_CLIENT, INTERNAL.
class JudgeCase {
 public:
  // `deadline` is the job's; comparing may take a while longer.
  JudgeCase(const admission::AdmittedBundle& bundle, JudgePort& judge, absl::Time deadline)
      : bundle_(bundle), judge_(judge), deadline_(deadline) {}
  ~JudgeCase();
  JudgeCase(const JudgeCase&) = delete;
  JudgeCase& operator=(const JudgeCase&) = delete;

  // Makes the plan's tensors, with decoy inputs.
  MaybeFailure Prepare(uint64_t decoy_seed) { return Prepare(decoy_seed, {}); }
  // The same for this case and its `twins` (same bundle and judge), in one object where the device is a GPU. If it
  // fails none of them is prepared.
  MaybeFailure Prepare(uint64_t decoy_seed, absl::Span<JudgeCase* const> twins);
  // New inputs; outputs are poisoned.
  MaybeFailure Fill(uint64_t seed, absl::string_view distribution);
  // The same, and other bytes in the guard bands; after a Compare only, which has looked at what they were.
  MaybeFailure FillAnew(uint64_t seed, absl::string_view distribution);
  // The same for one call whose outputs may never be compared: cheaper by what the judge would keep of the inputs.
  MaybeFailure FillForOnce(uint64_t seed, absl::string_view distribution);
  // `kept` becomes what the outputs are now, to be compared later; what it was before is dropped.
  MaybeFailure KeepAs(JudgeCase& kept);
  // Reads back. Guard bands and modified inputs are in the reply, not failures.
  MaybeFailure Compare(sassay::worker::JudgeReply& reply);
  // The outputs become the reference of this workload, seed and distribution.
  MaybeFailure Adopt();

  // Valid after Prepare.
  const std::vector<sassay::worker::SharedRegion>& regions() const { return regions_; }
  std::vector<int> descriptors() const;

 private:
  MaybeFailure Refill(sassay::worker::RefillCase refill, uint64_t seed, absl::string_view distribution);
  MaybeFailure Ask(sassay::worker::JudgeRequest request, sassay::worker::JudgeReply& reply);
  MaybeFailure Ask(sassay::worker::JudgeRequest request, sassay::worker::JudgeReply& reply,
                   std::vector<UniqueFd>& descriptors);

  const admission::AdmittedBundle& bundle_;
  JudgePort& judge_;
  const absl::Time deadline_;
  uint64_t id_ = 0;
  std::vector<sassay::worker::SharedRegion> regions_;
  // Of a case and its twins.
  std::shared_ptr<const std::vector<UniqueFd>> memory_;
};

// What trouble with a worker means. `lost` is RUNNER_LOST or JUDGE_LOST.
verdict::Failure TroubleOf(const absl::Status& status, sassay::v1::VerdictCode lost);
// Whether a runner or judge was lost, so that another one may end better.
bool IsLostWorker(const verdict::Failure& failure);

}  // namespace sassay::evaluate

#endif  // SASSAY_PROFILER_SERVICE_EVALUATE_JUDGE_CASE_H_
