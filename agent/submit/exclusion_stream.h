// Hears of exclusions that come after a submission's stream has ended.
#ifndef SASSAY_AGENT_SUBMIT_EXCLUSION_STREAM_H_
#define SASSAY_AGENT_SUBMIT_EXCLUSION_STREAM_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/submit/connection.h"
#include "agent/submit/retry.h"
#include "common/rpc/stopper.h"
#include "sassay/v1/events.pb.h"

namespace sassay::agent {

// Who asks for exclusions since a moment of his own clock asks from so much earlier: further than the service's clock
// and ours are apart.
inline constexpr absl::Duration kExclusionClockSlack = absl::Minutes(10);

// Calls `on_event` with every exclusion of this tenant's attempts since `from` by the service's clock, until the
// stopper stops. Blocks. A stream that breaks is opened again, so that an event may come twice, however long the
// service is away: how long a run waits for it is the run's to say, and while it goes on it must hear. `policy` gives
// the waits. `on_note` is told if the service refuses, or is too old to tell; then nobody watches.
void WatchExclusions(Connection& connection, absl::Time from, const RetryPolicy& policy, Stopper& stopper,
                     const std::function<void(const v1::Event&)>& on_event,
                     const std::function<void(absl::string_view)>& on_note);

// Calls `on_event` with every exclusion since `from` that the service has kept, in one call. Failure: FromGrpc's
// status; DEADLINE_EXCEEDED also from a service that is too old to end this stream, after it has told all.
absl::Status ReadExclusions(Connection& connection, absl::Time from, Stopper& stopper,
                            const std::function<void(const v1::Event&)>& on_event);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_SUBMIT_EXCLUSION_STREAM_H_
