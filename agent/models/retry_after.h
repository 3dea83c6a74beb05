// When a server wants to be asked again (RFC 9110, 10.2.3).
#ifndef SASSAY_AGENT_MODELS_RETRY_AFTER_H_
#define SASSAY_AGENT_MODELS_RETRY_AFTER_H_

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "agent/models/http/http_client.h"

namespace sassay::agent {

// From retry-after-ms, or Retry-After as seconds or as an HTTP date, seen at `now`. Nothing if there is none, or none
// that can be read; never negative.
absl::optional<absl::Duration> RetryAfter(const HttpHeaders& headers, absl::Time now);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_RETRY_AFTER_H_
