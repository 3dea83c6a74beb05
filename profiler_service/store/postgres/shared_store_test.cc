// Several front ends and nodes on one database: what must hold although their transactions run together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "profiler_service/store/postgres/postgres_testing.h"

namespace sassay::store {
namespace {

using sassay::v1::Event;
using testing::ElementsAre;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

TEST(SharedStore, FrontEndsTogetherAcceptNoMoreThanATenantMayHave) {
  const auto stores = OpenStores(3, EmptiedStore());
  std::atomic<int> accepted = 0, refused = 0;
  OnThreads(12, [&](int thread) {
    for (int i = 0; i < 20; ++i) {
      const std::string name = absl::StrCat(thread, "-", i);
      const auto answer =
          SubmitTo(*stores[static_cast<size_t>(thread % 3)], SubmissionOf("ann", name, name, {57, 1000}));
      (answer.ok() ? accepted : refused) += 1;
      EXPECT_TRUE(answer.ok() || absl::IsResourceExhausted(answer.status())) << answer.status();
    }
  });
  EXPECT_EQ(accepted, 57);
  EXPECT_EQ(stores[0]->CountDepths()->queued, 57u);
  EXPECT_TRUE(SubmitTo(*stores[1], SubmissionOf("bob", "r", "b", {57, 58})).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(SubmitTo(*stores[2], SubmissionOf("cy", "r", "c", {57, 58})).status()));
}

TEST(SharedStore, ARequestThatSeveralFrontEndsHearAtOnceIsOneSubmission) {
  const auto stores = OpenStores(3, EmptiedStore());
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> created = 0;
    absl::Mutex mutex;
    std::set<std::string> ids;
    OnThreads(6, [&](int thread) {
      const auto answer = SubmitTo(*stores[static_cast<size_t>(thread % 3)],
                                   SubmissionOf("ann", absl::StrCat(round), absl::StrCat(round, "-", thread)));
      ASSERT_TRUE(answer.ok()) << answer.status();
      created += answer->created;
      absl::MutexLock lock(&mutex);
      ids.insert(answer->id);
    });
    EXPECT_EQ(created, 1);
    EXPECT_EQ(ids.size(), 1u);
  }
}

// Nodes run what they take; a front end cancels every third meanwhile.
TEST(SharedStore, EverySubmissionIsTakenOnceAndHasOneVerdictAndDenseEvents) {
  constexpr int kSubmissions = 150, kNodes = 4;
  const auto stores = OpenStores(kNodes + 1, EmptiedStore());
  Store& front_end = *stores[kNodes];
  for (int i = 0; i < kSubmissions; ++i) {
    ASSERT_TRUE(
        SubmitTo(front_end, SubmissionOf(absl::StrCat("t", i % 5), absl::StrCat(i), absl::StrCat("s", i))).ok());
  }
  std::atomic<int> taken = 0, ended_while_queued = 0;
  OnThreads(2 * kNodes + 2, [&](int thread) {
    if (thread < 2) {
      for (int i = thread; i < kSubmissions; i += 3) {
        const auto cancelled = CancelIn(front_end, absl::StrCat("t", i % 5), absl::StrCat("s", i));
        ASSERT_TRUE(cancelled.ok()) << cancelled.status();
        ended_while_queued += cancelled->verdict.has_value();
      }
      return;
    }
    Store& node = *stores[static_cast<size_t>(thread % kNodes)];
    for (;;) {
      const auto lease = AcquireFrom(node, absl::StrCat("node ", thread));
      ASSERT_TRUE(lease.ok()) << lease.status();
      if (!lease->has_value()) {
        if (front_end.CountDepths()->queued == 0) return;
        continue;
      }
      ++taken;
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(AppendTo(node, **lease).ok());
      ASSERT_TRUE(node.Renew({**lease}, kNow + absl::Minutes(1)).ok());
      auto finished = FinishIn(node, **lease);
      if (absl::IsFailedPrecondition(finished.status())) {
        finished = FinishIn(node, **lease, "", sassay::v1::VERDICT_STATUS_CANCELLED);
      }
      ASSERT_TRUE(finished.ok()) << finished.status();
    }
  });
  EXPECT_EQ(taken + ended_while_queued, kSubmissions);
  for (int i = 0; i < kSubmissions; ++i) {
    const auto events = front_end.Events(absl::StrCat("s", i), 0, 100);
    ASSERT_TRUE(events.ok());
    int verdicts = 0;
    for (size_t at = 0; at < events->size(); ++at) {
      EXPECT_EQ((*events)[at].sequence(), at + 1);
      verdicts += (*events)[at].has_verdict();
    }
    EXPECT_EQ(verdicts, 1) << i;
    EXPECT_TRUE(events->back().has_verdict()) << i;
  }
  EXPECT_EQ(front_end.CountDepths()->queued, 0u);
  EXPECT_EQ(front_end.CountDepths()->leased, 0u);
  uint64_t verdicts = 0;
  const auto usage = *front_end.Usage("", absl::Now());
  for (const sassay::v1::TenantUsage& tenant : usage) verdicts += tenant.verdicts();
  EXPECT_EQ(verdicts, static_cast<uint64_t>(kSubmissions));
}

// One process excludes a verdict while others copy it: each copy is run again, or was never made.
TEST(SharedStore, NoCopyOfAVerdictIsMissedByWhatExcludesIt) {
  constexpr int kCopies = 5;
  const auto stores = OpenStores(3, EmptiedStore());
  int copied = 0;
  for (int round = 0; round < 15; ++round) {
    const std::string name = absl::StrCat("round", round);
    const auto submission = [&](const std::string& id, bool copies) {
      NewSubmission submission = SubmissionOf("ann", id, id);
      submission.arch = name;  // a pool of this round's own
      submission.reuse.key = name;
      if (!copies) return submission;
      submission.reuse.copy = [](const sassay::v1::Verdict& earlier, absl::Time) {
        sassay::v1::Verdict copy = earlier;
        copy.set_reused_from(earlier.submission_id());
        return absl::make_optional(copy);
      };
      return submission;
    };
    ASSERT_TRUE(SubmitTo(*stores[0], submission(name, false)).ok());
    Asker asker("me");
    asker.pools = {{name, 1, {"local"}}};
    const auto lease = Await<absl::optional<Lease>>([&](Callback<absl::optional<Lease>> done) {
      stores[0]->Acquire(asker, kNow, kNow + absl::Seconds(30), std::move(done));
    });
    ASSERT_TRUE(lease.ok() && lease->has_value()) << lease.status();
    ASSERT_TRUE(FinishIn(*stores[0], **lease, name).ok());
    std::atomic<int> ended = 0;
    OnThreads(3, [&](int thread) {
      if (thread == 0) {
        const auto excluded = Await<Exclusions>([&](Callback<Exclusions> done) {
          stores[0]->Exclude({name, kNow, kNow + absl::Minutes(1), name, "hot"}, 3, kNow, std::move(done));
        });
        ASSERT_TRUE(excluded.ok()) << excluded.status();
        return;
      }
      for (int i = 0; i < kCopies; ++i) {
        const auto answer =
            SubmitTo(*stores[static_cast<size_t>(thread)], submission(absl::StrCat(name, "-", thread, "-", i), true));
        ASSERT_TRUE(answer.ok()) << answer.status();
        ended += answer->verdict.has_value();
      }
    });
    copied += ended;
    EXPECT_EQ(stores[1]->CountDepths()->queued, static_cast<uint64_t>((1 + 2 * kCopies) * (round + 1))) << round;
  }
  std::cout << copied << " of " << 15 * 2 * kCopies << " were copied before their original was excluded\n";
}

// Reads all pages from `after` on until `done`, and once more then.
template <typename Page>
std::vector<uint64_t> Follow(const std::atomic<bool>& done, Page page) {
  std::vector<uint64_t> places;
  for (bool last = false;; last = done) {
    for (;;) {
      const std::vector<uint64_t> more = page(places.empty() ? 0 : places.back());
      if (more.empty()) break;
      places.insert(places.end(), more.begin(), more.end());
    }
    if (last) return places;
  }
}

TEST(SharedStore, WhoeverPagesByPlaceSkipsNothingThatCommitsLate) {
  constexpr int kWriters = 4, kEach = 60;
  const auto stores = OpenStores(kWriters + 1, EmptiedStore());
  Store& reader = *stores[kWriters];
  std::atomic<bool> done = false;
  std::vector<uint64_t> incidents, audited;
  std::thread incident_reader([&] {
    incidents = Follow(done, [&](uint64_t after) {
      std::vector<uint64_t> places;
      const auto records = *reader.IncidentsSince(absl::UnixEpoch(), after, 7);
      for (const IncidentRecord& record : records) places.push_back(record.place);
      return places;
    });
  });
  std::thread audit_reader([&] {
    audited = Follow(done, [&](uint64_t after) {
      std::vector<uint64_t> places;
      const auto records = *stores[0]->AuditLog(after, 7);
      for (const AuditRecord& record : records) places.push_back(record.sequence);
      return places;
    });
  });
  OnThreads(2 * kWriters, [&](int thread) {
    Store& store = *stores[static_cast<size_t>(thread % kWriters)];
    for (int i = 0; i < kEach / 2; ++i) {
      sassay::v1::Incident incident;
      incident.set_id(absl::StrCat(thread, "-", i));
      EXPECT_TRUE(store.RecordIncident(incident).ok());
      EXPECT_TRUE(store.Audit({0, kNow, absl::StrCat(thread), "a", "b", "OK", ""}).ok());
    }
  });
  done = true;
  incident_reader.join();
  audit_reader.join();
  EXPECT_EQ(std::set<uint64_t>(incidents.begin(), incidents.end()).size(), size_t{kWriters * kEach});
  EXPECT_EQ(audited.size(), size_t{kWriters * kEach});
  for (size_t i = 0; i < audited.size(); ++i) ASSERT_EQ(audited[i], i + 1);
}

TEST(SharedStore, WhoeverPagesByPlaceSeesEveryExclusion) {
  constexpr int kNodes = 3, kEach = 30;
  const auto stores = OpenStores(kNodes + 1, EmptiedStore());
  Store& reader = *stores[kNodes];
  ASSERT_TRUE(Await<Exclusions>([&](Callback<Exclusions> done) {
                reader.Exclude({"g", kNow, absl::InfiniteFuture(), "i", "hot"}, 1, kNow, std::move(done));
              }).ok());
  for (int i = 0; i < kNodes * kEach; ++i) {
    ASSERT_TRUE(SubmitTo(reader, SubmissionOf("ann", absl::StrCat(i), absl::StrCat("s", i))).ok());
  }
  std::atomic<bool> done = false;
  std::vector<uint64_t> seen;
  std::thread following([&] {
    seen = Follow(done, [&](uint64_t after) {
      std::vector<uint64_t> places;
      const auto events = *reader.ExcludedSince("ann", absl::UnixEpoch(), after, 5);
      for (const ExcludedEvent& event : events) places.push_back(event.place);
      return places;
    });
  });
  std::atomic<int> excluded = 0;
  OnThreads(2 * kNodes, [&](int thread) {
    Store& node = *stores[static_cast<size_t>(thread % kNodes)];
    for (int i = 0; i < kEach / 2; ++i) {
      const auto lease = AcquireFrom(node);
      ASSERT_TRUE(lease.ok() && lease->has_value()) << lease.status();
      const auto events = FinishIn(node, **lease, "g");
      ASSERT_TRUE(events.ok()) << events.status();
      excluded += static_cast<int>(events->size()) - 1;
    }
  });
  done = true;
  following.join();
  EXPECT_EQ(excluded, kNodes * kEach);
  EXPECT_EQ(std::set<uint64_t>(seen.begin(), seen.end()).size(), static_cast<size_t>(excluded));
}

TEST(SharedStore, AVerdictAndAWindowThatMeetDoNotMissEachOther) {
  const auto stores = OpenStores(2, EmptiedStore());
  for (int round = 0; round < 60; ++round) {
    const std::string id = absl::StrCat("s", round), gpu = absl::StrCat("g", round);
    ASSERT_TRUE(SubmitTo(*stores[0], SubmissionOf("ann", id, id)).ok());
    const Lease lease = **AcquireFrom(*stores[0]);
    OnThreads(2, [&](int thread) {
      if (thread == 0) {
        EXPECT_TRUE(FinishIn(*stores[0], lease, gpu, sassay::v1::VERDICT_STATUS_CORRECT, 0).ok());
      } else {
        EXPECT_TRUE(Await<Exclusions>([&](Callback<Exclusions> done) {
                      stores[1]->Exclude({gpu, kNow, absl::InfiniteFuture(), "i", "hot"}, 0, kNow, std::move(done));
                    }).ok());
      }
    });
    const auto attempts = *stores[0]->AttemptsOf(id);
    ASSERT_EQ(attempts.size(), 1u);
    EXPECT_TRUE(attempts[0].excluded.has_value()) << round;
  }
}

TEST(SharedStore, ANameThatTheDatabaseCannotKeepIsTheCallersMistakeAlone) {
  const auto stores = OpenStores(1, EmptiedStore());
  EXPECT_TRUE(absl::IsInvalidArgument(SubmitTo(*stores[0], SubmissionOf("ann", std::string("r\0", 2), "s1")).status()));
  EXPECT_TRUE(SubmitTo(*stores[0], SubmissionOf("ann", "r", "s2")).ok());
  EXPECT_EQ(stores[0]->CountDepths()->queued, 1u);
}

TEST(SharedStore, ALeaseThatAnotherProcessTookBackCannotWrite) {
  const auto stores = OpenStores(2, EmptiedStore());
  ASSERT_TRUE(SubmitTo(*stores[0], SubmissionOf("ann", "r", "s")).ok());
  const Lease old = **AcquireFrom(*stores[0], "dead node");
  const auto expired = *stores[1]->LeasesExpiredBy(kNow + absl::Minutes(1));
  ASSERT_EQ(expired.size(), 1u);
  ASSERT_TRUE(Await<Event>([&](Callback<Event> done) {
                stores[1]->Return(expired[0], "gone", Ended::kKilled, {}, kNow, std::move(done));
              }).ok());
  const Lease fresh = **AcquireFrom(*stores[1], "second node");
  EXPECT_TRUE(absl::IsAborted(AppendTo(*stores[0], old).status()));
  EXPECT_TRUE(absl::IsAborted(FinishIn(*stores[0], old).status()));
  EXPECT_THAT(*stores[0]->Renew({old}, kNow + absl::Hours(1)), ElementsAre(Renewal::kLost));
  EXPECT_TRUE(FinishIn(*stores[1], fresh).ok());
}

// What an observer has heard.
class Ear {
 public:
  explicit Ear(Store& store) : watch_(store.Observe([this](const Changes& changes) { Hear(changes); })) {}

  bool WaitFor(const std::function<bool(const Changes&)>& holds, absl::Duration patience = absl::Seconds(20)) {
    absl::MutexLock lock(&mutex_);
    const auto met = [&]() { return holds(heard_); };
    return mutex_.AwaitWithTimeout(absl::Condition(&met), patience);
  }
  Changes heard() {
    absl::MutexLock lock(&mutex_);
    return heard_;
  }

 private:
  void Hear(const Changes& changes) {
    absl::MutexLock lock(&mutex_);
    heard_.everything |= changes.everything;
    heard_.work |= changes.work;
    heard_.holds |= changes.holds;
    heard_.exclusions |= changes.exclusions;
    heard_.incidents |= changes.incidents;
    heard_.submissions.insert(heard_.submissions.end(), changes.submissions.begin(), changes.submissions.end());
    heard_.cancelling.insert(heard_.cancelling.end(), changes.cancelling.begin(), changes.cancelling.end());
  }

  absl::Mutex mutex_;
  Changes heard_;
  std::unique_ptr<Watch> watch_;
};

TEST(SharedStore, OthersHearOfEveryKindOfChangeAndTheOneThatMadeItDoesNot) {
  PostgresOptions options = EmptiedStore();
  options.look_anyway = absl::Hours(1);
  const auto stores = OpenStores(2, options);
  Ear own(*stores[0]), other(*stores[1]);
  // After a first look at everything a session listens.
  ASSERT_TRUE(own.WaitFor([](const Changes& heard) { return heard.everything; }));
  ASSERT_TRUE(other.WaitFor([](const Changes& heard) { return heard.everything; }));
  EXPECT_TRUE(stores[0]->shared());

  ASSERT_TRUE(SubmitTo(*stores[0], SubmissionOf("ann", "r", "s")).ok());
  EXPECT_TRUE(other.WaitFor([](const Changes& heard) { return heard.work; }));
  const Lease lease = **AcquireFrom(*stores[0]);
  ASSERT_TRUE(AppendTo(*stores[0], lease).ok());
  EXPECT_TRUE(other.WaitFor([](const Changes& heard) { return heard.submissions.size() == 1; }));
  EXPECT_EQ(other.heard().submissions.front(), "s");
  ASSERT_TRUE(CancelIn(*stores[0], "ann", "s").ok());
  EXPECT_TRUE(other.WaitFor([](const Changes& heard) { return heard.cancelling.size() == 1; }));
  EXPECT_EQ(other.heard().submissions.size(), 1u);
  ASSERT_TRUE(stores[0]->PlaceHold({"g", "operator", sassay::v1::GPU_STATE_PAUSED, "", "", kNow, "root"}).ok());
  EXPECT_TRUE(other.WaitFor([](const Changes& heard) { return heard.holds; }));
  ASSERT_TRUE(stores[0]->RecordIncident({}).ok());
  EXPECT_TRUE(other.WaitFor([](const Changes& heard) { return heard.incidents; }));
  ASSERT_TRUE(Await<Exclusions>([&](Callback<Exclusions> done) {
                stores[0]->Exclude({"g", kNow, absl::InfiniteFuture(), "i", "hot"}, 1, kNow, std::move(done));
              }).ok());
  EXPECT_TRUE(other.WaitFor([](const Changes& heard) { return heard.exclusions; }));
  const Changes heard = own.heard();
  EXPECT_FALSE(heard.work || heard.holds || heard.exclusions || heard.incidents || !heard.submissions.empty());
}

TEST(SharedStore, PartsOfOneProcessHearEachOtherWhereTheyAreToldOfEverybody) {
  PostgresOptions options = EmptiedStore();
  options.look_anyway = absl::Hours(1);
  options.hears = Hears::kEverybody;
  const auto stores = OpenStores(2, options);
  Ear own(*stores[0]), other(*stores[1]);
  ASSERT_TRUE(other.WaitFor([](const Changes& heard) { return heard.everything; }));
  ASSERT_TRUE(SubmitTo(*stores[0], SubmissionOf("ann", "r", "s")).ok());
  EXPECT_TRUE(own.WaitFor([](const Changes& heard) { return heard.work; }));
  EXPECT_TRUE(other.WaitFor([](const Changes& heard) { return heard.work; }));
}

TEST(SharedStore, WithoutAnyNotificationEverythingIsLookedAtEveryFewSeconds) {
  PostgresOptions options = EmptiedStore();
  options.look_anyway = absl::Milliseconds(100);
  const auto stores = OpenStores(1, options);
  std::atomic<int> looks = 0;
  absl::Notification enough;
  const auto watch = stores[0]->Observe([&](const Changes& changes) {
    if (changes.everything && ++looks == 4) enough.Notify();
  });
  EXPECT_TRUE(enough.WaitForNotificationWithTimeout(absl::Seconds(20)));
}

}  // namespace
}  // namespace sassay::store
