#include "agent/rollout/rollout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "agent/rollout/policy.h"
#include "agent/trajectory/layout.h"
#include "common/base/files.h"
#include "common/workload/catalog.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Of the same name as a member of every test.
using Recorded = Run;

constexpr char kWorkload[] = "gemm_n256_k256/M=16";

std::string Code(absl::string_view words) { return absl::StrCat("```cuda\n// ", words, "\nvoid run() {}\n```\n"); }

// Answers at once, and remembers what it was asked.
class FakeModel final : public Model {
 public:
  absl::StatusOr<v1::Answered> Generate(const GenerationRequest& request, const GenerationListener& listener,
                                        Stopper& stopper) override {
    {
      absl::MutexLock lock(&mutex_);
      requests_.push_back(request);
    }
    if (before) before(request, stopper);
    if (stopper.stopped()) return absl::CancelledError("stopped");
    if (fail) {
      if (const absl::Status status = fail(request); !status.ok()) return status;
    }
    v1::Answered answered;
    answered.set_turn(request.turn);
    answered.set_text(answer ? answer(request) : Code(absl::StrCat(request.trajectory_id, " ", request.turn)));
    answered.mutable_usage()->set_prompt_tokens(100);
    answered.mutable_usage()->set_completion_tokens(10);
    answered.mutable_usage()->set_cost_usd(cost_usd);
    answered.set_finish_reason("stop");
    return answered;
  }
  std::vector<GenerationRequest> requests() const {
    absl::MutexLock lock(&mutex_);
    return requests_;
  }

  double cost_usd = 0.25;
  std::function<std::string(const GenerationRequest&)> answer;
  std::function<absl::Status(const GenerationRequest&)> fail;
  std::function<void(const GenerationRequest&, Stopper&)> before;

 private:
  mutable absl::Mutex mutex_;
  std::vector<GenerationRequest> requests_ ABSL_GUARDED_BY(mutex_);
};

// Gives one submission per request_id, and the verdict that `verdict` says.
class FakeJudge final : public Judge {
 public:
  absl::StatusOr<Judgement> Run(const JudgeJob& job, const JudgeListener& listener, Stopper& stopper) override {
    v1::Submitted submitted;
    submitted.set_request_id(job.request_id);
    submitted.set_bundle_sha256("b");
    if (const absl::Status status = listener.on_built(submitted); !status.ok()) return status;
    {
      absl::MutexLock lock(&mutex_);
      jobs_.push_back(job.request_id);
    }
    if (before) before(job, stopper);
    if (stopper.stopped()) return absl::CancelledError("stopped");
    if (fail) {
      if (const absl::Status status = fail(job); !status.ok()) return status;
    }
    Judgement judgement;
    judgement.verdict.set_status(v1::VERDICT_STATUS_CORRECT);
    judgement.verdict.set_attempt(1);
    judgement.verdict.set_submission_id(absl::StrCat("s-", job.request_id));
    if (verdict) verdict(job, judgement.verdict);
    return judgement;
  }
  void Close() override {}
  std::vector<std::string> jobs() const {
    absl::MutexLock lock(&mutex_);
    return jobs_;
  }

  std::function<void(const JudgeJob&, v1::Verdict&)> verdict;
  std::function<absl::Status(const JudgeJob&)> fail;
  std::function<void(const JudgeJob&, Stopper&)> before;

 private:
  mutable absl::Mutex mutex_;
  std::vector<std::string> jobs_ ABSL_GUARDED_BY(mutex_);
};

void SetSpeedup(double speedup, v1::Verdict& verdict) {
  verdict.set_scorable(true);
  verdict.mutable_timing()->set_status(v1::Timing::MEASURED);
  verdict.mutable_timing()->set_speedup(speedup);
}

class RolloutTest : public ::testing::Test {
 protected:
  RolloutTest()
      : directory_(*TemporaryDirectory::Create("rollout")), workload_(*WorkloadCatalog::BuiltIn().Resolve(kWorkload)) {
    manifest_.set_run_id("R");
    manifest_.set_turn_limit(3);
    manifest_.set_context(v1::CONTEXT_POLICY_FULL);
    options_.now = absl::Now;
    options_.parallel = 2;
    options_.infrastructure = {absl::Milliseconds(1), absl::Milliseconds(2), absl::Seconds(60)};
  }
  std::filesystem::path Path() const { return directory_.path() / "run"; }

  absl::Status Go(size_t trajectories = 1) {
    std::unique_ptr<RunFolder> folder;
    bool resumed = false;
    if (std::filesystem::exists(ManifestPath(Path()))) {
      folder = *RunFolder::Open(Path());
      resumed = true;
    } else {
      folder = *RunFolder::Create(Path(), manifest_);
    }
    std::vector<TrajectorySpec> specs(trajectories);
    for (size_t i = 0; i < trajectories; ++i) {
      specs[i].index = i;
      specs[i].workload = &workload_;
      specs[i].system = std::make_shared<const std::string>("system");
      specs[i].user = std::make_shared<const std::string>("task");
      specs[i].began.set_trajectory_id(TrajectoryId(i));
      specs[i].began.set_workload(workload_.name());
    }
    Board board(manifest_.turn_limit(), [this](absl::string_view line) { on_line_(line); });
    Spending spending(manifest_.token_budget(), manifest_.money_budget_usd());
    rollout_ = std::make_unique<Rollout>(
        RolloutParts{*folder, model_, judge_, board, notes_, watch_, resumed ? past_ : nullptr}, options_,
        std::move(specs), spending);
    const absl::Status status = rollout_->Run();
    rollout_.reset();
    return status;
  }
  Recorded Read() {
    auto run = ReadRun(Path());
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? *std::move(run) : Recorded();
  }

  static size_t Answered(const Recorded& run) {
    size_t count = 0;
    for (const Trajectory& trajectory : run.trajectories) {
      for (const Turn& turn : trajectory.turns) count += turn.answered.has_value();
    }
    return count;
  }

  TemporaryDirectory directory_;
  v1::Workload workload_;
  v1::RunManifest manifest_;
  RolloutOptions options_;
  FakeModel model_;
  FakeJudge judge_;
  std::function<std::string(const v1::Verdict&, const v1::Workload&)> notes_;
  std::function<void(Stopper&, const std::function<void(const v1::Event&)>&)> watch_;
  std::function<absl::Status(Stopper&, const std::function<void(const v1::Event&)>&)> past_;
  std::function<void(absl::string_view)> on_line_ = [](absl::string_view) {};
  std::unique_ptr<Rollout> rollout_;
};

TEST_F(RolloutTest, EveryTrajectoryGoesOnToItsTurnLimit) {
  ASSERT_TRUE(Go(5).ok());
  const Recorded run = Read();
  ASSERT_EQ(run.trajectories.size(), 5u);
  for (const Trajectory& trajectory : run.trajectories) {
    ASSERT_EQ(trajectory.turns.size(), 3u);
    EXPECT_EQ(trajectory.ended->end(), v1::TRAJECTORY_END_TURN_LIMIT);
    for (const Turn& turn : trajectory.turns) {
      EXPECT_TRUE(IsCorrect(turn));
      EXPECT_TRUE(turn.feedback.has_value());
      EXPECT_THAT(*ReadSource(run.folder, trajectory, turn),
                  HasSubstr(absl::StrCat(trajectory.began.trajectory_id(), " ", turn.number)));
    }
  }
  std::set<std::string> keys;
  for (const GenerationRequest& request : model_.requests()) keys.insert(request.idempotency_key);
  EXPECT_EQ(keys.size(), 15u);
  EXPECT_EQ(keys.count("R/exp_003/2"), 1u);
}

TEST_F(RolloutTest, LaterTurnsAreShownEarlierOnesAsThePolicySays) {
  manifest_.set_context(v1::CONTEXT_POLICY_BEST);
  manifest_.set_turn_limit(4);
  judge_.verdict = [](const JudgeJob& job, v1::Verdict& verdict) {
    SetSpeedup(absl::StrContains(job.request_id, "/1/") ? 2.0 : 1.0, verdict);
  };
  ASSERT_TRUE(Go().ok());
  const Recorded run = Read();
  const std::vector<Turn>& turns = run.trajectories[0].turns;
  EXPECT_THAT(turns[0].asked->shows_turns(), ElementsAre());
  EXPECT_THAT(turns[1].asked->shows_turns(), ElementsAre(0));
  EXPECT_THAT(turns[2].asked->shows_turns(), ElementsAre(1));
  EXPECT_THAT(turns[3].asked->shows_turns(), ElementsAre(1, 2));
  const std::vector<ChatMessage> messages = model_.requests()[3].messages;
  ASSERT_EQ(messages.size(), 6u);
  EXPECT_EQ(*messages[0].text, "system");
  EXPECT_EQ(*messages[1].text, "task");
  EXPECT_EQ(*messages[4].text, turns[2].answered->text());
  EXPECT_EQ(*messages[5].text, turns[2].feedback->text());
}

TEST_F(RolloutTest, AnAnswerWithoutCodeIsATurnThatNobodyJudges) {
  model_.answer = [](const GenerationRequest& request) { return request.turn == 1 ? "I am sorry." : Code("x"); };
  ASSERT_TRUE(Go().ok());
  const Recorded run = Read();
  const Turn& turn = run.trajectories[0].turns[1];
  EXPECT_EQ(turn.extracted->extraction(), v1::EXTRACTION_NO_CODE);
  EXPECT_FALSE(turn.judged.has_value());
  EXPECT_TRUE(turn.feedback.has_value());
  EXPECT_EQ(judge_.jobs().size(), 2u);
}

TEST_F(RolloutTest, InfrastructureTroubleNeverReachesTheModel) {
  std::map<std::string, int> times;
  judge_.verdict = [](const JudgeJob& job, v1::Verdict& verdict) {
    if (absl::EndsWith(job.request_id, "/0/0")) verdict.set_status(v1::VERDICT_STATUS_INFRA_ERROR);
    if (absl::EndsWith(job.request_id, "/0/1")) verdict.set_status(v1::VERDICT_STATUS_CANCELLED);
    if (absl::EndsWith(job.request_id, "/1/0")) verdict.mutable_excluded()->set_incident_id("i-7");
    verdict.set_reason("the GPU burned");
  };
  judge_.fail = [&](const JudgeJob& job) {
    return absl::EndsWith(job.request_id, "/2/0") && ++times[job.request_id] < 3
               ? absl::UnavailableError("the service is down")
               : absl::OkStatus();
  };
  ASSERT_TRUE(Go().ok());
  const Recorded run = Read();
  const std::vector<Turn>& turns = run.trajectories[0].turns;
  ASSERT_EQ(turns.size(), 3u);
  ASSERT_EQ(turns[0].excluded.size(), 2u);
  EXPECT_EQ(turns[0].excluded[0].verdict().status(), v1::VERDICT_STATUS_INFRA_ERROR);
  ASSERT_EQ(turns[1].excluded.size(), 1u);
  EXPECT_EQ(turns[1].excluded[0].excluded().exclusion().incident_id(), "i-7");
  EXPECT_TRUE(turns[2].excluded.empty()) << "the same submission is asked for again";
  EXPECT_THAT(judge_.jobs(), ElementsAre("R/exp_000/0/0", "R/exp_000/0/1", "R/exp_000/0/2", "R/exp_000/1/0",
                                         "R/exp_000/1/1", "R/exp_000/2/0", "R/exp_000/2/0", "R/exp_000/2/0"));
  EXPECT_EQ(model_.requests().size(), 3u);
  for (const GenerationRequest& request : model_.requests()) {
    for (const ChatMessage& message : request.messages) {
      EXPECT_FALSE(absl::StrContains(*message.text, "burned")) << *message.text;
      EXPECT_FALSE(absl::StrContains(*message.text, "is down")) << *message.text;
    }
  }
}

TEST_F(RolloutTest, PatienceWithInfrastructureEndsAndTheRunGoesOnLater) {
  options_.infrastructure.give_up_after = absl::Milliseconds(5);
  judge_.fail = [](const JudgeJob&) { return absl::UnavailableError("the service is down"); };
  const absl::Status paused = Go(3);
  EXPECT_EQ(paused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(paused.message()), HasSubstr("the service is down"));
  const size_t asked = model_.requests().size();
  judge_.fail = nullptr;
  ASSERT_TRUE(Go(3).ok());
  EXPECT_EQ(model_.requests().size(), 9u) << asked << " had been asked before, and none of those again";
  for (const Trajectory& trajectory : Read().trajectories) EXPECT_EQ(trajectory.turns.size(), 3u);
}

TEST_F(RolloutTest, WhatTheServiceWillNeverJudgeEndsItsTrajectoryAlone) {
  judge_.verdict = [](const JudgeJob& job, v1::Verdict& verdict) {
    if (!absl::StrContains(job.request_id, "exp_001/1")) return;
    verdict.set_status(v1::VERDICT_STATUS_INFRA_ERROR);
    verdict.set_code(v1::VERDICT_CODE_EMULATOR_LACKS);
    verdict.set_reason("mma.sp");
  };
  ASSERT_TRUE(Go(2).ok());
  const Recorded run = Read();
  EXPECT_EQ(run.trajectories[0].ended->end(), v1::TRAJECTORY_END_TURN_LIMIT);
  EXPECT_EQ(run.trajectories[1].ended->end(), v1::TRAJECTORY_END_NOT_JUDGEABLE);
  EXPECT_THAT(run.trajectories[1].ended->detail(), HasSubstr("mma.sp"));
  EXPECT_FALSE(run.trajectories[1].turns[1].judged.has_value());
}

TEST_F(RolloutTest, ATargetEndsATrajectoryOnlyWithATurnThatMayBeScored) {
  manifest_.set_target_speedup(1.2);
  judge_.verdict = [](const JudgeJob& job, v1::Verdict& verdict) {
    SetSpeedup(1.5, verdict);
    if (absl::StrContains(job.request_id, "/0/")) verdict.set_scorable(false);
  };
  ASSERT_TRUE(Go().ok());
  const Recorded run = Read();
  EXPECT_EQ(run.trajectories[0].turns.size(), 2u);
  EXPECT_EQ(run.trajectories[0].ended->end(), v1::TRAJECTORY_END_TARGET_REACHED);
}

TEST_F(RolloutTest, BudgetsOfTheWholeRunEndIt) {
  manifest_.set_token_budget(400);  // of 110 each
  manifest_.set_turn_limit(8);      // no trajectory can end by it
  options_.parallel = 1;
  ASSERT_TRUE(Go(3).ok());
  EXPECT_EQ(model_.requests().size(), 4u);
  for (const Trajectory& trajectory : Read().trajectories)
    EXPECT_EQ(trajectory.ended->end(), v1::TRAJECTORY_END_TOKEN_BUDGET);
}

TEST_F(RolloutTest, MoneyEndsItToo) {
  manifest_.set_money_budget_usd(0.5);
  ASSERT_TRUE(Go().ok());
  const Recorded run = Read();
  EXPECT_EQ(run.trajectories[0].turns.size(), 2u);
  EXPECT_EQ(run.trajectories[0].ended->end(), v1::TRAJECTORY_END_MONEY_BUDGET);
}

TEST_F(RolloutTest, AConversationThatTheProviderRefusesEndsAlone) {
  model_.fail = [](const GenerationRequest& request) {
    return request.idempotency_key == "R/exp_000/1" ? absl::InvalidArgumentError("the context is too long")
                                                    : absl::OkStatus();
  };
  ASSERT_TRUE(Go(2).ok());
  const Recorded run = Read();
  EXPECT_EQ(run.trajectories[0].ended->end(), v1::TRAJECTORY_END_MODEL_REFUSED);
  EXPECT_EQ(run.trajectories[1].ended->end(), v1::TRAJECTORY_END_TURN_LIMIT);
}

TEST_F(RolloutTest, ARefusedKeyStopsTheWholeRunAndTheFolderCanBeResumed) {
  model_.fail = [](const GenerationRequest&) { return absl::UnauthenticatedError("no such key"); };
  EXPECT_EQ(Go(2).code(), absl::StatusCode::kUnauthenticated);
  model_.fail = nullptr;
  ASSERT_TRUE(Go(2).ok());
  EXPECT_EQ(Read().trajectories[1].turns.size(), 3u);
}

TEST_F(RolloutTest, AModelThatGivesUpByItselfPausesTheRun) {
  model_.fail = [](const GenerationRequest&) { return absl::CancelledError("enough"); };
  EXPECT_EQ(Go().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(model_.requests().size(), 1u);
}

TEST_F(RolloutTest, AnInterruptLetsAnswersArriveThatArePaidForAndNothingElse) {
  options_.parallel = 1;
  model_.before = [&](const GenerationRequest&, Stopper& stopper) {
    rollout_->Interrupt(1);
    EXPECT_FALSE(stopper.stopped());
  };
  EXPECT_TRUE(absl::IsCancelled(Go(3)));
  EXPECT_EQ(model_.requests().size(), 1u);
  EXPECT_EQ(Answered(Read()), 1u);
  EXPECT_TRUE(judge_.jobs().empty());
  model_.before = nullptr;
  ASSERT_TRUE(Go(3).ok());
  EXPECT_EQ(model_.requests().size(), 9u);
}

TEST_F(RolloutTest, AnInterruptEndsWaitingForAModelThatDoesNotAnswer) {
  model_.fail = [&](const GenerationRequest& request) -> absl::Status {
    EXPECT_FALSE(request.tries->stopped());
    rollout_->Interrupt(1);
    return request.tries->stopped() ? absl::CancelledError("stopped") : absl::OkStatus();
  };
  EXPECT_TRUE(absl::IsCancelled(Go()));
  EXPECT_EQ(Answered(Read()), 0u);
}

TEST_F(RolloutTest, TheSecondInterruptCutsAnswersOffAndTheyAreAskedForWithTheSameKey) {
  model_.before = [&](const GenerationRequest&, Stopper& stopper) {
    rollout_->Interrupt(2);
    EXPECT_TRUE(stopper.stopped());
  };
  EXPECT_TRUE(absl::IsCancelled(Go()));
  model_.before = nullptr;
  ASSERT_TRUE(Go().ok());
  EXPECT_EQ(model_.requests()[0].idempotency_key, model_.requests()[1].idempotency_key);
  EXPECT_EQ(Read().trajectories[0].last_sequence, 1u + 3 * 6 + 1) << "asking again leaves no second record";
}

TEST_F(RolloutTest, ASubmissionUnderWayWhenTheRunStoppedIsFoundAgain) {
  judge_.before = [&](const JudgeJob&, Stopper&) { rollout_->Interrupt(1); };
  EXPECT_TRUE(absl::IsCancelled(Go()));
  judge_.before = nullptr;
  ASSERT_TRUE(Go().ok());
  EXPECT_EQ(judge_.jobs()[0], judge_.jobs()[1]);
  EXPECT_EQ(model_.requests().size(), 3u);
}

TEST_F(RolloutTest, ALateExclusionTakesTheTrajectoryBackAlsoFromItsEnd) {
  manifest_.set_turn_limit(2);
  absl::Notification ended, second_ended;
  on_line_ = [&](absl::string_view line) {
    if (absl::StartsWith(line, "exp_001 ended") && !second_ended.HasBeenNotified()) second_ended.Notify();
  };
  // The first trajectory waits in its last turn until the other one, which has ended, was excluded and has gone on.
  judge_.before = [&](const JudgeJob& job, Stopper&) {
    if (job.request_id == "R/exp_000/1/0") ended.WaitForNotification();
  };
  int attempt = 1;
  judge_.verdict = [&](const JudgeJob& job, v1::Verdict& verdict) {
    if (job.request_id == "R/exp_001/0/0") verdict.set_attempt(attempt++);
    if (job.request_id == "R.1/exp_001/1/0") ended.Notify();
  };
  watch_ = [&](Stopper& stopper, const std::function<void(const v1::Event&)>& on_event) {
    second_ended.WaitForNotification();
    v1::Event event;
    event.set_submission_id("s-R/exp_001/0/0");
    event.mutable_excluded()->set_attempt(1);
    event.mutable_excluded()->set_rerun(true);
    event.mutable_excluded()->mutable_exclusion()->set_incident_id("i-1");
    on_event(event);
    on_event(event);
    stopper.Sleep(absl::InfiniteDuration());
  };
  ASSERT_TRUE(Go(2).ok());
  const Recorded run = Read();
  const Trajectory& trajectory = run.trajectories[1];
  ASSERT_EQ(trajectory.turns.size(), 2u);
  ASSERT_EQ(trajectory.taken_back.size(), 1u);
  EXPECT_EQ(trajectory.taken_back[0].number, 1u);
  EXPECT_EQ(trajectory.turns[0].judged->verdict().attempt(), 2u);
  ASSERT_EQ(trajectory.turns[0].excluded.size(), 1u);
  EXPECT_EQ(trajectory.turns[1].asked->idempotency_key(), "R.1/exp_001/1");
  EXPECT_TRUE(trajectory.ended.has_value());
  EXPECT_EQ(run.trajectories[0].taken_back.size(), 0u);
  EXPECT_EQ(model_.requests().size(), 5u);
}

TEST_F(RolloutTest, WhatWasExcludedWhileNobodyWatchedIsFoundWhenTheRunGoesOn) {
  ASSERT_TRUE(Go().ok());
  past_ = [](Stopper&, const std::function<void(const v1::Event&)>& on_event) {
    v1::Event event;
    event.set_submission_id("s-R/exp_000/1/0");
    event.mutable_excluded()->set_attempt(1);
    event.mutable_excluded()->mutable_exclusion()->set_incident_id("i-2");
    on_event(event);
    return absl::OkStatus();
  };
  judge_.verdict = [](const JudgeJob& job, v1::Verdict& verdict) {
    if (job.request_id == "R/exp_000/1/0") verdict.set_attempt(2);
  };
  ASSERT_TRUE(Go().ok());
  const Trajectory trajectory = Read().trajectories[0];
  EXPECT_EQ(trajectory.taken_back.size(), 1u);
  EXPECT_EQ(trajectory.turns.size(), 3u);
  EXPECT_EQ(trajectory.turns[1].judged->verdict().attempt(), 2u);
  EXPECT_EQ(model_.requests().size(), 4u);
  ASSERT_TRUE(Go().ok());
  EXPECT_EQ(model_.requests().size(), 4u) << "and only once";
}

TEST_F(RolloutTest, ARunGoesOnThoughNobodyTellsWhatWasExcludedAndSaysSo) {
  model_.fail = [](const GenerationRequest&) { return absl::UnavailableError("nobody there"); };
  ASSERT_FALSE(Go().ok());
  model_.fail = nullptr;
  past_ = [](Stopper&, const std::function<void(const v1::Event&)>&) { return absl::UnavailableError("no answer"); };
  std::vector<std::string> lines;
  on_line_ = [&](absl::string_view line) { lines.emplace_back(line); };
  EXPECT_TRUE(Go().ok());
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("could not be asked for: no answer")));
}

TEST_F(RolloutTest, AnInterruptEndsTheQuestionWhatWasExcluded) {
  ASSERT_TRUE(Go().ok());
  past_ = [this](Stopper& stopper, const std::function<void(const v1::Event&)>&) {
    rollout_->Interrupt(1);
    return stopper.Sleep(absl::Hours(1)) ? absl::OkStatus() : absl::CancelledError("stopped");
  };
  EXPECT_TRUE(absl::IsCancelled(Go()));
}

TEST_F(RolloutTest, GoingOnWithAFinishedRunChangesNothing) {
  ASSERT_TRUE(Go(2).ok());
  const std::string before = *ReadFile(LogPath(Path(), "exp_001"));
  ASSERT_TRUE(Go(2).ok());
  EXPECT_EQ(*ReadFile(LogPath(Path(), "exp_001")), before);
}

TEST_F(RolloutTest, ALogThatLeavesOutWhatLaterTurnsShowIsNotGoneOnWith) {
  {
    const auto folder = *RunFolder::Create(Path(), manifest_);
    const auto log = *folder->OpenLog("exp_000", absl::Now);
    v1::TrajectoryRecord record;
    record.mutable_began()->set_trajectory_id("exp_000");
    ASSERT_TRUE(log->Append(record).ok());
    for (uint32_t turn = 0; turn < 2; ++turn) {
      record.mutable_asked()->set_turn(turn);
      ASSERT_TRUE(log->Append(record).ok());
    }
  }
  const absl::Status status = Go();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(model_.requests(), ::testing::IsEmpty());
}

TEST_F(RolloutTest, NotesFollowTheFeedback) {
  notes_ = [](const v1::Verdict&, const v1::Workload&) { return "somebody learned this"; };
  ASSERT_TRUE(Go().ok());
  EXPECT_THAT(Read().trajectories[0].turns[0].feedback->text(), HasSubstr("\n\nsomebody learned this"));
}

TEST_F(RolloutTest, PricesSayWhatAnAnswerCostWhereTheProviderDoesNot) {
  manifest_.mutable_prices()->set_prompt(1000);
  manifest_.mutable_prices()->set_completion(5000);
  model_.cost_usd = 0;
  ASSERT_TRUE(Go().ok());
  EXPECT_NEAR(Read().trajectories[0].turns[0].answered->usage().cost_usd(), 0.1 + 0.05, 1e-12);
  v1::Usage usage;
  usage.set_prompt_tokens(1000);
  usage.set_cached_prompt_tokens(900);
  v1::Prices prices;
  prices.set_prompt(10);
  prices.set_cached_prompt(1);
  Price(prices, usage);
  EXPECT_NEAR(usage.cost_usd(), 0.001 + 0.0009, 1e-12);
}

TEST_F(RolloutTest, WhatIsWrittenToACacheHasAPriceOfItsOwn) {
  v1::Usage usage;
  usage.set_prompt_tokens(1'000'000);
  usage.set_cached_prompt_tokens(500'000);
  usage.set_cache_written_prompt_tokens(400'000);
  v1::Prices prices;
  prices.set_prompt(3);
  prices.set_cached_prompt(0.3);
  v1::Usage unpriced = usage;
  Price(prices, unpriced);
  EXPECT_NEAR(unpriced.cost_usd(), 0.5 * 3 + 0.5 * 0.3, 1e-12) << "as what is sent, where nothing is said";
  prices.set_cache_write(3.75);
  v1::Usage more = usage;
  Price(prices, usage);
  EXPECT_NEAR(usage.cost_usd(), 0.1 * 3 + 0.5 * 0.3 + 0.4 * 3.75, 1e-12);
  more.set_cache_written_prompt_tokens(UINT64_MAX);
  Price(prices, more);
  EXPECT_NEAR(more.cost_usd(), 0.5 * 0.3 + 0.5 * 3.75, 1e-12) << "never more than was sent";
}

// A generator of 3 s and a profile of 2 s on one GPU, fifty times as fast; the loop is the real one.
TEST_F(RolloutTest, GenerationAndProfilingOverlapSoThatTheGpuIsBusy) {
  constexpr auto kGenerate = absl::Milliseconds(60), kProfile = absl::Milliseconds(40);
  constexpr size_t kTrajectories = 8;
  manifest_.set_turn_limit(6);
  options_.parallel = kTrajectories;
  absl::Mutex gpu, times;
  absl::Duration held;
  absl::Time first = absl::InfiniteFuture(), last;
  model_.before = [&](const GenerationRequest&, Stopper& stopper) { stopper.Sleep(kGenerate); };
  judge_.before = [&](const JudgeJob&, Stopper& stopper) {
    absl::MutexLock lock(&gpu);
    const absl::Time begin = absl::Now();
    stopper.Sleep(kProfile);
    absl::MutexLock timing(&times);
    first = std::min(first, begin);
    last = absl::Now();
    held += last - begin;
  };
  ASSERT_TRUE(Go(kTrajectories).ok());
  EXPECT_GE(absl::FDivDuration(held, last - first), 0.9);
}

// Whatever moment a run is killed at, going on gives the record that an undisturbed run has. The kill is a copy of the
// folder's logs cut at each line, which is what a process that dies leaves behind.
TEST_F(RolloutTest, FromEveryRecordOnARunGoesOnToTheSameEnd) {
  judge_.verdict = [](const JudgeJob& job, v1::Verdict& verdict) {
    if (absl::EndsWith(job.request_id, "/1/0")) verdict.set_status(v1::VERDICT_STATUS_INFRA_ERROR);
  };
  ASSERT_TRUE(Go().ok());
  const std::string whole = *ReadFile(LogPath(Path(), "exp_000"));
  const Trajectory undisturbed = Read().trajectories[0];
  const size_t asked = model_.requests().size();
  for (size_t cut = 0; cut < whole.size(); cut = whole.find('\n', cut) + 1) {
    ASSERT_TRUE(WriteFileAtomically(LogPath(Path(), "exp_000"), whole.substr(0, cut + 3)).ok());
    const size_t answered = Answered(Read());
    const size_t before = model_.requests().size();
    ASSERT_TRUE(Go().ok()) << cut;
    EXPECT_EQ(model_.requests().size() - before, asked - answered) << "after " << whole.substr(0, cut);
    const Trajectory again = Read().trajectories[0];
    ASSERT_EQ(again.turns.size(), undisturbed.turns.size());
    EXPECT_EQ(again.last_sequence, undisturbed.last_sequence) << "after " << whole.substr(0, cut);
    for (size_t i = 0; i < again.turns.size(); ++i) {
      const Turn &a = again.turns[i], &b = undisturbed.turns[i];
      EXPECT_EQ(a.asked->SerializeAsString(), b.asked->SerializeAsString());
      EXPECT_EQ(a.answered->SerializeAsString(), b.answered->SerializeAsString());
      EXPECT_EQ(a.submitted->SerializeAsString(), b.submitted->SerializeAsString());
      EXPECT_EQ(a.judged->verdict().SerializeAsString(), b.judged->verdict().SerializeAsString());
      EXPECT_EQ(a.feedback->SerializeAsString(), b.feedback->SerializeAsString());
      EXPECT_EQ(a.excluded.size(), b.excluded.size());
    }
  }
}

}  // namespace
}  // namespace sassay::agent
