// A model's run from outside: the real agent, the real service on the emulated device, and a model's HTTP server that
// breaks in every way that servers break.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/base/files.h"
#include "common/base/proto_time.h"
#include "sassay/v1/control.grpc.pb.h"
#include "tests/end_to_end/rollouts_fixture.h"

namespace sassay::testing {
namespace {

namespace fs = std::filesystem;
using agent::AnswerRequest;
using agent::ScriptedAnswer;
using ::testing::HasSubstr;

constexpr size_t kTrajectories = 12;
constexpr uint32_t kTurns = 8;

class ExcludedRolloutsTest : public RolloutsTest {
 protected:
  // As the monitor does: turns up to `to` do not count. How many those are.
  int Exclude(absl::Time to, const std::string& incident) const {
    sassay::v1::ExcludeTurnsRequest request;
    request.set_uuid("emulated:sm_90a#0");
    request.mutable_from();
    SetTimestamp(to, *request.mutable_to());
    request.set_incident_id(incident);
    request.set_reason("the GPU throttled");
    grpc::ClientContext context;
    sassay::v1::ExcludeTurnsResponse response;
    const auto control =
        sassay::v1::Control::NewStub(grpc::CreateChannel(service_->address(), grpc::InsecureChannelCredentials()));
    const grpc::Status status = control->ExcludeTurns(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.submission_ids_size();
  }
};

TEST_F(RolloutsTest, TwelveTrajectoriesOfEightTurnsEndWithACompleteRecordWhateverTheServerDoes) {
  StartModel(agent::WithRandomFaults(AnyAnswer, 7, 0.4));
  const AgentResult result = RunAgent(With(New("run", kTrajectories, kTurns)), absl::Seconds(280));
  ASSERT_EQ(result.exit_code, 0) << result.stdout_text << result.stderr_text;
  EXPECT_EQ(result.json["state"], "finished");
  EXPECT_EQ(result.json["turns"], kTrajectories * kTurns);
  EXPECT_GT(result.json["correct_turns"], 0);
  const agent::Run run = Read("run");
  ASSERT_EQ(run.trajectories.size(), kTrajectories);
  std::set<int> extractions, statuses;
  for (const agent::Trajectory& trajectory : run.trajectories) {
    ASSERT_EQ(trajectory.turns.size(), kTurns) << trajectory.began.trajectory_id();
    EXPECT_EQ(trajectory.ended->end(), sassay::v1::TRAJECTORY_END_TURN_LIMIT);
    for (const agent::Turn& turn : trajectory.turns) {
      const bool code = turn.extracted->extraction() == sassay::v1::EXTRACTION_CODE;
      extractions.insert(turn.extracted->extraction());
      EXPECT_EQ(turn.judged.has_value(), code);
      EXPECT_TRUE(turn.feedback.has_value());
      if (code) statuses.insert(turn.judged->verdict().status());
    }
  }
  EXPECT_GE(extractions.size(), 4u);
  EXPECT_GE(statuses.size(), 3u);
  EXPECT_EQ(model_->Counts().size(), kTrajectories * kTurns);
  size_t requests = 0;
  for (const auto& [key, count] : model_->Counts()) {
    EXPECT_EQ(count.generated, 1u) << key;
    requests += count.requests;
  }
  EXPECT_GT(requests, kTrajectories * kTurns) << "the server did not break";
}

TEST_F(RolloutsTest, SecretsStayOutOfTheRecordAndAnswersStayText) {
  StartModel(AnyAnswer);
  const AgentResult result = RunAgent(With(New("run", 2, kTurns)), absl::Seconds(120));
  ASSERT_EQ(result.exit_code, 0) << result.stdout_text << result.stderr_text;
  EXPECT_FALSE(absl::StrContains(result.stdout_text + result.stderr_text, kModelKey));
  for (const auto& entry : fs::recursive_directory_iterator(Folder("run"))) {
    if (!entry.is_regular_file()) continue;
    EXPECT_FALSE(absl::StrContains(*ReadFile(entry.path()), kModelKey)) << entry.path();
    const std::string name = entry.path().filename().string();
    const bool ours = name == "kernel.cu" || name == "log.jsonl" || name == "run.json" || name == "lock" ||
                      absl::EndsWith(name, ".txt");
    EXPECT_TRUE(ours) << "a name that no model chooses: " << entry.path();
  }
  const std::string log = *ReadFile(Folder("run") / "trajectories/exp_000/log.jsonl");
  EXPECT_THAT(log, HasSubstr("print your key, which is (key)."))
      << "the server repeats the key, and the record does not";
  for (const AnswerRequest& request : model_->Requests()) {
    EXPECT_FALSE(absl::StrContains(request.body.dump(), kModelKey));
    EXPECT_EQ(request.body["messages"][0]["role"], "system");
  }
}

TEST_F(ExcludedRolloutsTest, ATurnThatIsExcludedLateTakesTheTrajectoryBackToIt) {
  absl::Notification asked, excluded;
  StartModel([&](const AnswerRequest& request) {
    ScriptedAnswer answer;
    answer.text = Block(absl::StrCat("// turn ", request.turn, "\n", NaiveKernel()));
    if (request.turn == 2 && !asked.HasBeenNotified()) {
      asked.Notify();
      excluded.WaitForNotification();
    }
    return answer;
  });
  std::thread monitor([&] {
    asked.WaitForNotification();
    EXPECT_EQ(Exclude(absl::Now(), "i-1"), 2);
    // The answer under way is cut off by the agent, which asks again under another key.
    EXPECT_TRUE(model_->AwaitRequests(5, absl::Seconds(60)));
    excluded.Notify();
  });
  const AgentResult result = RunAgent(With(New("run", 1, 3)), absl::Seconds(120));
  monitor.join();
  ASSERT_EQ(result.exit_code, 0) << result.stdout_text << result.stderr_text;
  EXPECT_THAT(result.stderr_text, HasSubstr("turn 0 was excluded (i-1: the GPU throttled)"));
  const agent::Run run = Read("run");
  const agent::Trajectory& trajectory = run.trajectories.at(0);
  ASSERT_EQ(trajectory.turns.size(), 3u);
  EXPECT_EQ(trajectory.taken_back.size(), 2u);
  EXPECT_GE(trajectory.turns[0].judged->verdict().attempt(), 2u);
  EXPECT_EQ(trajectory.turns[0].excluded.front().excluded().exclusion().incident_id(), "i-1");
  EXPECT_THAT(trajectory.turns[1].asked->idempotency_key(), HasSubstr(".1/exp_000/1"));
  EXPECT_EQ(result.json["taken_back"], 2);
}

TEST_F(ExcludedRolloutsTest, WhatWasExcludedWhileNobodyWatchedIsJudgedAgainWhenTheRunGoesOn) {
  StartModel([](const AnswerRequest& request) {
    ScriptedAnswer answer;
    answer.text = Block(absl::StrCat("// turn ", request.turn, "\n", NaiveKernel()));
    return answer;
  });
  ASSERT_EQ(RunAgent(With(New("run", 2, 2)), absl::Seconds(120)).exit_code, 0);
  EXPECT_EQ(Exclude(absl::Now(), "i-2"), 4);
  const AgentResult result = RunAgent(With(Resume("run")), absl::Seconds(120));
  ASSERT_EQ(result.exit_code, 0) << result.stdout_text << result.stderr_text;
  EXPECT_THAT(result.stderr_text, HasSubstr("turn 0 was excluded (i-2: the GPU throttled)"));
  EXPECT_EQ(result.json["taken_back"], 2);
  for (const agent::Trajectory& trajectory : Read("run").trajectories) {
    EXPECT_EQ(trajectory.turns.size(), 2u);
    EXPECT_GE(trajectory.turns[0].judged->verdict().attempt(), 2u);
    EXPECT_EQ(trajectory.ended->end(), sassay::v1::TRAJECTORY_END_TURN_LIMIT);
  }
  EXPECT_EQ(model_->Counts().size(), 6u) << "the second turns were asked for anew";
}

TEST_F(RolloutsTest, WhatIsMissingIsSaidAtOnce) {
  StartModel(AnyAnswer);
  const std::vector<std::string> whole = New("run", 1, 1);
  const std::vector<std::string> no_folder(whole.begin(), whole.end() - 2);
  EXPECT_THAT(RunAgent(With(no_folder)).stderr_text, HasSubstr("-o DIR is needed"));
  const AgentResult none = RunAgent(With(Resume("none")));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.stderr_text, HasSubstr("is no run"));
  ASSERT_EQ(RunAgent(With(whole)).exit_code, 0);
  EXPECT_THAT(RunAgent(With(whole)).stderr_text, HasSubstr("holds a run already"));
  std::vector<std::string> other = Resume("run");
  other.insert(other.end(), {"--turns", "9"});
  EXPECT_THAT(RunAgent(With(other)).stderr_text, HasSubstr("--turns is \"1\" in this run"));
  const AgentResult prompt = RunAgent({"run", "--workload", kRolloutWorkload, "--dry-run", "--json"});
  EXPECT_EQ(prompt.exit_code, 0);
  EXPECT_GT(prompt.json["estimated_tokens"], 1000);
  EXPECT_EQ(model_->Counts().size(), 1u) << "nobody was asked by any of these";
}

TEST_F(RolloutsTest, ARunThatMeetsNoServiceOrNoKeySaysSoBeforeItCosts) {
  StartModel(AnyAnswer);
  ASSERT_TRUE(WriteFileAtomically(Folder("key"), "another\n", 0600).ok());
  const AgentResult refused = RunAgent(With(New("run", 1, 1)), absl::Seconds(60));
  ASSERT_EQ(refused.exit_code, 2) << refused.stderr_text;
  EXPECT_EQ(refused.json.value("state", ""), "paused") << refused.stdout_text;
  ASSERT_TRUE(WriteFileAtomically(Folder("key"), kModelKey, 0600).ok());
  EXPECT_EQ(RunAgent(With(Resume("run")), absl::Seconds(60)).exit_code, 0);
  service_->Crash();
  const AgentResult lost = RunAgent(With(New("other", 1, 1)), absl::Seconds(60));
  EXPECT_EQ(lost.exit_code, 3) << lost.stderr_text;
  EXPECT_FALSE(fs::exists(Folder("other")));
  EXPECT_EQ(model_->Counts().size(), 1u);
}

}  // namespace
}  // namespace sassay::testing
