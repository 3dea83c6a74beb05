// The judge as a process: a loop over its channel.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_SERVE_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_SERVE_H_

#include "absl/status/status.h"
#include "profiler_service/judge/judge.h"
#include "profiler_service/wire/channel.h"

namespace sassay::judge {

// Says "ready", then answers requests until the service hangs up (OK) or the channel breaks. Requests of one case are
// answered in their order, those of other cases do not wait for a case whose reference is being computed or whose
// outputs are being compared. A request that comes for a case before its earlier one was answered ends that one with
// CANCELLED: its asker went away. ABORTED, without an answer to the request that was under way, once the judge is not
// usable any more: the process should end, so that another one takes its place and every case is told lost.
absl::Status Serve(Judge& judge, wire::Channel channel);

// Says why this judge cannot work, in place of "ready".
absl::Status Refuse(const absl::Status& why, wire::Channel channel);

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_SERVE_H_
