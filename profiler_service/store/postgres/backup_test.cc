// What docs/cluster/backup.md promises: a dump of a store that is being written to is one moment of it, and a service
// goes on from there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/base/sha256.h"
#include "profiler_service/store/postgres/postgres_blobs.h"
#include "profiler_service/store/postgres/postgres_testing.h"

namespace sassay::store {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);
const absl::Time kLater = kNow + absl::Hours(1);

// Submits without end, and has what it submitted judged; remembers what was answered.
class Traffic {
 public:
  explicit Traffic(const PostgresOptions& options)
      : stores_(OpenStores(2, options)), thread_([this] { OnThreads(4, [this](int thread) { Drive(thread); }); }) {}
  ~Traffic() { Stop(); }

  void Stop() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::set<std::string> accepted() { return Copy(accepted_); }
  std::set<std::string> finished() { return Copy(finished_); }
  void WaitForFinished(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return finished_.size() >= count; };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Minutes(2)));
  }

 private:
  // Every third that was accepted waits, every third is left running, the others get their verdict.
  void Drive(int thread) {
    Store& store = *stores_[static_cast<size_t>(thread % 2)];
    for (int i = 0; !done_; ++i) {
      const std::string name = absl::StrCat(thread, "-", i);
      ASSERT_TRUE(SubmitTo(store, SubmissionOf(absl::StrCat("t", thread), name, name)).ok());
      Note(name, accepted_);
      if (i % 3 == 0) continue;
      const auto lease = AcquireFrom(store);
      ASSERT_TRUE(lease.ok() && lease->has_value()) << lease.status();
      ASSERT_TRUE(AppendTo(store, **lease).ok());
      if (i % 3 == 1) continue;
      ASSERT_TRUE(FinishIn(store, **lease, "g").ok());
      Note((*lease)->submission.id, finished_);
    }
  }
  void Note(const std::string& name, std::set<std::string>& names) {
    absl::MutexLock lock(&mutex_);
    names.insert(name);
  }
  std::set<std::string> Copy(const std::set<std::string>& names) {
    absl::MutexLock lock(&mutex_);
    return names;
  }

  const std::vector<std::unique_ptr<Store>> stores_;
  std::atomic<bool> done_ = false;
  absl::Mutex mutex_;
  std::set<std::string> accepted_, finished_;
  std::thread thread_;
};

class Backup : public testing::Test {
 protected:
  void SetUp() override {
    const auto server = PostgresServer::OfThisProgram();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *server;
    options_.uri = *server_->NewDatabase();
    options_.readers = 1;
  }
  std::string Ask(const std::string& uri, const std::string& sql) {
    const auto answer = server_->Run({"psql", "-qAt", "-d", uri, "-c", sql});
    return answer.ok() ? *answer : answer.status().ToString();
  }
  // Below the server's folder: its programs run as its user.
  std::string DumpFile() const {
    const size_t begin = options_.uri.find("host=") + 5;
    return options_.uri.substr(begin, options_.uri.find('&', begin) - begin) + "/sassay.dump";
  }

  PostgresServer* server_ = nullptr;
  PostgresOptions options_;
};

// All that `store` says of a submission fits together.
void ExpectWhole(Store& store, const std::string& tenant, const std::string& id) {
  const auto submission = store.Get(tenant, id);
  ASSERT_TRUE(submission.ok()) << submission.status();
  const auto events = store.Events(id, 0, 100);
  ASSERT_TRUE(events.ok()) << events.status();
  ASSERT_EQ(events->size(), submission->last_sequence) << id;
  int verdicts = 0;
  for (size_t i = 0; i < events->size(); ++i) {
    EXPECT_EQ((*events)[i].sequence(), i + 1) << id;
    verdicts += (*events)[i].has_verdict();
  }
  EXPECT_EQ(verdicts, submission->state == State::kFinished ? 1 : 0) << id;
}

TEST_F(Backup, ADumpOfALiveStoreIsOneMomentAndAServiceGoesOnFromThere) {
  const std::string bytes = "a bundle", sha256 = Sha256Hex(bytes);
  ASSERT_TRUE((*OpenPostgresBlobs(options_.uri, {}, 1))->Write("ann", sha256, bytes.size(), 0, bytes).ok());
  Traffic traffic(options_);
  traffic.WaitForFinished(30);
  const std::set<std::string> finished_before = traffic.finished(), accepted_before = traffic.accepted();
  const auto dumped =
      server_->Run({"pg_dump", "--format=custom", absl::StrCat("--file=", DumpFile()), "--dbname=" + options_.uri});
  ASSERT_TRUE(dumped.ok()) << dumped.status();
  traffic.WaitForFinished(finished_before.size() + 20);
  traffic.Stop();

  PostgresOptions restored = options_;
  restored.uri = *server_->NewDatabase();
  const auto loaded =
      server_->Run({"pg_restore", "--exit-on-error", "--no-owner", "--dbname=" + restored.uri, DumpFile()});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const auto opened = OpenPostgresStore(restored);
  ASSERT_TRUE(opened.ok()) << opened.status();
  Store& store = **opened;

  const auto tenant_of = [](const std::string& id) { return absl::StrCat("t", id.substr(0, 1)); };
  size_t known = 0;
  for (const std::string& id : traffic.accepted()) {
    if (accepted_before.count(id) == 0 && !store.Get(tenant_of(id), id).ok()) continue;
    ExpectWhole(store, tenant_of(id), id);
    ++known;
  }
  EXPECT_GE(known, accepted_before.size());
  EXPECT_LT(known, traffic.accepted().size()) << "the dump was made in the middle";
  for (const std::string& id : finished_before) {
    EXPECT_EQ(store.Get(tenant_of(id), id)->state, State::kFinished) << id;
  }
  EXPECT_EQ(Ask(restored.uri,
                "SELECT count(*) FILTER (WHERE state = 0), count(*) FILTER (WHERE state = 1) FROM "
                "sassay.submissions"),
            absl::StrCat(store.CountDepths()->queued, "|", store.CountDepths()->leased, "\n"));
  EXPECT_EQ(*(*OpenPostgresBlobs(restored.uri, {}, 1))->ReadAll("ann", sha256), bytes);

  // Leases of the dump are over by their time; then all that was not finished is, and new work is taken.
  const auto expired = store.LeasesExpiredBy(kLater);
  ASSERT_TRUE(expired.ok() && !expired->empty()) << expired.status();
  for (const Lease& lease : *expired) {
    ASSERT_TRUE(Await<sassay::v1::Event>([&](Callback<sassay::v1::Event> done) {
                  store.Return(lease, "restored", Ended::kKilled, {}, kNow, std::move(done));
                }).ok());
    EXPECT_TRUE(absl::IsAborted(FinishIn(store, lease).status())) << "whoever held it is too late";
  }
  ASSERT_TRUE(SubmitTo(store, SubmissionOf("new", "r", "new")).ok());
  for (;;) {
    const auto lease = AcquireFrom(store);
    ASSERT_TRUE(lease.ok()) << lease.status();
    if (!lease->has_value()) break;
    EXPECT_TRUE(FinishIn(store, **lease).ok());
  }
  EXPECT_EQ(store.CountDepths()->queued + store.CountDepths()->leased, 0u);
  EXPECT_EQ(store.Get("new", "new")->state, State::kFinished);
}

TEST_F(Backup, ADumpGoesIntoNoDatabaseThatHasTables) {
  ASSERT_TRUE(OpenPostgresStore(options_).ok());
  ASSERT_TRUE(
      server_->Run({"pg_dump", "--format=custom", absl::StrCat("--file=", DumpFile()), "--dbname=" + options_.uri})
          .ok());
  EXPECT_FALSE(
      server_->Run({"pg_restore", "--exit-on-error", "--no-owner", "--dbname=" + options_.uri, DumpFile()}).ok());
}

}  // namespace
}  // namespace sassay::store
