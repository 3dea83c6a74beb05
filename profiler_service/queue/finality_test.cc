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
  void Report(const std::string& gpu, absl::optional<absl::Time> through) {
    sassay::v1::ReportHealthRequest report;
    sassay::v1::GpuHealth& health = *report.add_gpus();
    health.set_uuid(gpu);
    if (through.has_value()) SetTimestamp(*through, *health.mutable_healthy_through());
    finality_.Report(report);
  }
  Verdict Marked(Timing::Status status, const std::string& gpu = "g") {
    Verdict verdict;
    verdict.mutable_timing()->set_status(status);
    finality_.Mark(gpu, verdict);
    return verdict;
  }
  void Add(const std::string& id, const std::string& gpu = "g") { finality_.Add({id, 1, gpu, now_}); }

  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  std::vector<std::string> settled_;
  Finality finality_{[this] { return now_; },
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
  now_ += Finality::kSilence - absl::Nanoseconds(1);
  EXPECT_TRUE(finality_.Watched("g"));
  now_ += absl::Nanoseconds(1);
  EXPECT_FALSE(finality_.Watched("g"));
  EXPECT_FALSE(finality_.Health("g").has_value());
  EXPECT_EQ(Marked(Timing::MEASURED).timing().status(), Timing::MEASURED);
}

TEST_F(FinalityTest, TheWatermarkSettlesWhatItHasPassedOnItsGpu) {
  Report("g", now_ - absl::Seconds(1));
  Add("first");
  now_ += absl::Milliseconds(1);
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
  EXPECT_EQ(finality_.heard(), now_);
  EXPECT_EQ(finality_.NextDue(), now_ + Finality::kSilence);
  now_ += Finality::kSilence - absl::Nanoseconds(1);
  finality_.Tick();
  EXPECT_THAT(settled_, IsEmpty());
  now_ += absl::Nanoseconds(1);
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
    now_ += absl::Seconds(1);
  }
  Report("g", absl::nullopt);
  finality_.Tick();
  EXPECT_THAT(settled_, ElementsAre(HasSubstr("could not vouch for its GPU within 1m")));
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
  finality_.Retry({"s", 1, "g", now_});
  EXPECT_THAT(settled_, IsEmpty());
  Report("g", now_);
  EXPECT_THAT(settled_, ElementsAre("s"));
}

}  // namespace
}  // namespace sassay::queue
