#include "agent/batch/corrections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

v1::BatchRecord Record(const std::string& id, uint32_t attempt = 1) {
  v1::BatchRecord record;
  record.set_id(id);
  record.set_line(7);
  record.set_item_sha256("digest");
  record.set_request_id("batch-1/x/0");
  record.mutable_verdict()->set_submission_id("sub-" + id);
  record.mutable_verdict()->set_attempt(attempt);
  record.mutable_verdict()->set_status(v1::VERDICT_STATUS_CORRECT);
  return record;
}

v1::Event Excluded(const std::string& id, uint32_t attempt = 1) {
  v1::Event event;
  event.set_submission_id("sub-" + id);
  event.mutable_excluded()->set_attempt(attempt);
  event.mutable_excluded()->mutable_exclusion()->set_reason("it was hot");
  return event;
}

// A service that tells exclusions where the test says so.
class CorrectionsTest : public ::testing::Test {
 protected:
  CorrectionParts Parts() {
    CorrectionParts parts;
    parts.watch = [this](Stopper& stopper, const CorrectionParts::OnEvent& on_event) {
      on_event_ = on_event;
      listening_.Notify();
      stopper.Sleep(absl::InfiniteDuration());
    };
    parts.past = [this](absl::Time, Stopper&, const CorrectionParts::OnEvent& on_event) {
      for (const v1::Event& event : kept_) on_event(event);
      return asked_;
    };
    parts.follow = [this](const std::string& submission, Stopper&) -> absl::StatusOr<v1::Verdict> {
      const auto found = stands_.find(submission);
      if (found == stands_.end()) return absl::NotFoundError("forgotten");
      return found->second;
    };
    parts.write = [this](const v1::BatchRecord& record) {
      written_.push_back(record);
      return absl::OkStatus();
    };
    parts.note = [this](absl::string_view note) { absl::StrAppend(&notes_, note, "\n"); };
    return parts;
  }

  std::vector<std::string> Written() const {
    std::vector<std::string> lines;
    for (const v1::BatchRecord& record : written_) {
      lines.push_back(absl::StrCat(record.id(), " ", record.verdict().attempt(),
                                   record.verdict().has_excluded() ? " excluded" : ""));
    }
    return lines;
  }

  ptrdiff_t PlaceOf(absl::string_view line) const {
    const std::vector<std::string> lines = Written();
    return absl::c_find(lines, line) - lines.begin();
  }

  std::vector<v1::Event> kept_;
  absl::Status asked_;
  std::map<std::string, v1::Verdict> stands_;  // what counts by now, by submission
  CorrectionParts::OnEvent on_event_;
  int followed_ = 0;
  absl::Notification listening_;
  std::vector<v1::BatchRecord> written_;
  std::string notes_;
};

TEST_F(CorrectionsTest, TheVerdictThatTookItsPlaceIsWrittenUnderTheSameId) {
  stands_["sub-a"] = Record("a", 2).verdict();
  stands_["sub-a"].set_status(v1::VERDICT_STATUS_INCORRECT_NUMERICAL);
  Corrections corrections(Parts());
  corrections.Start();
  v1::BatchSummary counts;
  for (const char* id : {"a", "b"}) {
    ASSERT_TRUE(corrections.Emit(Record(id)).ok());
    CountRecord(Record(id), counts);
  }
  listening_.WaitForNotification();
  on_event_(Excluded("a"));
  corrections.Finish();
  EXPECT_THAT(Written(), ElementsAre("a 1", "b 1", "a 2"));
  EXPECT_EQ(written_[2].line(), 7u);
  EXPECT_EQ(written_[2].item_sha256(), "digest");
  EXPECT_EQ(written_[2].request_id(), "batch-1/x/0");
  corrections.Apply(counts);
  EXPECT_EQ(counts.correct(), 1u);
  EXPECT_EQ(counts.at_fault(), 1u);
  EXPECT_THAT(notes_, HasSubstr("the verdict of a was excluded (it was hot)"));
}

TEST_F(CorrectionsTest, WhatIsNotRunAgainCountsAsNotJudged) {
  stands_["sub-a"] = Record("a").verdict();
  stands_["sub-a"].mutable_excluded()->set_reason("it was hot");
  Corrections corrections(Parts());
  corrections.Start();
  v1::BatchSummary counts;
  ASSERT_TRUE(corrections.Emit(Record("a")).ok());
  CountRecord(Record("a"), counts);
  listening_.WaitForNotification();
  on_event_(Excluded("a"));
  corrections.Finish();
  EXPECT_THAT(Written(), ElementsAre("a 1", "a 1 excluded"));
  corrections.Apply(counts);
  EXPECT_EQ(counts.correct(), 0u);
  EXPECT_EQ(counts.not_judged(), 1u);
}

TEST_F(CorrectionsTest, WhatWasToldBeforeTheRecordOrNotAtAllIsHeardToo) {
  stands_["sub-early"] = Record("early", 2).verdict();
  stands_["sub-missed"] = Record("missed", 3).verdict();
  kept_ = {Excluded("early"), Excluded("missed", 2), Excluded("somebody else's"), Excluded("missed", 1)};
  Corrections corrections(Parts());
  corrections.Start();
  listening_.WaitForNotification();
  on_event_(Excluded("early"));
  ASSERT_TRUE(corrections.Emit(Record("early")).ok());
  ASSERT_TRUE(corrections.Emit(Record("missed", 2)).ok());
  corrections.Finish();
  // What was told early is corrected beside what is emitted after it: only what corrects comes after what it corrects.
  EXPECT_THAT(Written(), UnorderedElementsAre("early 1", "missed 2", "early 2", "missed 3"));
  EXPECT_LT(PlaceOf("early 1"), PlaceOf("early 2"));
  EXPECT_LT(PlaceOf("missed 2"), PlaceOf("missed 3"));
  EXPECT_EQ(corrections.corrected(), 2u);
}

TEST_F(CorrectionsTest, ACorrectionThatIsExcludedMeanwhileIsCorrected) {
  CorrectionParts parts = Parts();
  parts.follow = [this](const std::string&, Stopper&) -> absl::StatusOr<v1::Verdict> {
    if (++followed_ > 1) return Record("a", 3).verdict();
    on_event_(Excluded("a", 2));
    return Record("a", 2).verdict();
  };
  Corrections corrections(std::move(parts));
  corrections.Start();
  ASSERT_TRUE(corrections.Emit(Record("a")).ok());
  listening_.WaitForNotification();
  on_event_(Excluded("a", 1));
  corrections.Finish();
  EXPECT_THAT(Written(), ElementsAre("a 1", "a 2", "a 3"));
}

TEST_F(CorrectionsTest, WhatTheServiceDoesNotTellIsNoted) {
  asked_ = absl::UnavailableError("it is away");
  Corrections corrections(Parts());
  corrections.Start();
  ASSERT_TRUE(corrections.Emit(Record("a")).ok());
  listening_.WaitForNotification();
  on_event_(Excluded("a"));
  corrections.Finish();
  EXPECT_THAT(Written(), ElementsAre("a 1"));
  EXPECT_THAT(notes_, HasSubstr("it is away"));
  EXPECT_THAT(notes_, HasSubstr("what stands instead is not known: forgotten"));
}

TEST_F(CorrectionsTest, LeavingWaitsForNothing) {
  Corrections corrections(Parts());
  corrections.Start();
  listening_.WaitForNotification();
  corrections.Stop();
  EXPECT_THAT(written_, IsEmpty());
}

}  // namespace
}  // namespace sassay::agent
