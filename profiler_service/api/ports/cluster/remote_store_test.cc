// RemoteStore against what every Store must do, and against front ends that fail.
#include "profiler_service/cluster/remote_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/synchronization/notification.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "profiler_service/api/ports/cluster/testing/front_end_fixture.h"
#include "profiler_service/store/sqlite/sqlite_store.h"
#include "profiler_service/store/testing/forwarding_store.h"
#include "profiler_service/store/testing/store_conformance.h"

namespace sassay::api {
namespace {

using cluster::FrontEnds;
using cluster::RemoteStore;
using sassay::v1::Event;
using store::Await;
using store::Callback;
using store::Lease;

// What a node does goes through its front end; what clients and other front ends do goes to the store itself.
class NodeAndFrontEnd : public store::ForwardingStore {
 public:
  NodeAndFrontEnd(const std::filesystem::path& directory, std::unique_ptr<store::Store> kept,
                  std::unique_ptr<store::Store> registered, cluster::FrontEndOptions options)
      : ForwardingStore(*kept),
        kept_(std::move(kept)),
        registered_(std::move(registered)),
        front_end_(std::make_unique<FrontEndFixture>(directory, *kept_, *registered_)) {
    options.addresses = {front_end_->address()};
    front_ends_ = *FrontEnds::Open(std::move(options));
    EXPECT_TRUE(front_ends_->Register(SteadyNow() + absl::Seconds(10)).ok());
    node_ = std::make_unique<RemoteStore>(*front_ends_);
  }
  ~NodeAndFrontEnd() override {
    node_.reset();
    front_ends_.reset();
    front_end_.reset();
  }

  void Acquire(const store::Asker& asker, absl::Time now, absl::Time expires_at,
               Callback<absl::optional<Lease>> done) override {
    // What this node can run its front end knows; other nodes are asked for at the store.
    const bool another = asker.node != "local" || asker.pools.size() > 1 || !asker.pools.front().arch.empty() ||
                         !asker.states.empty() || !asker.models.empty();
    store::Store& at = another ? *kept_ : *node_;
    at.Acquire(asker, now, expires_at, std::move(done));
  }
  void Append(const Lease& lease, Event event, Callback<Event> done) override {
    HolderOf(lease).Append(lease, std::move(event), std::move(done));
  }
  void Finish(const Lease& lease, sassay::v1::Verdict verdict, const store::Ending& ending,
              Callback<std::vector<Event>> done) override {
    HolderOf(lease).Finish(lease, std::move(verdict), ending, std::move(done));
  }
  void Return(const Lease& lease, absl::string_view reason, store::Ended ended, const store::Ending& ending,
              absl::Time now, Callback<Event> done) override {
    // That a process died is said by a front end, which knows the owner's whole name.
    if (ended != store::Ended::kCrashed && ended != store::Ended::kKilled) {
      return node_->Return(lease, reason, ended, ending, now, std::move(done));
    }
    const std::vector<Lease> all = *kept_->LeasesExpiredBy(absl::InfiniteFuture());
    for (const Lease& each : all) {
      if (each.submission.id == lease.submission.id && each.epoch == lease.epoch) {
        return kept_->Return(each, reason, ended, ending, now, std::move(done));
      }
    }
    kept_->Return(lease, reason, ended, ending, now, std::move(done));
  }
  absl::StatusOr<std::vector<store::Renewal>> Renew(const std::vector<Lease>& leases, absl::Time until) override {
    return node_->Renew(leases, until);
  }
  absl::StatusOr<store::Depths> CountDepths() override { return node_->CountDepths(); }
  void Exclude(const store::BadWindow& window, uint32_t max_exclusions, absl::Time now,
               Callback<store::Exclusions> done) override {
    node_->Exclude(window, max_exclusions, now, std::move(done));
  }
  absl::StatusOr<std::vector<store::BadWindow>> OpenWindows() override { return node_->OpenWindows(); }
  absl::Status CloseWindows(absl::string_view gpu, absl::Time now) override { return node_->CloseWindows(gpu, now); }
  void SettleTiming(absl::string_view id, uint32_t attempt, absl::string_view warning, absl::Time now,
                    Callback<Event> done) override {
    node_->SettleTiming(id, attempt, warning, now, std::move(done));
  }
  absl::StatusOr<std::vector<store::Provisional>> Provisionals() override { return node_->Provisionals(); }
  absl::Status PlaceHold(const store::Hold& hold) override { return node_->PlaceHold(hold); }
  absl::Status LiftHold(absl::string_view gpu, absl::string_view holder) override {
    return node_->LiftHold(gpu, holder);
  }
  absl::StatusOr<std::vector<store::Hold>> Holds() override { return node_->Holds(); }
  absl::Status RecordIncident(const sassay::v1::Incident& incident) override { return node_->RecordIncident(incident); }
  absl::StatusOr<std::vector<store::IncidentRecord>> IncidentsSince(absl::Time from, uint64_t after,
                                                                    int limit) override {
    return node_->IncidentsSince(from, after, limit);
  }
  absl::StatusOr<uint64_t> LastIncident() override { return node_->LastIncident(); }
  absl::Status Audit(const store::AuditRecord& record) override { return node_->Audit(record); }

 private:
  store::Store& HolderOf(const Lease& lease) {
    uint64_t number = 0;
    return absl::SimpleAtoi(lease.owner, &number) ? static_cast<store::Store&>(*node_) : *kept_;
  }

  const std::unique_ptr<store::Store> kept_, registered_;
  std::unique_ptr<FrontEndFixture> front_end_;
  std::unique_ptr<FrontEnds> front_ends_;
  std::unique_ptr<RemoteStore> node_;
};

class NodeBed : public store::StoreBed {
 public:
  std::unique_ptr<store::Store> Open() override {
    auto kept = store::OpenSqliteStore(directory_.path() / "sassay.db", store::Hears::kEverybody);
    auto registered = store::OpenSqliteStore(directory_.path() / "nodes.db");
    EXPECT_TRUE(kept.ok() && registered.ok()) << kept.status();
    return std::make_unique<NodeAndFrontEnd>(directory_.path(), *std::move(kept), *std::move(registered), options_);
  }

 private:
  TemporaryDirectory directory_ = *TemporaryDirectory::Create("remote_store_test");
  // The same process throughout: its leases outlive its connections.
  const cluster::FrontEndOptions options_ = NodeOptions({}, "n", {"f", "g", "h"});
};

}  // namespace
}  // namespace sassay::api

namespace sassay::store {
INSTANTIATE_TEST_SUITE_P(Remote, StoreConformance,
                         testing::Values(std::make_pair(std::string("Remote"), StoreBedFactory([] {
                                                          return std::make_unique<api::NodeBed>();
                                                        }))));
}  // namespace sassay::store

namespace sassay::api {
namespace {

class RemoteStoreTest : public testing::Test {
 protected:
  RemoteStoreTest() { Serve(0); }
  void Serve(int port) { front_end_ = std::make_unique<FrontEndFixture>(directory_.path(), *store_, *store_, port); }
  std::unique_ptr<FrontEnds> Join(const std::vector<std::string>& addresses) {
    auto front_ends = *FrontEnds::Open(NodeOptions(addresses, "n", {"g"}));
    EXPECT_TRUE(front_ends->Register(SteadyNow() + absl::Seconds(10)).ok());
    return front_ends;
  }
  std::string Submit(const std::string& request_id) {
    store::NewSubmission submission{
        "id-" + request_id, "ann", {}, kClusterTestNow, kClusterTestNow + absl::Hours(1), absl::Minutes(1), {100, 100}};
    submission.request.set_request_id(request_id);
    EXPECT_TRUE(Await<store::Submitted>([&](Callback<store::Submitted> done) {
                  store_->Submit(submission, std::move(done));
                }).ok());
    return submission.id;
  }
  static absl::StatusOr<absl::optional<Lease>> Acquire(RemoteStore& node) {
    return Await<absl::optional<Lease>>([&](Callback<absl::optional<Lease>> done) {
      node.Acquire("", kClusterTestNow, kClusterTestNow + absl::Seconds(30), std::move(done));
    });
  }
  static absl::StatusOr<std::vector<Event>> Finish(RemoteStore& node, const Lease& lease) {
    return Await<std::vector<Event>>([&](Callback<std::vector<Event>> done) {
      node.Finish(lease, store::VerdictOf(sassay::v1::VERDICT_STATUS_CORRECT), {"g", kClusterTestNow, 3},
                  std::move(done));
    });
  }
  static Event Started(sassay::v1::Stage stage) {
    Event event;
    event.mutable_stage_started()->set_stage(stage);
    return event;
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("remote_store_test");
  const std::unique_ptr<store::Store> store_ =
      *store::OpenSqliteStore(directory_.path() / "db", store::Hears::kEverybody);
  std::unique_ptr<FrontEndFixture> front_end_;
};

TEST_F(RemoteStoreTest, AFrontEndThatDiesCostsAReconnectAndNoTurn) {
  const auto front_ends = Join({front_end_->address()});
  RemoteStore node(*front_ends, {absl::Seconds(30)});
  Submit("r1");
  const Lease lease = **Acquire(node);
  const int port = front_end_->port();
  front_end_.reset();
  absl::Notification appended;
  node.Append(lease, Started(sassay::v1::STAGE_EVALUATE), [&](absl::StatusOr<Event> event) {
    EXPECT_TRUE(event.ok()) << event.status();
    appended.Notify();
  });
  Serve(port);
  appended.WaitForNotification();
  const auto events = Finish(node, lease);
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_EQ(events->front().sequence(), 3u);
}

TEST_F(RemoteStoreTest, TurnsToAnotherFrontEndWhereOneIsGone) {
  auto other = std::make_unique<FrontEndFixture>(directory_.path(), *store_, *store_);
  const auto front_ends = Join({front_end_->address(), other->address()});
  RemoteStore node(*front_ends, {absl::Seconds(30)});
  Submit("r1");
  const Lease lease = **Acquire(node);
  front_end_.reset();
  EXPECT_TRUE(Finish(node, lease).ok());
}

TEST_F(RemoteStoreTest, WhereNobodyAnswersEveryWriteIsAnsweredInTimeAndInOrder) {
  const auto front_ends = Join({front_end_->address()});
  RemoteStore node(*front_ends, {absl::Milliseconds(300)});
  Submit("r1");
  const Lease lease = **Acquire(node);
  front_end_.reset();
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) {
    node.Append(lease, Started(sassay::v1::STAGE_EVALUATE), [&order, i](absl::StatusOr<Event> event) {
      EXPECT_TRUE(absl::IsUnavailable(event.status()));
      order.push_back(i);
    });
  }
  EXPECT_TRUE(absl::IsUnavailable(Finish(node, lease).status()));
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(RemoteStoreTest, AnEventWhoseAnswerWasLostLeavesRoomForTheNext) {
  const auto front_ends = Join({front_end_->address()});
  RemoteStore node(*front_ends, {absl::Milliseconds(300)});
  const std::string id = Submit("r1");
  const Lease lease = **Acquire(node);
  const int port = front_end_->port();
  front_end_.reset();
  ASSERT_FALSE(Await<Event>([&](Callback<Event> done) {
                 node.Append(lease, Started(sassay::v1::STAGE_EVALUATE), std::move(done));
               }).ok());
  // It had been kept all the same.
  Lease whole = lease;
  whole.owner = store_->LeasesExpiredBy(absl::InfiniteFuture())->front().owner;
  ASSERT_TRUE(Await<Event>([&](Callback<Event> done) {
                store_->Append(whole, Started(sassay::v1::STAGE_EVALUATE), std::move(done));
              }).ok());
  Serve(port);
  absl::StatusOr<Event> next = absl::UnavailableError("");
  while (absl::IsUnavailable(next.status())) {
    next = Await<Event>(
        [&](Callback<Event> done) { node.Append(lease, Started(sassay::v1::STAGE_SANITIZE), std::move(done)); });
  }
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->sequence(), 3u);
}

TEST_F(RemoteStoreTest, TellsOfWorkAndOfItsOwnCancellations) {
  const auto front_ends = Join({front_end_->address()});
  RemoteStore node(*front_ends);
  absl::Mutex mutex;
  bool begun = false, work = false;
  std::vector<std::string> ids;
  const auto watch = node.Observe([&](const store::Changes& changes) {
    absl::MutexLock lock(&mutex);
    begun |= changes.everything;
    work |= changes.work;
    ids.insert(ids.end(), changes.cancelling.begin(), changes.cancelling.end());
  });
  const auto wait = [&](const std::function<bool()>& until) {
    absl::MutexLock lock(&mutex);
    return mutex.AwaitWithTimeout(absl::Condition(&until), absl::Seconds(30));
  };
  // Either the stream begins while there is an observer, which says so, or it began before and the hint comes. From
  // then on whatever is submitted is told.
  const std::string id = Submit("r1");
  ASSERT_TRUE(wait([&] { return work || begun; }));
  const Lease lease = **Acquire(node);
  Submit("r2");
  ASSERT_TRUE(wait([&] { return work; }));
  ASSERT_TRUE(Await<store::Cancellation>([&](Callback<store::Cancellation> done) {
                store_->Cancel("ann", id, store::VerdictOf(sassay::v1::VERDICT_STATUS_CANCELLED), std::move(done));
              }).ok());
  ASSERT_TRUE(wait([&] { return !ids.empty(); }));
  EXPECT_THAT(ids, testing::Each(id));
  EXPECT_THAT(*node.Renew({lease}, kClusterTestNow + absl::Seconds(30)),
              testing::ElementsAre(store::Renewal::kCancelling));
}

// A database that lets one Acquire wait, as a network may that delivers it late.
class LateStore : public store::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void Acquire(const store::Asker& asker, absl::Time now, absl::Time expires_at,
               Callback<absl::optional<Lease>> done) override {
    {
      absl::MutexLock lock(&mutex_);
      if (!std::exchange(came_, true)) {
        late_ = [this, asker, now, expires_at, done] {
          ForwardingStore::Acquire(asker, now, expires_at, [this, done](absl::StatusOr<absl::optional<Lease>> taken) {
            done(std::move(taken));
            delivered_.Notify();
          });
        };
        return;
      }
    }
    ForwardingStore::Acquire(asker, now, expires_at, std::move(done));
  }
  void Deliver() {
    absl::MutexLock lock(&mutex_);
    late_();
    delivered_.WaitForNotification();
  }

 private:
  absl::Mutex mutex_;
  bool came_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> late_ ABSL_GUARDED_BY(mutex_);
  absl::Notification delivered_;
};

class LateAcquireTest : public RemoteStoreTest {
 protected:
  // The node's Acquire 1 is late; made again it found nothing; then there is work, which the late one takes.
  LateAcquireTest() {
    front_end_ = std::make_unique<FrontEndFixture>(directory_.path(), late_, *store_);
    cluster::FrontEndOptions options = NodeOptions({front_end_->address()}, "n", {"g"});
    options.call_timeout = absl::Milliseconds(300);
    front_ends_ = *FrontEnds::Open(std::move(options));
    EXPECT_TRUE(front_ends_->Register(SteadyNow() + absl::Seconds(10)).ok());
    node_ = std::make_unique<RemoteStore>(*front_ends_, cluster::RemoteStoreOptions{absl::Seconds(30)});
    before_ = node_->Held();
    EXPECT_FALSE((*Acquire(*node_)).has_value());
    id_ = Submit("r1");
    late_.Deliver();
    EXPECT_EQ(Stands().state, store::State::kLeased);
  }
  ~LateAcquireTest() override {
    node_.reset();
    front_ends_.reset();
    front_end_.reset();
  }
  absl::Status Beat(const absl::optional<sassay::v1::HeldLeases>& held) {
    sassay::v1::BeatRequest request;
    if (held.has_value()) *request.mutable_held() = *held;
    sassay::v1::BeatResponse response;
    return front_ends_->Call(&FrontEnds::Stub::Beat, request, response, SteadyNow() + absl::Seconds(30));
  }
  store::Submission Stands() { return *store_->Get("ann", id_); }

  LateStore late_{*store_};
  std::unique_ptr<FrontEnds> front_ends_;
  std::unique_ptr<RemoteStore> node_;
  sassay::v1::HeldLeases before_;
  std::string id_;
};

TEST_F(LateAcquireTest, WhatANodeNeverHeardOfWaitsAgainWithItsNextSignOfLife) {
  ASSERT_TRUE(Beat(node_->Held()).ok());
  EXPECT_EQ(Stands().state, store::State::kQueued);
  EXPECT_EQ(Stands().losses, 0u);
  EXPECT_EQ(Stands().failures, 0u);
  const absl::optional<Lease> lease = *Acquire(*node_);
  ASSERT_TRUE(lease.has_value());
  EXPECT_EQ(lease->submission.attempt, 2u);
  // It knows of this one, and a sign of life of before says nothing about it.
  ASSERT_TRUE(Beat(node_->Held()).ok());
  ASSERT_TRUE(Beat(before_).ok());
  EXPECT_EQ(Stands().state, store::State::kLeased);
  ASSERT_TRUE(Finish(*node_, *lease).ok());
  EXPECT_EQ(node_->Held().leases_size(), 0);
}

TEST_F(LateAcquireTest, OfWhatAnAcquireMayStillBringNothingIsTakenBack) {
  ASSERT_TRUE(Beat(before_).ok());
  EXPECT_EQ(Stands().state, store::State::kLeased);
}

TEST_F(LateAcquireTest, AnOlderNodeThatNamesNothingKeepsWhatItHas) {
  ASSERT_TRUE(Beat(absl::nullopt).ok());
  EXPECT_EQ(Stands().state, store::State::kLeased);
}

TEST_F(LateAcquireTest, MoreLeasesThanANodeCanHoldAreRefused) {
  sassay::v1::HeldLeases held;
  for (int i = 0; i <= 10'000; ++i) held.add_leases();
  EXPECT_TRUE(absl::IsInvalidArgument(Beat(held)));
}

TEST_F(RemoteStoreTest, BundlesAndArtifactsTravelWithTheLeaseThatNamesThem) {
  const std::string bundle(3 << 20, 'b');
  const std::string sha256 = Sha256Hex(bundle);
  for (size_t at = 0; at < bundle.size(); at += kMaxChunkBytes) {
    ASSERT_TRUE(front_end_->blobs()
                    .Write("ann", sha256, bundle.size(), at, absl::string_view(bundle).substr(at, kMaxChunkBytes))
                    .ok());
  }
  store::NewSubmission submission{
      "id", "ann", {}, kClusterTestNow, kClusterTestNow + absl::Hours(1), absl::Minutes(1), {100, 100}};
  submission.request.set_bundle_sha256(sha256);
  ASSERT_TRUE(Await<store::Submitted>([&](Callback<store::Submitted> done) {
                store_->Submit(submission, std::move(done));
              }).ok());
  const auto front_ends = Join({front_end_->address()});
  RemoteStore node(*front_ends);
  const Lease lease = **Acquire(node);
  const auto read = node.ReadBundle(lease);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, bundle);
  const std::string dump(2 << 20, 'd');
  const auto kept = node.KeepArtifact(lease, dump);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(*front_end_->blobs().ReadAll("ann", *kept), dump);
  ASSERT_TRUE(Finish(node, lease).ok());
  EXPECT_TRUE(absl::IsAborted(node.ReadBundle(lease).status()));
  EXPECT_TRUE(absl::IsAborted(node.KeepArtifact(lease, "late").status()));
}

}  // namespace
}  // namespace sassay::api
