// What the settings say about the service and about what is asked of it.
#ifndef SASSAY_AGENT_SUBMIT_FROM_SETTINGS_H_
#define SASSAY_AGENT_SUBMIT_FROM_SETTINGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "agent/config/settings.h"
#include "agent/submit/retry.h"
#include "common/rpc/secure_channel.h"
#include "sassay/v1/profiler.pb.h"

namespace sassay::agent {

// Where the service is, and how to be safe on the way there.
ConnectionOptions ConnectionFrom(const Settings& settings);

// With the `reconnect_deadline` setting.
RetryPolicy RetryPolicyFrom(const Settings& settings);

// A request with the settings' stages, sanitize policy, diagnoses, class, GPU model, deadlines and what may be reused,
// and a fresh request_id; `usual` is the class where the settings leave it open. INVALID_ARGUMENT for an unknown stage
// or diagnosis, and for --fresh with --max-age.
absl::StatusOr<v1::ProfileRequest> MakeRequest(const Settings& settings, const std::string& workload,
                                               v1::Priority usual = v1::PRIORITY_UNSPECIFIED);

// The same for what is measured or counted more than once, where an answer that was given before would be no second
// one: for no workload yet, and never answered from an earlier verdict, whatever the settings say.
absl::StatusOr<v1::ProfileRequest> MakeFreshRequest(const Settings& settings,
                                                    v1::Priority usual = v1::PRIORITY_UNSPECIFIED);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_SUBMIT_FROM_SETTINGS_H_
