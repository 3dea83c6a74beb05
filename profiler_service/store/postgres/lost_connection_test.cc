// Servers that crash, stand still, and connections that are cut at the worst moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/mutex.h"
#include "common/base/fd.h"
#include "profiler_service/store/postgres/postgres_testing.h"

namespace sassay::store {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

// Stands between a store and its server, and does as it is told when the next COMMIT comes by.
class Proxy {
 public:
  enum class AtCommit { kPass, kCutBefore, kCutAfter, kHold };

  explicit Proxy(const std::string& server_folder) : server_(server_folder + "/.s.PGSQL.5432") {
    listener_ = Socket();
    const sockaddr_un address = AddressOf(folder() + "/.s.PGSQL.5432");
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_.get(), 64), 0);
    thread_ = std::thread([this] { Accept(); });
  }
  ~Proxy() {
    stopping_ = true;
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    Release();
    for (std::thread& pump : pumps_) pump.join();
  }

  std::string folder() const { return directory_.path(); }
  void Arm(AtCommit what) { armed_ = what; }
  // A connection that is held goes on.
  void Release() {
    absl::MutexLock lock(&mutex_);
    released_ = true;
  }
  int cuts() const { return cuts_; }
  bool WaitUntilHeld() {
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&held_), absl::Seconds(20));
  }

 private:
  static UniqueFd Socket() { return UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }
  static sockaddr_un AddressOf(const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return address;
  }

  void Accept() {
    while (!stopping_) {
      UniqueFd client(accept(listener_.get(), nullptr, nullptr));
      if (!client.valid()) continue;
      UniqueFd server = Socket();
      const sockaddr_un address = AddressOf(server_);
      if (connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) continue;
      pumps_.emplace_back([this, client = std::move(client), server = std::move(server)] { Pump(client, server); });
    }
  }

  static bool Move(const UniqueFd& from, const UniqueFd& to, std::string& bytes) {
    char buffer[1 << 16];
    const ssize_t got = recv(from.get(), buffer, sizeof buffer, 0);
    if (got <= 0) return false;
    bytes.assign(buffer, static_cast<size_t>(got));
    return to.valid() ? SendTo(to, bytes) : true;
  }
  static bool SendTo(const UniqueFd& to, const std::string& bytes) {
    return send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }

  void Hold() {
    absl::MutexLock lock(&mutex_);
    held_ = true;
    mutex_.Await(absl::Condition(&released_));
  }

  // Until one side ends, or is cut.
  void Pump(const UniqueFd& client, const UniqueFd& server) {
    const UniqueFd nobody;
    for (std::string bytes;;) {
      pollfd ends[] = {{client.get(), POLLIN, 0}, {server.get(), POLLIN, 0}};
      poll(ends, 2, 200);
      if (stopping_) return;
      if (ends[1].revents != 0 && !Move(server, client, bytes)) return;
      if (ends[0].revents == 0) continue;
      if (!Move(client, nobody, bytes)) return;
      const bool commit = absl::StrContains(bytes, absl::string_view("COMMIT\0", 7));
      const AtCommit what = commit ? armed_.exchange(AtCommit::kPass) : AtCommit::kPass;
      if (what == AtCommit::kHold) Hold();
      if (what == AtCommit::kCutBefore && ++cuts_ > 0) return;
      if (!SendTo(server, bytes)) return;
      if (what == AtCommit::kCutAfter && ++cuts_ > 0) {
        Move(server, nobody, bytes);  // the answer that nobody gets
        return;
      }
    }
  }

  const TemporaryDirectory directory_ = *TemporaryDirectory::Create("sassay_proxy", "/tmp");
  const std::string server_;
  UniqueFd listener_;
  std::atomic<bool> stopping_ = false;
  std::atomic<AtCommit> armed_ = AtCommit::kPass;
  std::atomic<int> cuts_ = 0;
  absl::Mutex mutex_;
  bool held_ = false, released_ = false;
  std::vector<std::thread> pumps_;
  std::thread thread_;
};

std::string FolderIn(const std::string& uri) {
  const size_t begin = uri.find("host=") + 5;
  return uri.substr(begin, uri.find('&', begin) - begin);
}

class LostConnection : public testing::Test {
 protected:
  LostConnection() {
    options_ = EmptiedStore();
    direct_ = options_;
    proxy_ = std::make_unique<Proxy>(FolderIn(options_.uri));
    options_.uri = absl::StrReplaceAll(options_.uri, {{FolderIn(options_.uri), proxy_->folder()}});
  }

  PostgresOptions options_, direct_;
  std::unique_ptr<Proxy> proxy_;
};

TEST_F(LostConnection, ACommitWhoseAnswerIsLostIsLookedUpAndNotDoneTwice) {
  const auto store = *OpenPostgresStore(options_);
  ASSERT_TRUE(SubmitTo(*store, SubmissionOf("ann", "first", "s1")).ok());
  proxy_->Arm(Proxy::AtCommit::kCutAfter);
  const auto answer = SubmitTo(*store, SubmissionOf("ann", "r", "s2"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(proxy_->cuts(), 1);
  EXPECT_TRUE(answer->created) << "a second run would have found the first one's row";
  EXPECT_EQ(store->CountDepths()->queued, 2u);

  // What is no repetition of itself: an event must not be there twice.
  const Lease lease = **AcquireFrom(*store);
  proxy_->Arm(Proxy::AtCommit::kCutAfter);
  ASSERT_TRUE(AppendTo(*store, lease).ok());
  EXPECT_EQ(proxy_->cuts(), 2);
  EXPECT_EQ(store->Events(lease.submission.id, 0, 10)->size(), 2u);
}

TEST_F(LostConnection, ATransactionThatWasCutBeforeItsCommitIsRunAgain) {
  const auto store = *OpenPostgresStore(options_);
  ASSERT_TRUE(SubmitTo(*store, SubmissionOf("ann", "r", "s1")).ok());
  const Lease lease = **AcquireFrom(*store);
  proxy_->Arm(Proxy::AtCommit::kCutBefore);
  ASSERT_TRUE(AppendTo(*store, lease).ok());
  proxy_->Arm(Proxy::AtCommit::kCutBefore);
  ASSERT_TRUE(FinishIn(*store, lease).ok());
  EXPECT_EQ(proxy_->cuts(), 2);
  EXPECT_EQ(store->Events("s1", 0, 10)->size(), 3u);
}

TEST_F(LostConnection, AProcessThatStandsStillInATransactionHoldsUpTheOthersForSecondsOnly) {
  const auto stuck = *OpenPostgresStore(options_);
  const auto other = *OpenPostgresStore(direct_);
  proxy_->Arm(Proxy::AtCommit::kHold);
  absl::Notification answered;
  stuck->Submit(SubmissionOf("ann", "r1", "s1"), [&](absl::StatusOr<Submitted> answer) {
    EXPECT_TRUE(answer.ok()) << answer.status();
    answered.Notify();
  });
  ASSERT_TRUE(proxy_->WaitUntilHeld());
  const absl::Time asked = absl::Now();
  const auto answer = SubmitTo(*other, SubmissionOf("ann", "r2", "s2"));
  EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_LT(absl::Now() - asked, absl::Seconds(10));
  proxy_->Release();
  answered.WaitForNotification();
  EXPECT_EQ(other->CountDepths()->queued, 2u) << "whoever was stuck does it again when it comes to itself";
}

TEST_F(LostConnection, ReadsComeBackByThemselves) {
  const auto store = *OpenPostgresStore(options_);
  ASSERT_TRUE(SubmitTo(*store, SubmissionOf("ann", "r", "s1")).ok());
  const auto server = *PostgresServer::OfThisProgram();
  ASSERT_TRUE(server
                  ->Run({"psql", "-q", "-d", direct_.uri, "-c",
                         "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE "
                         "'profiler-service %'"})
                  .ok());
  EXPECT_EQ(store->CountDepths()->queued, 1u);
  EXPECT_TRUE(SubmitTo(*store, SubmissionOf("ann", "r2", "s2")).ok());
}

// With a server of its own that writes to the disk.
TEST(CrashedServer, WhatWasAcceptedIsThereAfterwardsAndWhatWasNotCanBeAskedForAgain) {
  PostgresServer::Options durable;
  durable.durable = true;
  const auto server = PostgresServer::Start(durable);
  ASSERT_TRUE(server.ok()) << server.status();
  PostgresOptions options;
  options.uri = *(*server)->NewDatabase();
  options.readers = 1;
  options.recover = absl::Milliseconds(200);
  options.look = absl::Seconds(30);
  const auto stores = OpenStores(2, options);
  ASSERT_EQ(stores.size(), 2u);
  absl::Mutex mutex;
  std::set<std::string> accepted;
  std::atomic<bool> done = false;
  std::atomic<int> count = 0, unavailable = 0;
  std::thread clients([&] {
    OnThreads(8, [&](int thread) {
      for (int i = 0; !done; ++i) {
        const std::string name = absl::StrCat(thread, "-", i);
        for (;;) {
          const auto answer = SubmitTo(*stores[static_cast<size_t>(thread % 2)], SubmissionOf("ann", name, name));
          if (answer.ok()) break;
          ASSERT_TRUE(absl::IsUnavailable(answer.status())) << answer.status();
          ++unavailable;
          if (done) return;
        }
        ++count;
        absl::MutexLock lock(&mutex);
        accepted.insert(name);
      }
    });
  });
  const auto until = [&](int more) {
    for (const int goal = count + more; count < goal;) absl::SleepFor(absl::Milliseconds(5));
  };
  for (int crash = 0; crash < 3; ++crash) {
    until(100);
    (*server)->Crash();
    ASSERT_TRUE((*server)->StartAgain().ok());
  }
  until(50);
  done = true;
  clients.join();
  for (const std::string& name : accepted) EXPECT_TRUE(stores[0]->Get("ann", name).ok()) << name;
  EXPECT_EQ(stores[0]->CountDepths()->queued, accepted.size());
}

TEST(PausedServer, AnswersUnavailableInTimeAndGoesOnAfterwards) {
  const auto server = PostgresServer::Start();
  ASSERT_TRUE(server.ok()) << server.status();
  PostgresOptions options;
  options.uri = *(*server)->NewDatabase();
  options.readers = 1;
  options.recover = absl::Milliseconds(100);
  options.look = absl::Milliseconds(100);
  options.answer = absl::Seconds(1);
  const auto store = *OpenPostgresStore(options);
  ASSERT_TRUE(SubmitTo(*store, SubmissionOf("ann", "r1", "s1")).ok());
  (*server)->Pause();
  const absl::Time asked = absl::Now();
  EXPECT_TRUE(absl::IsUnavailable(store->CountDepths().status()));
  EXPECT_TRUE(absl::IsUnavailable(SubmitTo(*store, SubmissionOf("ann", "r2", "s2")).status()));
  EXPECT_LT(absl::Now() - asked, absl::Seconds(40));
  (*server)->Continue();
  absl::StatusOr<Submitted> again = absl::UnavailableError("");
  while (absl::IsUnavailable(again.status())) again = SubmitTo(*store, SubmissionOf("ann", "r2", "s2b"));
  EXPECT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(store->CountDepths()->queued, 2u);
}

}  // namespace
}  // namespace sassay::store
