#include "agent/models/retrying_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "common/base/steady_time.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Fails as it is told, then answers.
class ScriptedBackend : public Backend {
 public:
  absl::optional<Failure> Try(const GenerationRequest&, const GenerationListener&, Stopper& stopper,
                              v1::Answered& answer) override {
    if (takes_ > absl::ZeroDuration()) stopper.Sleep(takes_);
    on_try_();
    absl::MutexLock lock(&mutex_);
    ++tries_;
    if (failures_.empty()) {
      answer.set_text("good");
      return absl::nullopt;
    }
    const Failure failure = failures_.front();
    if (!endless_) failures_.pop_front();
    return failure;
  }

  absl::Mutex mutex_;
  std::deque<Failure> failures_;
  bool endless_ = false;
  // How long a try takes.
  absl::Duration takes_;
  int tries_ = 0;
  std::function<void()> on_try_ = [] {};
};

Failure Fails(Failure::Kind kind, absl::optional<absl::Duration> retry_after = absl::nullopt) {
  return {kind, absl::UnavailableError("503 Service Unavailable"), retry_after};
}

class RetryingModelTest : public ::testing::Test {
 protected:
  RetryingModelTest() {
    patience_.first_wait = absl::Milliseconds(1);
    patience_.longest_wait = absl::Milliseconds(4);
    listener_.on_note = [this](absl::string_view note) { notes_.emplace_back(note); };
    request_.turn = 3;
  }

  absl::StatusOr<v1::Answered> Generate() {
    if (model_ == nullptr) {
      model_ = std::make_unique<RetryingModel>(std::unique_ptr<Backend>(backend_), patience_, 0);
    }
    return model_->Generate(request_, listener_, stopper_);
  }

  ScriptedBackend* const backend_ = new ScriptedBackend;
  Patience patience_;
  GenerationRequest request_;
  GenerationListener listener_;
  std::vector<std::string> notes_;
  Stopper stopper_;
  std::unique_ptr<RetryingModel> model_;
};

TEST_F(RetryingModelTest, WhatPassesIsTriedAgainAndCounted) {
  backend_->failures_ = {Fails(Failure::Kind::kBusy), Fails(Failure::Kind::kBroken),
                         Fails(Failure::Kind::kUnreachable)};
  const auto answer = Generate();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->text(), "good");
  EXPECT_EQ(answer->retries(), 3u);
  EXPECT_EQ(answer->turn(), 3u);
  EXPECT_TRUE(answer->has_wall());
  EXPECT_EQ(notes_.size(), 3u);
  EXPECT_THAT(notes_[0], HasSubstr("503 Service Unavailable, trying again in "));
}

TEST_F(RetryingModelTest, WhatIsFinalIsNotTriedAgain) {
  backend_->failures_ = {{Failure::Kind::kFinal, absl::UnauthenticatedError("401"), {}}};
  EXPECT_EQ(Generate().status(), absl::UnauthenticatedError("401"));
  EXPECT_EQ(backend_->tries_, 1);
}

TEST_F(RetryingModelTest, TheServersWishIsHeeded) {
  backend_->failures_ = {Fails(Failure::Kind::kBusy, absl::Milliseconds(400))};
  const absl::Time began = SteadyNow();
  EXPECT_TRUE(Generate().ok());
  EXPECT_GE(SteadyNow() - began, absl::Milliseconds(400));
}

TEST_F(RetryingModelTest, AWishBeyondPatienceEndsItAtOnce) {
  backend_->failures_ = {Fails(Failure::Kind::kBusy, absl::Hours(3))};
  const absl::Status status = Generate().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("asked again in 3h"));
}

TEST_F(RetryingModelTest, AnAnswerThatAlwaysBreaksIsGivenUp) {
  backend_->failures_ = {Fails(Failure::Kind::kBroken)};
  backend_->endless_ = true;
  patience_.broken_tries = 4;
  const absl::Status status = Generate().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("given up after 4 tries"));
  EXPECT_EQ(backend_->tries_, 4);
}

TEST_F(RetryingModelTest, NobodyThereIsWaitedForAsLongAsPatienceLasts) {
  backend_->failures_ = {Fails(Failure::Kind::kUnreachable)};
  backend_->endless_ = true;
  patience_.give_up_after = absl::Milliseconds(100);
  EXPECT_EQ(Generate().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_GT(backend_->tries_, 10);
}

TEST_F(RetryingModelTest, ALongAnswerThatBreaksIsNoLossOfPatience) {
  backend_->failures_ = {Fails(Failure::Kind::kBroken), Fails(Failure::Kind::kBroken)};
  backend_->takes_ = absl::Milliseconds(200);
  patience_.give_up_after = absl::Milliseconds(100);
  EXPECT_EQ(Generate()->retries(), 2u);
}

TEST_F(RetryingModelTest, WhatTheBackendLearntIsNoFailure) {
  backend_->failures_ = {{Failure::Kind::kAdjusted, absl::InvalidArgumentError("max_tokens"), {}}};
  EXPECT_EQ(Generate()->retries(), 0u);
  EXPECT_TRUE(notes_.empty());
}

TEST_F(RetryingModelTest, ABackendThatNeverStopsLearningIsStopped) {
  backend_->failures_ = {{Failure::Kind::kAdjusted, absl::InvalidArgumentError("max_tokens"), {}}};
  backend_->endless_ = true;
  EXPECT_EQ(Generate().status(), absl::InvalidArgumentError("max_tokens"));
}

TEST_F(RetryingModelTest, TheStopperEndsAWait) {
  backend_->failures_ = {Fails(Failure::Kind::kUnreachable, absl::Minutes(10))};
  listener_.on_note = [this](absl::string_view) { stopper_.Stop(); };
  EXPECT_EQ(Generate().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(RetryingModelTest, WhoStopsTryingEndsAWaitAndLetsAnAnswerArrive) {
  Stopper tries;
  request_.tries = &tries;
  backend_->failures_ = {Fails(Failure::Kind::kUnreachable, absl::Minutes(10))};
  listener_.on_note = [&](absl::string_view) { tries.Stop(); };
  EXPECT_EQ(Generate().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(backend_->tries_, 1);
  EXPECT_FALSE(stopper_.stopped());
  EXPECT_EQ(Generate().status().code(), absl::StatusCode::kCancelled) << "nothing is asked any more";
  EXPECT_EQ(backend_->tries_, 1);
}

TEST_F(RetryingModelTest, AnAnswerThatBreaksAfterNobodyTriesAnyMoreIsNotAskedForAgain) {
  Stopper tries;
  request_.tries = &tries;
  backend_->failures_ = {Fails(Failure::Kind::kBroken)};
  backend_->on_try_ = [&] { tries.Stop(); };
  EXPECT_EQ(Generate().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(backend_->tries_, 1);
  EXPECT_THAT(notes_, ElementsAre());
}

TEST_F(RetryingModelTest, OneRefusalHoldsEverybodyBack) {
  backend_->failures_ = {Fails(Failure::Kind::kBusy, absl::Milliseconds(300))};
  Generate().IgnoreError();
  EXPECT_EQ(backend_->tries_, 2);
  backend_->failures_ = {Fails(Failure::Kind::kBusy, absl::Milliseconds(500))};
  const absl::Time began = SteadyNow();
  absl::Notification refused;
  listener_.on_note = [&](absl::string_view) { refused.Notify(); };
  std::thread other([&] { Generate().IgnoreError(); });
  refused.WaitForNotification();
  GenerationListener quiet;
  EXPECT_TRUE(model_->Generate(request_, quiet, stopper_).ok());
  EXPECT_GE(SteadyNow() - began, absl::Milliseconds(500));
  other.join();
}

}  // namespace
}  // namespace sassay::agent
