// How often a tenant may ask.
#ifndef SASSAY_PROFILER_SERVICE_API_AUTH_RATE_LIMITER_H_
#define SASSAY_PROFILER_SERVICE_API_AUTH_RATE_LIMITER_H_

#include <functional>
#include <string>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace sassay::api {

// A token bucket per tenant: `per_second` on average, bursts of two seconds' worth. Tenants come from the token file,
// so the map stays small. Thread-safe.
class RateLimiter {
 public:
  explicit RateLimiter(double per_second, std::function<absl::Time()> now = absl::Now)
      : per_second_(per_second), now_(std::move(now)) {}

  // Takes one if there is one.
  bool Allow(const std::string& tenant) ABSL_LOCKS_EXCLUDED(mutex_);
  double per_second() const { return per_second_; }

 private:
  struct Bucket {
    double tokens;
    absl::Time at;
  };
  const double per_second_;
  const std::function<absl::Time()> now_;
  absl::Mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_AUTH_RATE_LIMITER_H_
