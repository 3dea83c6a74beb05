// The verdicts that need no stage: what the queue itself has to say about a submission.
#ifndef SASSAY_PROFILER_SERVICE_QUEUE_OWN_VERDICTS_H_
#define SASSAY_PROFILER_SERVICE_QUEUE_OWN_VERDICTS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "profiler_service/store/store.h"
#include "sassay/v1/profiler.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::queue {

// A verdict about `request` with everything that is known without running it.
sassay::v1::Verdict OwnVerdict(const sassay::v1::ProfileRequest& request, sassay::v1::VerdictStatus status,
                               sassay::v1::VerdictCode code, absl::string_view reason, uint32_t attempt,
                               absl::Time now);

// Somebody asked to stop.
sassay::v1::Verdict CancelledVerdict(const sassay::v1::ProfileRequest& request, uint32_t attempt, absl::Time now);

// It waited too long.
sassay::v1::Verdict QueueDeadlineVerdict(const store::Submission& submission, absl::Time now);

// The processes that ran it crashed `losses` times in a row.
sassay::v1::Verdict GivenUpVerdict(const store::Submission& submission, uint32_t losses, absl::Time now);

// Whether another attempt can end differently: a lost runner may, a missing opcode will not.
bool WorthRetrying(const sassay::v1::Verdict& verdict);

}  // namespace sassay::queue

#endif  // SASSAY_PROFILER_SERVICE_QUEUE_OWN_VERDICTS_H_
