#include "profiler_service/api/auth/rate_limiter.h"

#include <gtest/gtest.h>

namespace sassay::api {
namespace {

TEST(RateLimiter, AllowsABurstThenTheRateAndEachTenantItsOwn) {
  absl::Time now = absl::UnixEpoch();
  RateLimiter limiter(5, [&] { return now; });
  int allowed = 0;
  while (limiter.Allow("ann")) ++allowed;
  EXPECT_EQ(allowed, 10);
  EXPECT_TRUE(limiter.Allow("bob"));
  now += absl::Milliseconds(100);
  EXPECT_FALSE(limiter.Allow("ann"));
  now += absl::Milliseconds(101);
  EXPECT_TRUE(limiter.Allow("ann"));
  EXPECT_FALSE(limiter.Allow("ann"));
}

}  // namespace
}  // namespace sassay::api
