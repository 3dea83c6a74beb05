#include "profiler_service/queue/finality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"

namespace sassay::queue {
namespace {

using sassay::v1::Timing;
using sassay::v1::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FinalityTest : public testing::Test {
 protected:
  // The monitor speaks of one GPU; without `through` it cannot vouch for it.
  void Report(const std::string& gpu, absl::optional<absl::Time> through,
              absl::optional<absl::Time> since = absl::nullopt) {
    sassay::v1::ReportHealthRequest report;
    sassay::v1::GpuHealth& health = *report.add_gpus();
    health.set_uuid(gpu);
    if (through.has_value()) SetTimestamp(*through, *health.mutable_healthy_through());
    if (since.has_value()) SetTimestamp(*since, *health.mutable_watched_since());
    finality_.Report(report);
  }
  Verdict Marked(Timing::Status status, const std::string& gpu = "g") {
    Verdict verdict;
    verdict.mutable_timing()->set_status(status);
    finality_.Mark(gpu, verdict);
    return verdict;
  }
  void Add(const std::string& id, const std::string& gpu = "g") {
    finality_.Add({id, 1, gpu, now_, now_ - absl::Seconds(2)});
  }
  // Time passes.
  void Pass(absl::Duration duration) {
    now_ += duration;
    steady_ += duration;
  }

  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  absl::Time steady_ = absl::FromUnixSeconds(1000);
  std::vector<std::string> settled_;
  Finality finality_{{[this] { return now_; }, [this] { return steady_; }},
                     [this](const store::Provisional& timing, absl::string_view warning) {
                       settled_.push_back(warning.empty() ? timing.id : absl::StrCat(timing.id, ": ", warning));
                     }};
};

TEST_F(FinalityTest, ATimingThatNobodyWatchedIsFinalAndSaysSo) {
  const Verdict verdict = Marked(Timing::MEASURED);
  EXPECT_EQ(verdict.timing().status(), Timing::MEASURED);
  EXPECT_THAT(verdict.timing().warnings(), ElementsAre(kNobodyWatched));
}

TEST_F(FinalityTest, ATimingOnAWatchedGpuIsProvisionalAndNoOther) {
  Report("g", now_);
  EXPECT_EQ(Marked(Timing::MEASURED).timing().status(), Timing::PROVISIONAL);
  EXPECT_THAT(Marked(Timing::MEASURED).timing().warnings(), IsEmpty());
  EXPECT_EQ(Marked(Timing::MEASURED, "another").timing().status(), Timing::MEASURED);
  EXPECT_EQ(Marked(Timing::UNAVAILABLE).timing().status(), Timing::UNAVAILABLE);
  EXPECT_THAT(Marked(Timing::UNAVAILABLE, "another").timing().warnings(), IsEmpty());
}

TEST_F(FinalityTest, AMonitorThatWasSilentForTenSecondsDoesNotWatch) {
  Report("g", now_);
  Pass(Finality::kSilence - absl::Nanoseconds(1));
  EXPECT_TRUE(finality_.Watched("g"));
  Pass(absl::Nanoseconds(1));
  EXPECT_FALSE(finality_.Watched("g"));
  EXPECT_FALSE(finality_.Health("g").has_value());
  EXPECT_EQ(Marked(Timing::MEASURED).timing().status(), Timing::MEASURED);
}

TEST_F(FinalityTest, TheWatermarkSettlesWhatItHasPassedOnItsGpu) {
  Report("g", now_ - absl::Seconds(1));
  Add("first");
  Pass(absl::Milliseconds(1));
  Add("second");
  Add("elsewhere", "h");
  Report("g", now_ - absl::Nanoseconds(1));
  EXPECT_THAT(settled_, ElementsAre("first"));
  Report("g", absl::nullopt);
  EXPECT_THAT(settled_, ElementsAre("first"));
  Report("g", now_);
  EXPECT_THAT(settled_, ElementsAre("first", "second"));
}

TEST_F(FinalityTest, WhatTheWatermarkPassedBeforeItWasDurableIsSettledAtOnce) {
  Report("g", now_);
  Add("s");
  EXPECT_THAT(settled_, ElementsAre("s"));
  EXPECT_EQ(finality_.NextDue(), absl::InfiniteFuture());
}

TEST_F(FinalityTest, SilenceSettlesWithAWarning) {
  Report("g", now_ - absl::Seconds(1));
  Add("s");
  EXPECT_EQ(finality_.open(), 1u);
  EXPECT_EQ(finality_.silent(), absl::ZeroDuration());
  EXPECT_EQ(finality_.NextDue(), now_ + Finality::kSilence);
  Pass(Finality::kSilence - absl::Nanoseconds(1));
  finality_.Tick();
  EXPECT_THAT(settled_, IsEmpty());
  Pass(absl::Nanoseconds(1));
  finality_.Tick();
  finality_.Tick();
  EXPECT_THAT(settled_, ElementsAre(HasSubstr("s: the reliability monitor fell silent")));
}

TEST_F(FinalityTest, AMonitorThatSpeaksButCannotVouchIsNotWaitedForForEver) {
  Add("s");
  for (int i = 0; i < 60; ++i) {
    Report("g", absl::nullopt);
    finality_.Tick();
    EXPECT_THAT(settled_, IsEmpty()) << i;
    Pass(absl::Seconds(1));
  }
  Report("g", absl::nullopt);
  finality_.Tick();
  EXPECT_THAT(settled_, ElementsAre(HasSubstr("could not vouch for its GPU within 1m")));
}

TEST_F(FinalityTest, ClockSetForwardSettlesNothingThatNobodyHasVouchedForYet) {
  Report("g", now_);
  Pass(absl::Seconds(5));
  Add("s");
  now_ += absl::Hours(1);
  finality_.Tick();
  EXPECT_TRUE(finality_.Watched("g")) << "five seconds ago is no silence";
  // As old as before, by the clock as it is: half a second before the end.
  Report("g", now_ - absl::Milliseconds(500));
  EXPECT_THAT(settled_, IsEmpty());
  EXPECT_LE(finality_.NextDue() - now_, Finality::kSilence);
  Pass(absl::Milliseconds(400));
  Report("g", now_ - absl::Milliseconds(100));
  EXPECT_THAT(settled_, ElementsAre("s"));
}

TEST_F(FinalityTest, ClockSetBackHoldsNothingUpAndSettlesNothingEarly) {
  Report("g", now_);
  Pass(absl::Seconds(1));
  Add("s");
  const absl::Time said = now_ - absl::Milliseconds(200);
  now_ -= absl::Hours(1);
  Report("g", said);
  EXPECT_THAT(settled_, IsEmpty()) << "a word of before the jump says nothing now";
  Pass(absl::Milliseconds(400));
  Report("g", now_);
  EXPECT_THAT(settled_, ElementsAre("s"));
}

TEST_F(FinalityTest, TimingThatBeganBeforeTheMonitorDidIsNotSettledAsWatched) {
  Add("straddles");
  Add("later");
  Report("g", now_, now_ - absl::Seconds(2));
  EXPECT_THAT(settled_, ElementsAre("later", "straddles"));
  settled_.clear();
  Pass(absl::Seconds(1));
  Add("straddles");
  Report("g", now_, now_ - absl::Seconds(2) + absl::Nanoseconds(1));
  EXPECT_THAT(settled_, ElementsAre(absl::StrCat("straddles: ", kWatchedInPart)));
  settled_.clear();
  Add("known at once");
  EXPECT_THAT(settled_, ElementsAre(absl::StrCat("known at once: ", kWatchedInPart)));
}

TEST_F(FinalityTest, TimingOfAProcessBeforeThisOneWaitsForAWordOfThisOne) {
  now_ += absl::Hours(1);  // nobody knows what the clock did meanwhile
  finality_.Retry({"s", 1, "g", now_ - absl::Minutes(10), now_ - absl::Minutes(11)});
  Report("g", now_ - absl::Milliseconds(1));
  EXPECT_THAT(settled_, IsEmpty());
  Report("g", now_);
  EXPECT_THAT(settled_, ElementsAre("s"));
}

TEST_F(FinalityTest, GpuIsUnblamedSinceTheMonitorLastCalledItUnwellOrCouldNotVouchForIt) {
  Pass(absl::Seconds(5));
  EXPECT_EQ(finality_.unblamed("g"), absl::Seconds(5)) << "nobody spoke since the service began";
  const auto say = [this](sassay::v1::GpuState state, absl::Time through) {
    sassay::v1::ReportHealthRequest report;
    report.add_gpus()->set_uuid("g");
    report.mutable_gpus(0)->set_state(state);
    SetTimestamp(through, *report.mutable_gpus(0)->mutable_healthy_through());
    finality_.Report(report);
  };
  say(sassay::v1::GPU_STATE_COOLING, now_);
  Pass(absl::Seconds(1));
  say(sassay::v1::GPU_STATE_HEALTHY, now_);
  EXPECT_EQ(finality_.unblamed("g"), absl::Seconds(1));
  Pass(absl::Seconds(20));
  say(sassay::v1::GPU_STATE_HEALTHY, now_ - Finality::kSilence);
  EXPECT_EQ(finality_.unblamed("g"), absl::ZeroDuration()) << "its watermark stands still";
  EXPECT_GT(finality_.unblamed("another"), absl::Seconds(20));
}

TEST_F(FinalityTest, WhatWasExcludedIsNotSettled) {
  Add("s");
  finality_.Drop("s");
  finality_.Drop("nobody");
  Report("g", now_);
  EXPECT_THAT(settled_, IsEmpty());
}

TEST_F(FinalityTest, WhatCouldNotBeStoredIsTriedAgainWithTheNextReport) {
  Report("g", now_);
  finality_.Retry({"s", 1, "g", now_, now_});
  EXPECT_THAT(settled_, IsEmpty());
  Report("g", now_);
  EXPECT_THAT(settled_, ElementsAre("s"));
}

}  // namespace
}  // namespace sassay::queue
