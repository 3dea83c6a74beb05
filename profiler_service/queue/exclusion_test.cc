// Turns that do not count, timings that are not final yet, and work that waits for GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/base/files.h"
#include "common/base/proto_time.h"
#include "profiler_service/queue/dispatcher.h"
#include "profiler_service/queue/queue.h"
#include "profiler_service/queue/queue_testing.h"
#include "profiler_service/store/sqlite/sqlite_store.h"
#include "profiler_service/store/testing/forwarding_store.h"

namespace sassay::queue {
namespace {

using sassay::v1::Event;
using sassay::v1::Timing;
using sassay::v1::Verdict;
using store::BadWindow;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Verdict TimedVerdict() {
  Verdict verdict = CorrectVerdict();
  verdict.mutable_timing()->set_status(Timing::MEASURED);
  return verdict;
}

Verdict GivenUp() {
  Verdict verdict;
  verdict.set_status(sassay::v1::VERDICT_STATUS_CANCELLED);
  return verdict;
}

// An event in one word.
std::string Word(const Event& event) {
  std::string word = event.has_accepted()         ? "accepted"
                     : event.has_verdict()        ? "verdict"
                     : event.has_timing_settled() ? "settled"
                     : event.has_retrying()       ? "retrying"
                     : event.has_excluded()       ? (event.excluded().rerun() ? "excluded" : "excluded for good")
                                                  : "stage";
  return event.last() ? word + "." : word;
}

class ExclusionTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.now = [this] { return absl::FromUnixNanos(now_ns_); };
    options_.steady = [this] { return absl::FromUnixNanos(now_ns_ - set_by_ns_); };
    store_ = *store::OpenSqliteStore(directory_.path() / "sassay.db");
    Open(*store_);
  }
  void Open(store::Store& store) {
    queue_ = std::make_unique<Queue>(store, options_);
    ASSERT_TRUE(queue_->Start().ok());
  }
  void Reopen() {
    queue_.reset();
    store_.reset();
    store_ = *store::OpenSqliteStore(directory_.path() / "sassay.db");
    Open(*store_);
  }
  absl::Time now() const { return options_.now(); }
  void Advance(absl::Duration duration) { now_ns_ += absl::ToInt64Nanoseconds(duration); }
  // Somebody sets the wall clock forward.
  void SetClock(absl::Duration by) {
    set_by_ns_ += absl::ToInt64Nanoseconds(by);
    now_ns_ += absl::ToInt64Nanoseconds(by);
  }

  std::string Submit(const std::string& request_id) {
    const auto submitted = SubmitAndWait(*queue_, "ann", RequestOf(request_id));
    EXPECT_TRUE(submitted.ok()) << submitted.status();
    return submitted.ok() ? submitted->id : "";
  }
  // Takes the next submission to a place.
  std::shared_ptr<RunningJob> NextOn(const std::string& gpu) {
    std::shared_ptr<RunningJob> job = queue_->Next();
    job->SeatTaken(gpu);
    return job;
  }
  void RunOn(const std::string& gpu, Verdict verdict) {
    const auto job = NextOn(gpu);
    Advance(absl::Seconds(1));
    queue_->Conclude(*job, std::move(verdict));
  }
  store::Exclusions Exclude(const BadWindow& window) {
    auto answer = store::Await<store::Exclusions>(
        [&](store::Callback<store::Exclusions> done) { queue_->Exclude(window, std::move(done)); });
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(store::Exclusions());
  }
  BadWindow OpenWindow(const std::string& gpu) { return {gpu, now(), absl::InfiniteFuture(), "i-1", "hot"}; }
  void Report(const std::string& gpu, absl::Time through) {
    sassay::v1::ReportHealthRequest report;
    report.add_gpus()->set_uuid(gpu);
    SetTimestamp(through, *report.mutable_gpus(0)->mutable_healthy_through());
    queue_->ReportHealth(report);
  }
  std::vector<std::string> Story(const std::string& id) {
    std::vector<std::string> words;
    const std::vector<Event> events = *store_->Events(id, 0, 100);
    for (const Event& event : events) words.push_back(Word(event));
    return words;
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("exclusion_test");
  std::atomic<int64_t> now_ns_ = 1'700'000'000'000'000'000;
  std::atomic<int64_t> set_by_ns_ = 0;
  QueueOptions options_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Queue> queue_;
};

TEST_F(ExclusionTest, AFinishedTurnThatOverlapsIsRunAgainAndWhoWatchedItIsDone) {
  const absl::Time begin = now();
  const std::string id = Submit("r1");
  RunOn("g", CorrectVerdict());
  EXPECT_EQ(WaitForEvents(*queue_, "ann", id).size(), 2u);
  EXPECT_THAT(Exclude({"g", begin, now(), "i-1", "hot"}).submission_ids, ElementsAre(id));
  Watcher follows_the_rerun(*queue_, "ann", id, 2);
  RunOn("h", CorrectVerdict());
  EXPECT_EQ(follows_the_rerun.ReadAll().back().verdict().attempt(), 2u);
  EXPECT_THAT(Story(id), ElementsAre("accepted", "verdict", "excluded", "verdict."));
}

TEST_F(ExclusionTest, ARunningTurnIsGivenUpAtOnceAndNothingCountsAgainstIt) {
  const std::string id = Submit("r1");
  const auto job = NextOn("g");
  Advance(absl::Milliseconds(1));
  EXPECT_THAT(Exclude(OpenWindow("g")).submission_ids, IsEmpty()) << "it has no verdict yet";
  Advance(absl::Milliseconds(1));
  Exclude({"g", now() - absl::Milliseconds(1), absl::InfiniteFuture(), "i-1", "hot"});
  EXPECT_TRUE(job->cancelled());
  queue_->Conclude(*job, GivenUp());
  const auto submission = *store_->Get("ann", id);
  EXPECT_EQ(submission.failures, 0u);
  EXPECT_EQ(submission.exclusions, 1u);
  EXPECT_THAT(Story(id), ElementsAre("accepted", "excluded"));
  RunOn("h", CorrectVerdict());
  EXPECT_THAT(Story(id), ElementsAre("accepted", "excluded", "verdict."));
}

TEST_F(ExclusionTest, TurnsThatRunElsewhereOrCameLaterAreLeftAlone) {
  Submit("r1");
  Submit("r2");
  Submit("r3");
  const auto elsewhere = NextOn("h");
  const auto without_a_place = queue_->Next();
  const absl::Time from = now();
  Advance(absl::Seconds(1));
  const absl::Time to = now();
  const auto later = NextOn("g");
  Exclude({"g", from, to, "i-1", "hot"});
  for (const auto& job : {elsewhere, without_a_place, later}) EXPECT_FALSE(job->cancelled());
}

TEST_F(ExclusionTest, AVerdictThatWasReachedAllTheSameStaysBesideItsExclusion) {
  const std::string id = Submit("r1");
  const auto job = NextOn("g");
  Advance(absl::Milliseconds(1));
  Exclude({"g", now() - absl::Microseconds(1), absl::InfiniteFuture(), "i-1", "hot"});
  queue_->Conclude(*job, CorrectVerdict());
  EXPECT_THAT(Story(id), ElementsAre("accepted", "verdict", "excluded"));
  EXPECT_EQ(store_->AttemptsOf(id)->front().status, sassay::v1::VERDICT_STATUS_CORRECT);
}

// The verdict is on its way to the store, its job is past the last look at its interruption.
class ExcludesBeforeTheVerdictIsWritten : public store::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void Finish(const store::Lease& lease, Verdict verdict, const store::Ending& ending,
              store::Callback<std::vector<Event>> done) override {
    if (exclude) std::exchange(exclude, nullptr)();
    ForwardingStore::Finish(lease, std::move(verdict), ending, std::move(done));
  }
  std::function<void()> exclude;
};

TEST_F(ExclusionTest, AnExclusionThatRacesWithTheVerdictWinsWhicheverComesFirst) {
  queue_.reset();
  ExcludesBeforeTheVerdictIsWritten racing(*store_);
  Open(racing);
  const std::string id = Submit("r1");
  const absl::Time begin = now();
  racing.exclude = [&] { Exclude({"g", begin, absl::InfiniteFuture(), "i-1", "hot"}); };
  RunOn("g", CorrectVerdict());
  EXPECT_THAT(Story(id), ElementsAre("accepted", "verdict", "excluded"));
  queue_.reset();
}

TEST_F(ExclusionTest, ACancelledTurnIsNotRunAgain) {
  const std::string id = Submit("r1");
  const auto job = NextOn("g");
  Advance(absl::Milliseconds(1));
  ASSERT_TRUE(*store::Await<bool>([&](store::Callback<bool> done) { queue_->Cancel("ann", id, std::move(done)); }));
  Exclude({"g", now() - absl::Microseconds(1), absl::InfiniteFuture(), "i-1", "hot"});
  queue_->Conclude(*job, GivenUp());
  EXPECT_THAT(Story(id), ElementsAre("accepted", "verdict."));
  EXPECT_EQ(WaitForVerdict(*queue_, "ann", id).status(), sassay::v1::VERDICT_STATUS_CANCELLED);
}

TEST_F(ExclusionTest, ACancellationThatComesAfterTheExclusionIsKept) {
  const std::string id = Submit("r1");
  const auto job = NextOn("g");
  Advance(absl::Milliseconds(1));
  Exclude({"g", now() - absl::Microseconds(1), absl::InfiniteFuture(), "i-1", "hot"});
  ASSERT_TRUE(*store::Await<bool>([&](store::Callback<bool> done) { queue_->Cancel("ann", id, std::move(done)); }));
  queue_->Conclude(*job, GivenUp());
  EXPECT_EQ(WaitForVerdict(*queue_, "ann", id).status(), sassay::v1::VERDICT_STATUS_CANCELLED);
}

TEST_F(ExclusionTest, TheBoundMakesTheExclusionTheLastWordWhetherItRanOrHadEnded) {
  Exclude({"g", absl::UnixEpoch(), absl::InfiniteFuture(), "i-1", "hot"});
  for (const Verdict& each_time : {GivenUp(), CorrectVerdict()}) {
    const std::string id = Submit(absl::StrCat(each_time.status()));
    for (uint32_t i = 0; i <= options_.max_exclusions; ++i) {
      const auto job = NextOn("g");
      Advance(absl::Milliseconds(1));
      Exclude({"g", absl::UnixEpoch(), absl::InfiniteFuture(), "i-1", "hot"});
      queue_->Conclude(*job, each_time);
    }
    const std::vector<Event> events = WaitForEvents(*queue_, "ann", id);
    EXPECT_EQ(Word(events.back()), "excluded for good.");
    EXPECT_EQ(events.back().excluded().exclusion().incident_id(), "i-1");
    const Verdict& verdict = events[events.size() - 2].verdict();
    EXPECT_EQ(verdict.attempt(), options_.max_exclusions + 1);
    if (each_time.status() == sassay::v1::VERDICT_STATUS_CORRECT) continue;
    EXPECT_EQ(verdict.status(), sassay::v1::VERDICT_STATUS_INFRA_ERROR);
    EXPECT_THAT(verdict.reason(), HasSubstr("what the reliability monitor saw"));
  }
}

TEST_F(ExclusionTest, TheRerunKnowsWhereTheExcludedAttemptWas) {
  const absl::Time begin = now();
  const std::string id = Submit("r1");
  const auto job = NextOn("g");
  job->StageStarted(sassay::v1::STAGE_EVALUATE, "NVIDIA H200 g");
  queue_->Conclude(*job, CorrectVerdict());
  Advance(absl::Seconds(1));
  Exclude({"g", begin - absl::Seconds(1), now(), "i-1", "hot"});
  EXPECT_THAT(queue_->EarlierDevices(*store_->Get("ann", id)), ElementsAre("NVIDIA H200 g"));
}

TEST_F(ExclusionTest, ExclusionsAndOpenWindowsSurviveARestart) {
  const std::string id = Submit("r1");
  RunOn("g", CorrectVerdict());
  Exclude({"g", absl::UnixEpoch(), absl::InfiniteFuture(), "i-1", "hot"});
  Reopen();
  RunOn("g", CorrectVerdict());
  EXPECT_THAT(Story(id), ElementsAre("accepted", "verdict", "excluded", "verdict", "excluded"));
  RunOn("h", CorrectVerdict());
  EXPECT_EQ(Story(id).back(), "verdict.");
}

TEST_F(ExclusionTest, WhoeverListensHearsEachExclusionOnce) {
  std::atomic<int> rings = 0;
  const auto ear = queue_->OnExclusions([&] { ++rings; });
  Submit("r1");
  RunOn("g", CorrectVerdict());
  Exclude({"g", absl::UnixEpoch(), now(), "i-1", "hot"});
  Exclude({"g", absl::UnixEpoch(), now(), "i-1", "hot"});
  EXPECT_EQ(rings, 1);
  EXPECT_EQ(ear->rings(), 1u);
}

TEST_F(ExclusionTest, AProvisionalTimingIsFollowedByItsSettlement) {
  Report("g", now());
  const std::string id = Submit("r1");
  Watcher follows(*queue_, "ann", id, 0);
  RunOn("g", TimedVerdict());
  EXPECT_THAT(Story(id), ElementsAre("accepted", "verdict"));
  Watcher comes_later(*queue_, "ann", id, 2);
  Report("g", now());
  const std::vector<Event> events = follows.ReadAll();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].verdict().timing().status(), Timing::PROVISIONAL);
  EXPECT_EQ(events[2].timing_settled().attempt(), 1u);
  EXPECT_EQ(events[2].timing_settled().warning(), "");
  EXPECT_EQ(comes_later.ReadAll().size(), 1u);
  EXPECT_THAT(Story(id), ElementsAre("accepted", "verdict", "settled."));
  EXPECT_EQ(queue_->watchers(), 0u);
}

TEST_F(ExclusionTest, AClockThatIsSetForwardSettlesNothingEarly) {
  Report("g", now());
  const std::string id = Submit("r1");
  RunOn("g", TimedVerdict());
  SetClock(absl::Hours(1));
  queue_->Tick();
  Report("g", now() - absl::Milliseconds(100));
  EXPECT_THAT(Story(id), ElementsAre("accepted", "verdict")) << "its last 100 ms were not vouched for";
  Advance(absl::Milliseconds(200));
  Report("g", now() - absl::Milliseconds(100));
  EXPECT_EQ(WaitForEvents(*queue_, "ann", id).back().timing_settled().warning(), "");
}

TEST_F(ExclusionTest, AnExclusionInTimeTakesThePlaceOfTheSettlement) {
  Report("g", now());
  const std::string id = Submit("r1");
  Watcher follows(*queue_, "ann", id, 0);
  RunOn("g", TimedVerdict());
  Exclude({"g", now() - absl::Milliseconds(1), now(), "i-1", "hot"});
  Report("g", now());
  RunOn("h", TimedVerdict());
  const std::vector<Event> events = follows.ReadAll();
  EXPECT_EQ(events.back().verdict().timing().status(), Timing::MEASURED) << "nobody watches h";
  EXPECT_THAT(events.back().verdict().timing().warnings(), ElementsAre(kNobodyWatched));
  EXPECT_THAT(Story(id), ElementsAre("accepted", "verdict", "excluded", "verdict."));
}

TEST_F(ExclusionTest, ALateExclusionReopensWhatWasSettled) {
  Report("g", now());
  const std::string id = Submit("r1");
  const absl::Time begin = now();
  RunOn("g", TimedVerdict());
  Report("g", now());
  WaitForEvents(*queue_, "ann", id);
  Exclude({"g", begin, now(), "i-1", "hot"});
  RunOn("h", TimedVerdict());
  EXPECT_EQ(WaitForEvents(*queue_, "ann", id).size(), 5u) << "who attaches hears the whole story";
  EXPECT_THAT(Story(id), ElementsAre("accepted", "verdict", "settled", "excluded", "verdict."));
}

TEST_F(ExclusionTest, WhatWasProvisionalWhenTheServiceEndedIsSettledByTheNextOne) {
  Report("g", now());
  Report("h", now());
  const std::string watched = Submit("r1"), forgotten = Submit("r2");
  RunOn("g", TimedVerdict());
  RunOn("h", TimedVerdict());
  Reopen();
  EXPECT_EQ(queue_->finality().open(), 2u);
  Report("g", now());
  EXPECT_EQ(WaitForEvents(*queue_, "ann", watched).size(), 3u);
  Advance(Finality::kSilence);
  queue_->Tick();
  EXPECT_THAT(WaitForEvents(*queue_, "ann", forgotten).back().timing_settled().warning(), HasSubstr("fell silent"));
}

class ForgottenWindowTest : public ExclusionTest {
 protected:
  void Say(const std::string& gpu, sassay::v1::GpuState state) {
    sassay::v1::ReportHealthRequest report;
    report.add_gpus()->set_uuid(gpu);
    report.mutable_gpus(0)->set_state(state);
    SetTimestamp(now(), *report.mutable_gpus(0)->mutable_healthy_through());
    queue_->ReportHealth(report);
  }
  size_t OpenWindows() { return store_->OpenWindows()->size(); }
  std::vector<store::IncidentRecord> Notes() { return *store_->IncidentsSince(absl::UnixEpoch(), 0, 10); }
};

TEST_F(ForgottenWindowTest, IsClosedWithANoteWhenTheMonitorNeverComesBack) {
  Say("g", sassay::v1::GPU_STATE_COOLING);
  Exclude({"g", now(), absl::InfiniteFuture(), "i-1", "hot"});
  Advance(options_.max_open_window - absl::Milliseconds(1));
  queue_->Tick();
  EXPECT_EQ(OpenWindows(), 1u);
  EXPECT_THAT(Notes(), IsEmpty());
  std::atomic<int> rings = 0;
  const auto ear = queue_->OnIncidents([&rings] { ++rings; });
  Advance(absl::Milliseconds(1));
  queue_->Tick();
  queue_->Tick();
  EXPECT_EQ(OpenWindows(), 0u);
  ASSERT_EQ(Notes().size(), 1u);
  const sassay::v1::Incident note = Notes()[0].incident;
  EXPECT_EQ(note.rule(), "window_left_open");
  EXPECT_EQ(note.uuid(), "g");
  EXPECT_THAT(note.reason(), HasSubstr("incident i-1 was left open: for 15m"));
  EXPECT_EQ(rings, 1);
  const std::string id = Submit("r1");
  RunOn("g", TimedVerdict());
  EXPECT_THAT(Story(id), ElementsAre("accepted", "verdict.")) << "it counts, and says that nobody watched";
}

TEST_F(ForgottenWindowTest, IsClosedWhenAMonitorWithoutItsJournalSaysThatAllIsWell) {
  Say("g", sassay::v1::GPU_STATE_COOLING);
  Exclude({"g", now(), absl::InfiniteFuture(), "i-1", "hot"});
  for (absl::Duration passed; passed < options_.max_open_window; passed += absl::Seconds(5)) {
    EXPECT_EQ(OpenWindows(), 1u);
    Advance(absl::Seconds(5));
    Say("g", sassay::v1::GPU_STATE_HEALTHY);
    queue_->Tick();
  }
  EXPECT_EQ(OpenWindows(), 0u);
}

TEST_F(ForgottenWindowTest, StaysOpenAsLongAsTheMonitorCallsTheGpuUnwell) {
  Exclude({"g", now(), absl::InfiniteFuture(), "i-1", "hot"});
  for (int hour = 0; hour < 10; ++hour) {
    Advance(options_.max_open_window - absl::Seconds(1));
    Say("g", sassay::v1::GPU_STATE_COOLING);
    queue_->Tick();
  }
  EXPECT_EQ(OpenWindows(), 1u);
}

TEST_F(ForgottenWindowTest, OneThatWasJustOpenedIsNotOldBecauseTheGpuWasWellBefore) {
  Advance(absl::Hours(10));
  Exclude({"g", now(), absl::InfiniteFuture(), "i-1", "lost"});
  queue_->Tick();
  EXPECT_EQ(OpenWindows(), 1u);
}

TEST_F(ForgottenWindowTest, MonitorThatComesBackAfterAllSaysWhenItReallyEnded) {
  const absl::Time begin = now();
  Exclude({"g", begin, absl::InfiniteFuture(), "i-1", "hot"});
  Advance(options_.max_open_window);
  queue_->Tick();
  Advance(absl::Seconds(1));
  const std::string id = Submit("r1");
  RunOn("g", TimedVerdict());
  Exclude({"g", begin, now(), "i-1", "hot"});
  EXPECT_THAT(Story(id), ElementsAre("accepted", "verdict", "excluded"));
}

TEST_F(ExclusionTest, NoMoreIsHandedOutThanThereAreOpenPlaces) {
  queue_->SetRoom(0);
  for (int i = 0; i < 4; ++i) Submit(absl::StrCat(i));
  std::atomic<int> taken = 0;
  absl::Mutex mutex;
  std::vector<std::shared_ptr<RunningJob>> jobs;
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      while (std::shared_ptr<RunningJob> job = queue_->Next()) {
        EXPECT_LE(queue_->running(), 2u);
        if (++taken > 2) {
          queue_->Conclude(*job, CorrectVerdict());
          continue;
        }
        absl::MutexLock lock(&mutex);
        jobs.push_back(job);
      }
    });
  }
  queue_->SetRoom(2);
  {
    const auto both_run = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return jobs.size() == 2; };
    absl::MutexLock lock(&mutex, absl::Condition(&both_run));
  }
  EXPECT_EQ(store_->CountDepths()->queued, 2u);
  for (const auto& job : jobs) queue_->Conclude(*job, CorrectVerdict());
  const auto all_taken = [&] { return taken == 4; };
  while (!all_taken()) std::this_thread::yield();
  queue_->Stop();
  for (std::thread& worker : workers) worker.join();
}

TEST_F(ExclusionTest, WhatWaitsForAPlaceKeepsItsQueueDeadline) {
  queue_->SetRoom(0);
  sassay::v1::ProfileRequest request = RequestOf("r1");
  request.mutable_queue_deadline()->set_seconds(5);
  const std::string id = SubmitAndWait(*queue_, "ann", request)->id;
  Advance(absl::Seconds(6));
  queue_->Tick();
  EXPECT_EQ(WaitForVerdict(*queue_, "ann", id).code(), sassay::v1::VERDICT_CODE_QUEUE_DEADLINE);
}

}  // namespace
}  // namespace sassay::queue
