#include "monitor/rules/state/restart_backoff.h"

#include <gtest/gtest.h>

#include <vector>

#include "monitor/rules/config.h"

namespace sassay::monitor {
namespace {

absl::Time At(double seconds) { return absl::FromUnixSeconds(1000) + absl::Seconds(seconds); }

TEST(RestartBackoff, PausesGrowUntilItIsAStorm) {
  const v1::RestartPolicy policy = DefaultConfig().restarts();
  RestartBackoff backoff(policy);
  std::vector<int> made;
  for (int second = 0; second < 600; ++second) {
    if (!backoff.Allowed(At(second))) continue;
    made.push_back(second);
    backoff.Made(At(second));
  }
  EXPECT_EQ(made, (std::vector<int>{0, 5, 15, 35, 75}));
  EXPECT_TRUE(backoff.Storm(At(599)));
  EXPECT_FALSE(backoff.Storm(At(601)));
  EXPECT_TRUE(backoff.Allowed(At(601)));
}

TEST(RestartBackoff, AQuietTimeIsABeginning) {
  const v1::RestartPolicy policy = DefaultConfig().restarts();
  RestartBackoff backoff(policy);
  for (const int second : {0, 5, 15}) backoff.Made(At(second));
  EXPECT_FALSE(backoff.Allowed(At(30)));
  EXPECT_TRUE(backoff.Allowed(At(616)));
  backoff.Made(At(616));
  EXPECT_TRUE(backoff.Allowed(At(621)));
}

}  // namespace
}  // namespace sassay::monitor
