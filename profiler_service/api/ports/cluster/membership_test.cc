// A node comes, lives and goes, as its front end keeps it.
#include "profiler_service/cluster/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "absl/synchronization/notification.h"
#include "profiler_service/api/ports/cluster/testing/front_end_fixture.h"
#include "profiler_service/store/sqlite/sqlite_store.h"
#include "profiler_service/store/testing/forwarding_store.h"

namespace sassay::api {
namespace {

using cluster::FrontEnds;
using cluster::Membership;
using cluster::MembershipOptions;
using testing::HasSubstr;

// A store that wakes whoever waits for what is kept of a node.
class WatchedNodes : public store::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  absl::Status PutNode(const store::NodeRecord& node) override {
    const absl::Status put = ForwardingStore::PutNode(node);
    absl::MutexLock lock(&mutex_);
    last_ = node;
    ++puts_;
    return put;
  }
  bool Await(const std::function<bool(const store::NodeRecord&)>& fits) {
    absl::MutexLock lock(&mutex_);
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return puts_ > 0 && fits(last_); };
    return mutex_.AwaitWithTimeout(absl::Condition(&there), absl::Seconds(60));
  }
  void Forget() {
    absl::MutexLock lock(&mutex_);
    puts_ = 0;
  }

 private:
  absl::Mutex mutex_;
  store::NodeRecord last_ ABSL_GUARDED_BY(mutex_);
  int puts_ ABSL_GUARDED_BY(mutex_) = 0;
};

class MembershipTest : public testing::Test {
 protected:
  void Serve(int port = 0) {
    front_end_ = std::make_unique<FrontEndFixture>(directory_.path(), *store_, registered_, port);
  }
  std::unique_ptr<FrontEnds> Open(const std::string& name, const std::string& token = "pool") {
    return *FrontEnds::Open(NodeOptions({front_end_->address()}, name, {"GPU-" + name}, token));
  }
  MembershipOptions Patient() {
    return {[] { return std::vector<sassay::v1::GpuPulse>(); }, [] { return sassay::v1::HeldLeases(); },
            [this] { return give_up_.load(); }};
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("membership_test");
  std::unique_ptr<store::Store> store_ = *store::OpenSqliteStore(directory_.path() / "db", store::Hears::kEverybody);
  WatchedNodes registered_{*store_};
  std::atomic<bool> give_up_ = false;
  std::unique_ptr<FrontEndFixture> front_end_;
};

TEST_F(MembershipTest, ComesLivesDrainsAndLeaves) {
  Serve();
  const auto front_ends = Open("a");
  const auto member = Membership::Join(*front_ends, Patient());
  ASSERT_TRUE(member.ok()) << member.status();
  EXPECT_TRUE(registered_.Await([](const store::NodeRecord& node) { return node.name == "pool/a" && !node.draining; }));
  (*member)->Drain();
  EXPECT_TRUE(registered_.Await([](const store::NodeRecord& node) { return node.draining; }));
  (*member)->Leave();
  EXPECT_TRUE(registered_.Await([](const store::NodeRecord& node) { return node.instance.empty(); }));
  (*member)->Leave();
}

TEST_F(MembershipTest, WaitsForAFrontEndThatStartsLater) {
  Serve();
  const int port = front_end_->port();
  const auto front_ends = Open("a");
  front_end_.reset();
  absl::StatusOr<std::unique_ptr<Membership>> member = absl::UnknownError("");
  std::thread joining([&] { member = Membership::Join(*front_ends, Patient()); });
  Serve(port);
  joining.join();
  EXPECT_TRUE(member.ok()) << member.status();
}

TEST_F(MembershipTest, GivesUpWhenToldTo) {
  Serve();
  const auto front_ends = Open("a");
  front_end_.reset();
  give_up_ = true;
  EXPECT_TRUE(absl::IsCancelled(Membership::Join(*front_ends, Patient()).status()));
}

TEST_F(MembershipTest, SaysAgainWhatItHasToAFrontEndThatDoesNotKnowIt) {
  Serve();
  const auto front_ends = Open("a");
  const auto member = Membership::Join(*front_ends, Patient());
  ASSERT_TRUE(member.ok()) << member.status();
  ASSERT_TRUE(store_->DropNode("pool/a", front_ends->node().instance()).ok());
  registered_.Forget();
  EXPECT_TRUE(registered_.Await([](const store::NodeRecord& node) { return node.name == "pool/a"; }));
  EXPECT_TRUE((*member)->heard());
}

TEST_F(MembershipTest, AWrongTokenIsNotWaitedFor) {
  Serve();
  const absl::Status nobody = Membership::Join(*Open("a", "nobody"), Patient()).status();
  EXPECT_TRUE(absl::IsUnauthenticated(nobody)) << nobody;
  const absl::Status tenant = Membership::Join(*Open("a", "ann"), Patient()).status();
  EXPECT_TRUE(absl::IsPermissionDenied(tenant)) << tenant;
  EXPECT_THAT(std::string(tenant.message()), HasSubstr("--role node"));
}

TEST_F(MembershipTest, ANameThatALivingProcessHasIsWaitedForUntilToldToEnd) {
  Serve();
  const auto first = Open("a");
  const auto member = Membership::Join(*first, Patient());
  ASSERT_TRUE(member.ok()) << member.status();
  const auto second = Open("a");
  give_up_ = true;
  EXPECT_TRUE(absl::IsCancelled(Membership::Join(*second, Patient()).status()));
  give_up_ = false;
  absl::StatusOr<std::unique_ptr<Membership>> next = absl::UnknownError("");
  std::thread joining([&] { next = Membership::Join(*second, Patient()); });
  (*member)->Leave();
  joining.join();
  EXPECT_TRUE(next.ok()) << next.status();
}

}  // namespace
}  // namespace sassay::api
