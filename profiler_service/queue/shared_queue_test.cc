// Several queues on one store: as good as one service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/base/files.h"
#include "common/base/proto_time.h"
#include "profiler_service/queue/queue.h"
#include "profiler_service/queue/queue_testing.h"
#include "profiler_service/store/postgres/postgres_testing.h"
#include "profiler_service/store/sqlite/sqlite_store.h"
#include "profiler_service/store/testing/forwarding_store.h"

namespace sassay::queue {
namespace {

using sassay::v1::Event;
using sassay::v1::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(30);
// Below the five seconds after which a queue looks in any case.
constexpr absl::Duration kAtOnce = absl::Seconds(4);

// Two views of one store.
struct Stores {
  std::unique_ptr<TemporaryDirectory> directory;
  std::vector<std::unique_ptr<store::Store>> opened;
  store::Store& first() const { return *opened.front(); }
  store::Store& second() const { return *opened.back(); }
};

// Parts of one process: they hear each other as a front end hears its nodes.
Stores OneProcess() {
  Stores stores;
  stores.directory = std::make_unique<TemporaryDirectory>(*TemporaryDirectory::Create("shared_queue_test"));
  stores.opened.push_back(*store::OpenSqliteStore(stores.directory->path() / "sassay.db", store::Hears::kEverybody));
  return stores;
}

// As good as two processes. Nothing is looked at anyway: what is not told is not found.
Stores TwoProcesses() {
  Stores stores;
  store::PostgresOptions options = store::EmptiedStore();
  options.look_anyway = absl::Hours(1);
  stores.opened = store::OpenStores(2, options);
  return stores;
}

using MakeStores = Stores (*)();

class SharedQueueTest : public testing::TestWithParam<std::pair<const char*, MakeStores>> {
 protected:
  void SetUp() override {
    stores_ = GetParam().second();
    options_.now = [this] { return absl::FromUnixNanos(now_ns_); };
    options_.steady = options_.now;
    options_.lease = absl::Minutes(10);
    front_ = Open(stores_.first(), options_);
    node_ = Open(stores_.second(), options_);
  }
  void TearDown() override {
    front_.reset();
    node_.reset();
  }

  static std::unique_ptr<Queue> Open(store::Store& store, const QueueOptions& options,
                                     PreviousProcess previous = PreviousProcess::kEndedOrWasKilled) {
    auto queue = std::make_unique<Queue>(store, options);
    EXPECT_TRUE(queue->Start(previous).ok());
    return queue;
  }
  void Advance(absl::Duration duration) { now_ns_ += absl::ToInt64Nanoseconds(duration); }
  static std::string SubmitTo(Queue& queue, const std::string& request_id) {
    const auto submitted = SubmitAndWait(queue, "ann", RequestOf(request_id));
    EXPECT_TRUE(submitted.ok()) << submitted.status();
    return submitted.ok() ? submitted->id : "";
  }
  static bool CancelAt(Queue& queue, const std::string& id) {
    return *store::Await<bool>([&](store::Callback<bool> done) { queue.Cancel("ann", id, std::move(done)); });
  }
  static bool WaitUntilCancelled(const RunningJob& job) {
    const absl::Time deadline = absl::Now() + kAtOnce;
    while (!job.cancelled() && absl::Now() < deadline) std::this_thread::yield();
    return job.cancelled();
  }

  Stores stores_;
  std::atomic<int64_t> now_ns_ = 1'700'000'000'000'000'000;
  QueueOptions options_;
  std::unique_ptr<Queue> front_, node_;
};

TEST_P(SharedQueueTest, AClientSeesEachEventOfAnAttemptThatRunsElsewhereInOrderAndWithoutGaps) {
  constexpr int kStages = 100;
  const std::string id = SubmitTo(*front_, "r");
  Watcher watcher(*front_, "ann", id, 0);
  std::vector<Event> events;
  std::thread client([&] { events = watcher.ReadAll(); });
  const auto job = node_->Next();
  for (int i = 0; i < kStages; ++i) job->StageStarted(sassay::v1::STAGE_EVALUATE, absl::StrCat("d", i));
  node_->Conclude(*job, CorrectVerdict());
  client.join();
  ASSERT_EQ(events.size(), kStages + 2u);
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].sequence(), i + 1);
  for (int i = 0; i < kStages; ++i)
    EXPECT_EQ(events[static_cast<size_t>(i) + 1].stage_started().device(), absl::StrCat("d", i));
  EXPECT_TRUE(events.back().has_verdict() && events.back().last());
  EXPECT_EQ(front_->watchers(), 0u);
}

TEST_P(SharedQueueTest, AnEventReachesAWatcherElsewhereSoonAfterItIsDurable) {
  constexpr int kEvents = 50;
  const std::string id = SubmitTo(*front_, "r");
  absl::Mutex mutex;
  bool rung = false;
  const auto subscription = *front_->Subscribe("ann", id, 0, [&] {
    absl::MutexLock lock(&mutex);
    rung = true;
  });
  const auto wait_for_one = [&] {
    while (!subscription->TryNext()->has_value()) {
      absl::MutexLock lock(&mutex);
      ASSERT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&rung), kPatience));
      rung = false;
    }
  };
  wait_for_one();
  const auto job = node_->Next();
  std::vector<absl::Duration> delays;
  for (int i = 0; i < kEvents; ++i) {
    const absl::Time begin = absl::Now();
    job->StageStarted(sassay::v1::STAGE_EVALUATE, "d");
    wait_for_one();
    delays.push_back(absl::Now() - begin);
  }
  std::sort(delays.begin(), delays.end());
  RecordProperty("median_us", static_cast<int>(absl::ToInt64Microseconds(delays[kEvents / 2])));
  std::cout << "from the runner's word to the watcher: median " << delays[kEvents / 2] << ", longest " << delays.back()
            << "\n";
  // Far below the five seconds after which everything would be looked at.
  EXPECT_LT(delays[kEvents / 2], absl::Seconds(1));
  node_->Conclude(*job, CorrectVerdict());
}

TEST_P(SharedQueueTest, WhatOneQueueAcceptsWakesTheWorkersOfAnother) {
  std::shared_ptr<RunningJob> first, second;
  std::thread worker([&] { first = node_->Next(); });
  std::thread another([&] { second = node_->Next(); });
  SubmitTo(*front_, "r1");
  SubmitTo(*front_, "r2");
  worker.join();
  another.join();
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_NE(first->lease().submission.id, second->lease().submission.id);
  node_->Conclude(*first, CorrectVerdict());
  node_->Conclude(*second, CorrectVerdict());
}

TEST_P(SharedQueueTest, ManySubmissionsAreEachJudgedOnceByWhoeverIsFree) {
  constexpr int kSubmissions = 60;
  std::vector<std::thread> workers;
  std::atomic<int> judged = 0;
  for (Queue* queue : {front_.get(), node_.get(), front_.get(), node_.get()}) {
    workers.emplace_back([queue, &judged] {
      while (const auto job = queue->Next()) {
        queue->Conclude(*job, CorrectVerdict());
        ++judged;
      }
    });
  }
  std::vector<std::string> ids;
  for (int i = 0; i < kSubmissions; ++i) ids.push_back(SubmitTo(i % 2 == 0 ? *front_ : *node_, absl::StrCat("r", i)));
  for (const std::string& id : ids) {
    EXPECT_EQ(WaitForVerdict(*node_, "ann", id).attempt(), 1u);
    EXPECT_EQ(WaitForVerdict(*front_, "ann", id).attempt(), 1u);
  }
  front_->Stop();
  node_->Stop();
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(judged, kSubmissions);
}

TEST_P(SharedQueueTest, ACancellationStopsWhatRunsElsewhereAtOnce) {
  const std::string id = SubmitTo(*front_, "r");
  const auto job = node_->Next();
  EXPECT_FALSE(job->cancelled());
  EXPECT_TRUE(CancelAt(*front_, id));
  ASSERT_TRUE(WaitUntilCancelled(*job));
  EXPECT_EQ(job->interruption(), Interruption::kCancelled);
  Verdict given_up;
  given_up.set_status(sassay::v1::VERDICT_STATUS_CANCELLED);
  node_->Conclude(*job, given_up);
  EXPECT_EQ(WaitForVerdict(*front_, "ann", id).status(), sassay::v1::VERDICT_STATUS_CANCELLED);
}

TEST_P(SharedQueueTest, AWaitingSubmissionThatIsCancelledElsewhereEndsItsStreamHere) {
  const std::string id = SubmitTo(*front_, "r");
  Watcher watcher(*front_, "ann", id, 0);
  EXPECT_TRUE(CancelAt(*node_, id));
  EXPECT_EQ(watcher.ReadAll().back().verdict().status(), sassay::v1::VERDICT_STATUS_CANCELLED);
}

TEST_P(SharedQueueTest, WhatADeadQueueRanIsTakenBackOnceItsLeaseHasExpiredAndItsLateVerdictIsRefused) {
  const std::string id = SubmitTo(*front_, "r");
  const auto lost = node_->Next();
  front_->Tick();
  EXPECT_EQ(stores_.first().Get("ann", id)->state, store::State::kLeased) << "it has not expired";
  Advance(options_.lease);
  front_->Tick();
  const auto again = front_->Next();
  EXPECT_EQ(again->lease().submission.id, id);
  EXPECT_EQ(again->lease().submission.attempt, 2u);
  EXPECT_EQ(again->lease().submission.losses, 1u);
  node_->Conclude(*lost, InfraVerdict(sassay::v1::VERDICT_CODE_INTERNAL, "too late"));
  EXPECT_EQ(stores_.first().Get("ann", id)->state, store::State::kLeased);
  front_->Conclude(*again, CorrectVerdict());
  const std::vector<Event> events = WaitForEvents(*node_, "ann", id);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_THAT(events[1].retrying().reason(), HasSubstr("not heard of for too long"));
  EXPECT_EQ(events[2].verdict().attempt(), 2u);
}

TEST_P(SharedQueueTest, AStartLeavesAloneWhatOthersRun) {
  const std::string id = SubmitTo(*front_, "r");
  const auto job = node_->Next();
  const auto newcomer = Open(stores_.first(), options_);
  EXPECT_EQ(stores_.first().Get("ann", id)->state, store::State::kLeased);
  node_->Conclude(*job, CorrectVerdict());
  EXPECT_EQ(WaitForVerdict(*newcomer, "ann", id).attempt(), 1u);
}

TEST_P(SharedQueueTest, ARestartedProcessTakesBackWhatItsPredecessorRanAndKnowsHowThatEnded) {
  const std::string others = SubmitTo(*front_, "another's");
  const auto at_another = node_->Next();
  options_.owner_prefix = "host-7/";
  for (const auto previous : {PreviousProcess::kEndedOrWasKilled, PreviousProcess::kCrashed}) {
    auto predecessor = Open(stores_.second(), options_);
    const std::string id = SubmitTo(*front_, absl::StrCat("r", static_cast<int>(previous)));
    const auto running = predecessor->Next();
    predecessor.reset();  // as a sudden end would: what is leased stays leased
    const auto successor = Open(stores_.second(), options_, previous);
    const auto again = successor->Next();
    ASSERT_EQ(again->lease().submission.id, id);
    EXPECT_EQ(again->lease().submission.attempt, 2u);
    EXPECT_EQ(again->lease().submission.losses, previous == PreviousProcess::kCrashed ? 1u : 0u);
    successor->Conclude(*again, CorrectVerdict());
  }
  node_->Conclude(*at_another, CorrectVerdict());
  EXPECT_EQ(WaitForVerdict(*front_, "ann", others).attempt(), 1u);
}

// A candidate that takes its node with it does not go round for ever, whichever nodes it meets; who was killed from
// outside, and what ran beside it, is not blamed.
TEST_P(SharedQueueTest, WhatCrashesOneNodeAfterTheOtherEndsWithAVerdictAndOnlyCrashesCount) {
  options_.max_losses = 4;
  options_.asker.pools.front().gpus = 3;
  options_.asker.pools.front().living = {"n1", "n2", "n3"};
  front_ = Open(stores_.first(), options_);
  const auto node = [&](const std::string& name, PreviousProcess previous = PreviousProcess::kEndedOrWasKilled) {
    QueueOptions options = options_;
    options.asker.node = name;
    options.owner_prefix = name + "/";
    return Open(stores_.second(), options, previous);
  };
  const auto state = [&](const std::string& id) { return stores_.first().Get("ann", id).value(); };
  const auto takes = [&](Queue& queue, const std::string& id) {
    const auto job = queue.Next();
    EXPECT_EQ(job->lease().submission.id, id);
    return job;
  };
  const auto refuses = [&](const std::string& name) {
    store::Asker asker = options_.asker;
    asker.owner = asker.node = name;
    return !(*store::Await<absl::optional<store::Lease>>([&](store::Callback<absl::optional<store::Lease>> done) {
              stores_.first().Acquire(asker, options_.now(), options_.now() + options_.lease, std::move(done));
            })).has_value();
  };
  const std::string id = SubmitTo(*front_, "poison");
  // Its node crashes, and says so when it is back.
  takes(*node("n1"), id);
  auto n1 = node("n1", PreviousProcess::kCrashed);
  EXPECT_EQ(state(id).losses, 1u);
  EXPECT_TRUE(refuses("n1")) << "others have not lost it yet";
  // Somebody kills the next one; that says nothing about what ran there.
  takes(*node("n2"), id);
  auto n2 = node("n2", PreviousProcess::kEndedOrWasKilled);
  EXPECT_EQ(state(id).losses, 1u);
  // It falls silent, together with one that has done nothing.
  takes(*n2, id);
  const std::string bystander = SubmitTo(*front_, "bystander");
  takes(*n2, bystander);
  Advance(options_.lease);
  front_->Tick();
  EXPECT_EQ(state(id).losses, 2u);
  EXPECT_EQ(state(bystander).losses, 1u) << "nobody knows which of the two it was";
  const auto cleared = n1->Next();
  ASSERT_EQ(cleared->lease().submission.id, bystander) << "n1 has lost the other one";
  n1->Conclude(*cleared, CorrectVerdict());
  EXPECT_EQ(WaitForVerdict(*front_, "ann", bystander).status(), sassay::v1::VERDICT_STATUS_CORRECT);
  takes(*node("n3"), id);
  Advance(options_.lease);
  front_->Tick();
  EXPECT_EQ(state(id).losses, 3u);
  // Lost on three nodes: back to those, and no further one is risked.
  EXPECT_TRUE(refuses("n4"));
  takes(*n1, id);
  Advance(options_.lease);
  front_->Tick();
  const Verdict verdict = WaitForVerdict(*front_, "ann", id);
  EXPECT_EQ(verdict.status(), sassay::v1::VERDICT_STATUS_INFRA_ERROR);
  EXPECT_THAT(verdict.reason(), HasSubstr("4 times in a row"));
  EXPECT_EQ(verdict.attempt(), 5u);
}

TEST_P(SharedQueueTest, BellsRingForWhatIsWrittenElsewhere) {
  absl::Notification incident, exclusion, hold;
  std::atomic<bool> settled = false;
  const auto once = [&](absl::Notification& notification) {
    return [&] {
      if (settled && !notification.HasBeenNotified()) notification.Notify();
    };
  };
  const auto ears = {front_->OnIncidents(once(incident)), front_->OnExclusions(once(exclusion)),
                     front_->OnHolds(once(hold))};
  const std::string id = SubmitTo(*front_, "r");
  const auto job = node_->Next();
  job->SeatTaken("g");
  const absl::Time begin = options_.now();
  Advance(absl::Seconds(1));
  node_->Conclude(*job, CorrectVerdict());
  WaitForVerdict(*front_, "ann", id);
  settled = true;
  sassay::v1::Incident note;
  note.set_id("i");
  note.set_revision(1);
  SetTimestamp(options_.now(), *note.mutable_from());
  ASSERT_TRUE(node_->RecordIncident(note).ok());
  EXPECT_TRUE(incident.WaitForNotificationWithTimeout(kPatience));
  ASSERT_TRUE(store::Await<store::Exclusions>([&](store::Callback<store::Exclusions> done) {
                node_->Exclude({"g", begin, options_.now(), "i", "hot"}, std::move(done));
              }).ok());
  EXPECT_TRUE(exclusion.WaitForNotificationWithTimeout(kPatience));
  ASSERT_TRUE(
      stores_.second().PlaceHold({"g", "operator", sassay::v1::GPU_STATE_PAUSED, "", "", options_.now(), "root"}).ok());
  EXPECT_TRUE(hold.WaitForNotificationWithTimeout(kPatience));
}

TEST_P(SharedQueueTest, AWindowThatIsOpenedElsewhereInterruptsWhatRunsInIt) {
  SubmitTo(*front_, "r");
  const auto job = node_->Next();
  job->SeatTaken("g");
  Advance(absl::Seconds(1));
  ASSERT_TRUE(
      store::Await<store::Exclusions>([&](store::Callback<store::Exclusions> done) {
        front_->Exclude({"g", options_.now() - absl::Seconds(1), absl::InfiniteFuture(), "i", "hot"}, std::move(done));
      }).ok());
  ASSERT_TRUE(WaitUntilCancelled(*job));
  EXPECT_EQ(job->interruption(), Interruption::kExcluded);
  node_->Conclude(*job, CorrectVerdict());
}

// What a process says about its GPUs is not for others to end, as long as it may live.
TEST_P(SharedQueueTest, OthersTimingsAndWindowsAreLeftToThemUntilTheyAreSurelyGone) {
  QueueOptions options = options_;
  options.mine = [](absl::string_view) { return false; };
  const auto front = Open(stores_.first(), options);
  sassay::v1::ReportHealthRequest health;
  sassay::v1::GpuHealth& gpu = *health.add_gpus();
  gpu.set_uuid("g");
  gpu.set_state(sassay::v1::GPU_STATE_HEALTHY);
  SetTimestamp(options_.now(), *gpu.mutable_healthy_through());
  node_->ReportHealth(health);
  const std::string id = SubmitTo(*front, "r");
  const auto job = node_->Next();
  job->SeatTaken("g");
  Advance(absl::Seconds(1));
  Verdict timed = CorrectVerdict();
  timed.mutable_timing()->set_status(sassay::v1::Timing::MEASURED);
  node_->Conclude(*job, timed);
  ASSERT_EQ(stores_.first().Provisionals()->size(), 1u);
  ASSERT_TRUE(store::Await<store::Exclusions>([&](store::Callback<store::Exclusions> done) {
                node_->Exclude({"h", options_.now(), absl::InfiniteFuture(), "i", "hot"}, std::move(done));
              }).ok());
  node_.reset();
  front_.reset();
  Advance(absl::Seconds(119));
  front->Tick();
  EXPECT_EQ(stores_.first().Provisionals()->size(), 1u);
  Watcher watcher(*front, "ann", id, 2);
  Advance(absl::Minutes(20));
  front->Tick();
  const std::vector<Event> rest = watcher.ReadAll();
  EXPECT_THAT(rest.back().timing_settled().warning(), HasSubstr("its node ended"));
  EXPECT_EQ(stores_.first().OpenWindows()->size(), 1u) << "the node that has this GPU may come back";
}

INSTANTIATE_TEST_SUITE_P(, SharedQueueTest,
                         testing::Values(std::make_pair("OneProcess", OneProcess),
                                         std::make_pair("TwoProcesses", TwoProcesses)),
                         [](const auto& info) { return std::string(info.param.first); });

// Tells what the test says, and nothing else.
class Deaf : public store::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  bool shared() const override { return true; }
  std::unique_ptr<store::Watch> Observe(store::Observer given) override {
    observer = std::move(given);
    return std::make_unique<store::Watch>();
  }
  store::Observer observer;
};

TEST(SharedQueue, WhatWasNotToldIsFoundByLookingAtEverything) {
  const auto directory = *TemporaryDirectory::Create("shared_queue_test");
  const auto real = *store::OpenSqliteStore(directory.path() / "sassay.db");
  Deaf deaf_front(*real), deaf_node(*real);
  Queue front(deaf_front, {}), node(deaf_node, {});
  ASSERT_TRUE(front.Start().ok() && node.Start().ok());
  const std::string id = SubmitAndWait(front, "ann", RequestOf("r"))->id;
  Watcher watcher(front, "ann", id, 0);
  std::vector<Event> events;
  std::thread client([&] { events = watcher.ReadAll(); });
  store::Changes everything;
  everything.everything = true;
  std::shared_ptr<RunningJob> job;
  std::thread worker([&] { job = node.Next(); });
  deaf_node.observer(everything);
  worker.join();
  for (int i = 0; i < 200; ++i) job->StageStarted(sassay::v1::STAGE_EVALUATE, "d");
  ASSERT_TRUE(*store::Await<bool>([&](store::Callback<bool> done) { front.Cancel("ann", id, std::move(done)); }));
  deaf_node.observer(everything);
  while (!job->cancelled()) std::this_thread::yield();
  node.Conclude(*job, CorrectVerdict());
  deaf_front.observer(everything);
  client.join();
  ASSERT_EQ(events.size(), 202u);
  EXPECT_EQ(events.back().verdict().status(), sassay::v1::VERDICT_STATUS_CANCELLED);
}

}  // namespace
}  // namespace sassay::queue
