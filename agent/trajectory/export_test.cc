#include "agent/trajectory/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "agent/trajectory/run_folder.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Record = v1::TrajectoryRecord;

class ExportTest : public ::testing::Test {
 protected:
  ExportTest() : directory_(*TemporaryDirectory::Create("export")) {
    v1::RunManifest manifest;
    manifest.set_run_id("r1");
    manifest.set_model("scripted");
    manifest.set_turn_limit(3);
    manifest.set_target_speedup(1.2);
    folder_ = *RunFolder::Create(RunPath(), manifest);
    log_ = *folder_->OpenLog("exp_000", absl::Now);
    Record record;
    record.mutable_began()->set_trajectory_id("exp_000");
    record.mutable_began()->set_workload("gemm_n256_k256/M=16");
    record.mutable_began()->set_system_sha256(*folder_->WritePrompt("the system"));
    record.mutable_began()->set_user_sha256(*folder_->WritePrompt("the task"));
    Add(record);
  }
  fs::path RunPath() const { return directory_.path() / "run"; }
  fs::path Output() const { return directory_.path() / "out"; }

  void Add(const Record& record) { ASSERT_TRUE(log_->Append(record).ok()) << record.ShortDebugString(); }
  void AddAnswer(uint32_t turn, const std::string& code) {
    Record record;
    record.mutable_asked()->set_turn(turn);
    Add(record);
    record.mutable_answered()->set_turn(turn);
    record.mutable_answered()->set_text("answer");
    record.mutable_answered()->set_reasoning("thought");
    record.mutable_answered()->mutable_usage()->set_prompt_tokens(100);
    record.mutable_answered()->mutable_usage()->set_cost_usd(0.5);
    Add(record);
    record.mutable_extracted()->set_turn(turn);
    record.mutable_extracted()->set_extraction(code.empty() ? v1::EXTRACTION_NO_CODE : v1::EXTRACTION_CODE);
    if (!code.empty()) {
      ASSERT_TRUE(folder_->WriteSource("exp_000", turn, source_name_, code).ok());
      record.mutable_extracted()->set_path(source_name_);
      record.mutable_extracted()->set_source_sha256(Sha256Hex(code));
    }
    Add(record);
  }
  void AddVerdict(uint32_t turn, v1::VerdictStatus status, double speedup) {
    Record record;
    record.mutable_judged()->set_turn(turn);
    v1::Verdict& verdict = *record.mutable_judged()->mutable_verdict();
    verdict.set_status(status);
    verdict.set_attempt(1);
    verdict.set_scorable(speedup > 0);
    if (speedup > 0) verdict.mutable_timing()->set_status(v1::Timing::MEASURED);
    verdict.mutable_timing()->set_speedup(speedup);
    Add(record);
  }
  void AddFeedback(uint32_t turn) {
    Record record;
    record.mutable_feedback()->set_turn(turn);
    record.mutable_feedback()->set_text("told");
    Add(record);
  }
  void AddTurn(uint32_t turn, const std::string& code, v1::VerdictStatus status, double speedup) {
    AddAnswer(turn, code);
    AddVerdict(turn, status, speedup);
    AddFeedback(turn);
  }
  Json Read(const std::string& name) { return Json::parse(*ReadFile(Output() / name)); }

  TemporaryDirectory directory_;
  std::unique_ptr<RunFolder> folder_;
  std::unique_ptr<TrajectoryLog> log_;
  std::string source_name_ = "kernel.cu";
};

TEST_F(ExportTest, MessagesAreWhatTheModelSawAndSaidAndHowItEnded) {
  AddAnswer(0, "");
  AddFeedback(0);
  AddTurn(1, "slow", v1::VERDICT_STATUS_CORRECT, 0.8);
  AddTurn(2, "fast", v1::VERDICT_STATUS_CORRECT, 1.3);
  Record record;
  record.mutable_ended()->set_end(v1::TRAJECTORY_END_TARGET_REACHED);
  Add(record);
  const auto counts = ExportMiniSwe(RunPath(), Output());
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->trajectories, 1u);
  EXPECT_EQ(counts->kernels, 2u);
  EXPECT_EQ(counts->excluded, 0u);
  const Json whole = Read("exp_000.json");
  const Json& messages = whole["messages"];
  ASSERT_EQ(messages.size(), 9u);
  EXPECT_EQ(messages[0]["content"], "the system");
  EXPECT_EQ(messages[1]["content"], "the task");
  EXPECT_EQ(messages[2]["role"], "assistant");
  EXPECT_EQ(messages[2]["extra"]["cost"], 0.5);
  EXPECT_TRUE(messages[2]["extra"]["actions"].empty());
  EXPECT_EQ(messages[3]["extra"]["event"], "NO_CODE");
  EXPECT_EQ(messages[3]["extra"]["returncode"], 1);
  EXPECT_EQ(messages[4]["extra"]["actions"][0]["content"], "slow");
  EXPECT_EQ(messages[5]["extra"]["event"], "PASSED");
  EXPECT_EQ(messages[5]["extra"]["min_speedup"], 0.8);
  EXPECT_EQ(messages[5]["extra"]["target_met"], false);
  EXPECT_EQ(messages[7]["extra"]["target_met"], true);
  EXPECT_EQ(messages[8]["role"], "exit");
  EXPECT_EQ(messages[8]["extra"]["exit_status"], "TARGET_REACHED");
  EXPECT_EQ(messages[8]["extra"]["submission"], "fast");
  EXPECT_EQ(messages[8]["extra"]["min_speedup"], 1.3);
  EXPECT_EQ(whole["info"]["config"]["model"]["model_name"], "scripted");
  EXPECT_EQ(whole["info"]["model_stats"]["instance_cost"], 1.5);
  EXPECT_EQ(*ReadFile(Output() / "success/exp_000/kernel_v3.cu"), "fast");
  EXPECT_EQ(Read("success/exp_000/record.json")[1]["performance"]["speedup_factor"], 1.3);
  EXPECT_FALSE(fs::exists(Output() / "excluded"));
}

TEST_F(ExportTest, ATritonCandidateKeepsItsName) {
  source_name_ = "kernel.py";
  AddTurn(0, "def run(): pass", v1::VERDICT_STATUS_CORRECT, 1.1);
  ASSERT_TRUE(ExportMiniSwe(RunPath(), Output()).ok());
  EXPECT_EQ(Read("exp_000.json")["messages"][2]["extra"]["actions"][0]["path"], "kernel.py");
  EXPECT_EQ(*ReadFile(Output() / "success/exp_000/kernel_v1.py"), "def run(): pass");
}

TEST_F(ExportTest, WhatDoesNotCountIsKeptApart) {
  AddTurn(0, "first", v1::VERDICT_STATUS_CORRECT, 1.0);
  AddTurn(1, "second", v1::VERDICT_STATUS_CORRECT, 2.0);
  Record record;
  record.mutable_rewound()->set_turn(0);
  record.mutable_rewound()->mutable_exclusion()->set_incident_id("i-1");
  Add(record);
  AddVerdict(0, v1::VERDICT_STATUS_CORRECT, 0.9);
  AddFeedback(0);
  const auto counts = ExportMiniSwe(RunPath(), Output());
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->kernels, 1u);
  EXPECT_EQ(counts->excluded, 2u);
  const Json whole = Read("exp_000.json");
  EXPECT_EQ(whole["messages"].size(), 5u);
  EXPECT_EQ(whole["messages"][4]["extra"]["exit_status"], "UNFINISHED");
  EXPECT_EQ(whole["messages"][4]["extra"]["min_speedup"], 0.9);
  EXPECT_EQ(whole["info"]["model_stats"]["api_calls"], 2) << "what was taken back was paid for";
  EXPECT_FALSE(fs::exists(Output() / "success/exp_000/kernel_v2.cu"));
  const Json excluded = Read("excluded/exp_000.json");
  EXPECT_EQ(excluded["attempts"][0]["incident_id"], "i-1");
  EXPECT_EQ(excluded["turns_taken_back"].size(), 1u);
}

TEST_F(ExportTest, ATurnThatIsNotDecidedIsNotExported) {
  AddAnswer(0, "code");
  ASSERT_TRUE(ExportMiniSwe(RunPath(), Output()).ok());
  EXPECT_EQ(Read("exp_000.json")["messages"].size(), 3u);
}

}  // namespace
}  // namespace sassay::agent
