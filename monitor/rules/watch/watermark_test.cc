#include "monitor/rules/watch/watermark.h"

#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"

namespace sassay::monitor {
namespace {

constexpr char kHeat[] = "gpu.thermal_slowdown_ratio";
constexpr char kReasons[] = "gpu.clock_reasons";
constexpr char kTotal[] = "gpu.thermal_slowdown_seconds_total";

absl::Time At(double seconds) { return absl::FromUnixSeconds(1000) + absl::Seconds(seconds); }

class WatermarkTest : public ::testing::Test {
 protected:
  WatermarkTest() {
    google::protobuf::TextFormat::ParseFromString(
        R"(signals: "gpu.thermal_slowdown_ratio" sources: "kernel_log" fresh_s: 2
           proofs: "gpu.thermal_slowdown_seconds_total" unwatched_exclusion_s: 20)",
        &policy_);
  }
  void Read(double seconds, double total = 0) {
    mark_.Take({At(seconds), "g", kHeat, 0});
    mark_.Take({At(seconds), "g", kTotal, total});
  }
  absl::optional<Unwatched> Advance(double now) { return mark_.Advance(At(now), absl::InfiniteFuture()); }

  v1::WatermarkPolicy policy_;
  Watermark mark_{policy_};
};

TEST_F(WatermarkTest, CannotBeSaidBeforeEverythingWasRead) {
  EXPECT_FALSE(Advance(1));
  EXPECT_EQ(mark_.through(), absl::InfinitePast());
}

TEST_F(WatermarkTest, FirstReadingSaysNothingOfTheTimeBeforeIt) {
  EXPECT_EQ(mark_.since(), absl::InfinitePast());
  Read(10);
  Advance(10);
  Read(11);
  Advance(11);
  EXPECT_EQ(mark_.since(), At(10));
  EXPECT_EQ(mark_.through(), At(11));
}

TEST_F(WatermarkTest, IsTheOldestOfWhatIsRequired) {
  Read(10);
  Advance(10);
  EXPECT_EQ(mark_.through(), At(10));
  mark_.Take({At(11), "", "source.silent_seconds", 0.5, "kernel_log"});
  mark_.Take({At(11), "", "source.silent_seconds", 9, "host"});
  Read(11);
  Advance(11);
  EXPECT_EQ(mark_.through(), At(10.5));
}

TEST_F(WatermarkTest, NeverPassesTheLimitAndNeverGoesBack) {
  Read(10);
  mark_.Advance(At(10), At(8));
  EXPECT_EQ(mark_.through(), At(8));
  mark_.Advance(At(10), At(6));
  EXPECT_EQ(mark_.through(), At(8));
}

TEST_F(WatermarkTest, AGapIsPassedWhereTheCountersDidNotMove) {
  Read(10);
  Advance(10);
  Read(60);
  EXPECT_FALSE(Advance(60));
  EXPECT_FALSE(Advance(60));
  EXPECT_EQ(mark_.through(), At(60));
}

TEST_F(WatermarkTest, AGapInWhichACounterMovedIsGivenBack) {
  Read(10);
  Advance(10);
  Read(60, 1.5);
  const auto gap = Advance(60);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->from, At(40));
  EXPECT_EQ(gap->to, At(60));
  EXPECT_EQ(mark_.through(), At(10));
  EXPECT_FALSE(Advance(60));
  EXPECT_EQ(mark_.through(), At(60));
}

TEST_F(WatermarkTest, AProofThatDoesNotComeIsNone) {
  Read(10);
  Advance(10);
  mark_.Take({At(60), "g", kHeat, 0});
  EXPECT_FALSE(Advance(61));
  EXPECT_EQ(mark_.through(), At(10));
  mark_.Take({At(61.5), "g", kHeat, 0});
  EXPECT_FALSE(Advance(69));
  EXPECT_TRUE(Advance(71));
}

TEST_F(WatermarkTest, GapIsOneAlsoWhereASignalComesAMomentLaterThanAnother) {
  policy_.add_signals(kReasons);
  mark_.Restore(At(10), At(5), {{kTotal, 3.0}});
  mark_.Take({At(60), "g", kReasons, 0});
  mark_.Take({At(60), "g", kTotal, 3.1});
  EXPECT_TRUE(Advance(60));
  mark_.Take({At(60.4), "g", kHeat, 0});
  mark_.Take({At(60.4), "g", kReasons, 0});
  mark_.Take({At(60.4), "g", kTotal, 3.1});
  EXPECT_FALSE(Advance(60.5)) << "that time is accounted for";
}

TEST_F(WatermarkTest, ARestoredMonitorProvesTheTimeItWasAway) {
  mark_.Restore(At(10), At(5), {{kTotal, 3.0}});
  Read(500, 3.0);
  EXPECT_FALSE(Advance(500));
  EXPECT_EQ(mark_.through(), At(500));
  EXPECT_EQ(mark_.since(), At(5));
}

TEST_F(WatermarkTest, ARestoredMonitorGivesBackWhatItCannotProve) {
  mark_.Restore(At(495), At(5), {{kTotal, 3.0}});
  Read(500, 3.1);
  const auto gap = Advance(500);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->from, At(495));
  EXPECT_EQ(mark_.since(), At(500)) << "what ran in the gap was not watched";
}

}  // namespace
}  // namespace sassay::monitor
