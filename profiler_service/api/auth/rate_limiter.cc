#include "profiler_service/api/auth/rate_limiter.h"

#include <algorithm>

namespace sassay::api {

bool RateLimiter::Allow(const std::string& tenant) {
  const absl::Time now = now_();
  const double burst = std::max(1.0, 2 * per_second_);
  absl::MutexLock lock(&mutex_);
  Bucket& bucket = buckets_.try_emplace(tenant, Bucket{burst, now}).first->second;
  const absl::Duration since = std::max(absl::ZeroDuration(), now - bucket.at);  // the clock may have been set back
  bucket.tokens = std::min(burst, bucket.tokens + per_second_ * absl::ToDoubleSeconds(since));
  bucket.at = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

}  // namespace sassay::api
