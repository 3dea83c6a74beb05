#include "common/metrics/metric_families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "common/metrics/endpoint.h"

namespace sassay::metrics {
namespace {

using testing::HasSubstr;

constexpr Metric kWaiting = {"sassay_waiting", Type::kGauge, "", "Who waits", {"hall", "row"}};
constexpr Metric kServed = {"sassay_served_total", Type::kCounter, "", "Who was served", {}};

TEST(Families, NumbersOfOneMetricStandTogetherUnderItsHelpAndType) {
  const auto collectable = CollectWith([](Families& families) {
    families.Add(kWaiting, {"a", "1"}, 3);
    families.Add(kServed, {}, 7);
    families.Add(kWaiting, {"b", "2"}, 4);
  });
  EXPECT_THAT(ToText({collectable}), HasSubstr("# HELP sassay_waiting Who waits\n"
                                               "# TYPE sassay_waiting gauge\n"
                                               "sassay_waiting{hall=\"a\",row=\"1\"} 3\n"
                                               "sassay_waiting{hall=\"b\",row=\"2\"} 4\n"
                                               "# HELP sassay_served_total Who was served\n"
                                               "# TYPE sassay_served_total counter\n"
                                               "sassay_served_total 7\n"));
}

TEST(FamiliesDeathTest, ALabelTooFewIsABugOfOurs) {
  Families families;
  EXPECT_DEATH(families.Add(kWaiting, {"a"}, 3), "a value for each label");
}

TEST(Families, AProcessSaysWhatItUses) {
  const std::string text = ToText({CollectWith([](Families&) {})});
  for (const Metric* metric : ProcessMetrics()) {
    EXPECT_THAT(text, testing::ContainsRegex("\n" + std::string(metric->name) + " [1-9]|\n" +
                                             std::string(metric->name) + " 0[.]"));
  }
}

TEST(Endpoint, APortThatIsTakenIsSaidToBe) {
  const auto first = Endpoint::Listen("127.0.0.1:0", {});
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Endpoint::Listen((*first)->address(), {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr((*first)->address()));
}

TEST(Families, AProcessKnowsWhenItStarted) {
  const std::string text = ToText({CollectWith([](Families&) {})});
  const size_t at = text.find("\nprocess_start_time_seconds ");
  ASSERT_NE(at, std::string::npos);
  double start = 0;
  ASSERT_TRUE(absl::SimpleAtod(text.substr(at + 28, text.find('\n', at + 1) - at - 28), &start));
  const double now = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  EXPECT_LE(start, now + 2);  // the kernel's moment of boot has whole seconds
  EXPECT_GT(start, now - 600);
}

}  // namespace
}  // namespace sassay::metrics
