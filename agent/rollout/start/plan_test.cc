#include "agent/rollout/start/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/time/clock.h"
#include "agent/rollout/start/summary.h"
#include "agent/trajectory/layout.h"
#include "common/base/files.h"
#include "common/base/sha256.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PlanTest : public ::testing::Test {
 protected:
  PlanTest() : directory_(*TemporaryDirectory::Create("plan")) {
    flags_ = {{"workload", "gemm_n256_k256/M=16,gemm_n256_k256/M=8"},
              {"model", "m"},
              {"endpoint", "http://127.0.0.1:1"},
              {"trajectories", "2"},
              {"turns", "3"}};
  }
  Settings Resolve() {
    auto settings = Settings::Resolve({flags_, environment_, directory_.path()});
    EXPECT_TRUE(settings.ok()) << settings.status();
    return *std::move(settings);
  }
  absl::StatusOr<v1::RunManifest> Manifest() {
    const Settings settings = Resolve();
    const auto workloads = WorkloadsOf(settings, WorkloadCatalog::BuiltIn());
    if (!workloads.ok()) return workloads.status();
    const auto model = IdentifyModel(settings);
    if (!model.ok()) return model.status();
    return MakeManifest(settings, *model, *workloads, absl::Now());
  }

  TemporaryDirectory directory_;
  std::map<std::string, std::string> flags_;
  std::map<std::string, std::string> environment_;
};

TEST_F(PlanTest, PricesAreTwoToFourNumbers) {
  EXPECT_EQ(ParsePrices("3,15")->completion(), 15);
  EXPECT_EQ(ParsePrices("3,0.3,15")->cached_prompt(), 0.3);
  EXPECT_EQ(ParsePrices("3,0.3,3.75,15")->cached_prompt(), 0.3);
  EXPECT_EQ(ParsePrices("3,0.3,3.75,15")->cache_write(), 3.75);
  EXPECT_EQ(ParsePrices("3,0.3,3.75,15")->completion(), 15);
  EXPECT_EQ(ParsePrices("")->prompt(), 0);
  for (const char* bad : {"3", "3,x", "1,2,3,4,5", "-1,2", "nan,1", "1,inf", "1,2,,3", "1e7,1"})
    EXPECT_THAT(std::string(ParsePrices(bad).status().message()), HasSubstr("--price")) << bad;
}

TEST_F(PlanTest, AMoneyBudgetNeedsPrices) {
  flags_["money_budget"] = "5";
  EXPECT_THAT(std::string(Manifest().status().message()), HasSubstr("--price"));
  flags_["endpoint"] = "https://openrouter.ai/api/v1";
  EXPECT_TRUE(Manifest().ok()) << "it says what an answer cost";
  flags_["endpoint"] = "http://127.0.0.1:1/openrouter";
  EXPECT_THAT(std::string(Manifest().status().message()), HasSubstr("--price"));
  flags_["price"] = "3,15";
  EXPECT_EQ(Manifest()->money_budget_usd(), 5);
}

TEST_F(PlanTest, AWorkloadIsNeeded) {
  flags_["workload"] = "";
  EXPECT_THAT(std::string(Manifest().status().message()), HasSubstr("--workload is needed"));
}

TEST_F(PlanTest, AServiceWithoutADeviceForTheRunIsRefusedBeforeAnythingIsPaidFor) {
  v1::GetCapabilitiesResponse capabilities;
  EXPECT_TRUE(CheckArch(capabilities, "sm_100a").ok()) << "devices may come up yet";
  capabilities.add_devices()->add_archs("sm_90a");
  EXPECT_TRUE(CheckArch(capabilities, "sm_90a").ok());
  EXPECT_EQ(CheckArch(capabilities, "sm_100a").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(CheckArch(capabilities, "sm_100a").message()), HasSubstr("no device for sm_100a"));
  capabilities.add_devices()->add_archs("sm_100a");
  EXPECT_TRUE(CheckArch(capabilities, "sm_100a").ok());
}

TEST_F(PlanTest, EveryWorkloadAndPromptHasItsTrajectoriesWhichShareTheirTexts) {
  const auto folder = *RunFolder::Create(directory_.path() / "run", *Manifest());
  const Settings settings = Resolve();
  Spending spending(0, 0);
  const auto plan = MakePlan(settings, *folder, *WorkloadsOf(settings, WorkloadCatalog::BuiltIn()),
                             {"", "Think of shared memory."}, spending);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->specs.size(), 8u);
  EXPECT_EQ(plan->specs[7].began.trajectory_id(), "exp_007");
  EXPECT_EQ(plan->specs[3].began.prompt(), 1u);
  EXPECT_EQ(plan->specs[4].workload->name(), "gemm_n256_k256/M=8");
  EXPECT_EQ(plan->specs[0].user, plan->specs[1].user) << "one text in memory";
  EXPECT_THAT(*plan->specs[2].user, HasSubstr("Think of shared memory."));
  EXPECT_THAT(*plan->specs[0].user, ::testing::Not(HasSubstr("Think of shared memory.")));
  EXPECT_EQ(*ReadPrompt(folder->path(), plan->specs[2].began.user_sha256()), *plan->specs[2].user);
  EXPECT_GT(plan->specs[0].began.parts_size(), 1);
}

TEST_F(PlanTest, ARunThatGoesOnHasItsOwnSettingsAgain) {
  flags_["label"] = "first";
  flags_["parallel"] = "3";
  const v1::RunManifest manifest = *Manifest();
  flags_ = {{"parallel", "9"}};
  environment_["SASSAY_LABEL"] = "of the environment";
  const auto again = SettingsOf(manifest, Resolve(), environment_, directory_.path());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->Text("label"), "first");
  EXPECT_EQ(again->Count("turns"), 3u);
  EXPECT_EQ(again->Count("parallel"), 9u) << "how fast it goes may change";
  flags_ = {{"turns", "12"}};
  EXPECT_THAT(std::string(SettingsOf(manifest, Resolve(), {}, directory_.path()).status().message()),
              HasSubstr("--turns is \"3\" in this run"));
}

TEST_F(PlanTest, WhatTheLogsTellIsTakenFromThem) {
  const v1::RunManifest manifest = *Manifest();
  const auto folder = *RunFolder::Create(directory_.path() / "run", manifest);
  const Settings settings = Resolve();
  const std::vector<v1::Workload> workloads = *WorkloadsOf(settings, WorkloadCatalog::BuiltIn());
  Spending none(0, 0), spending(0, 0);
  const RunPlan fresh = *MakePlan(settings, *folder, workloads, {""}, none);
  const auto log = *folder->OpenLog("exp_001", absl::Now);
  v1::TrajectoryRecord record;
  *record.mutable_began() = fresh.specs[1].began;
  record.mutable_began()->set_user_sha256(*folder->WritePrompt("as it was asked then"));
  ASSERT_TRUE(log->Append(record).ok());
  record.mutable_asked();
  ASSERT_TRUE(log->Append(record).ok());
  record.mutable_answered()->mutable_usage()->set_prompt_tokens(77);
  ASSERT_TRUE(log->Append(record).ok());
  const auto plan = MakePlan(settings, *folder, workloads, {""}, spending);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(*plan->specs[1].user, "as it was asked then");
  EXPECT_EQ(spending.total().prompt_tokens(), 77u);
  const auto summary = SummaryOf(*folder, absl::UnavailableError("no service"));
  EXPECT_EQ(summary->usage().prompt_tokens(), 77u);
  EXPECT_EQ(summary->trajectories(), 4u);
  EXPECT_EQ(summary->state(), "paused");
  EXPECT_THAT(RenderSummary(*summary, Style(false)), HasSubstr("paused: no service"));
}

TEST_F(PlanTest, AChangedDefinitionWantsANewRun) {
  const auto folder = *RunFolder::Create(directory_.path() / "run", *Manifest());
  const Settings settings = Resolve();
  std::vector<v1::Workload> workloads = *WorkloadsOf(settings, WorkloadCatalog::BuiltIn());
  Spending spending(0, 0);
  const RunPlan fresh = *MakePlan(settings, *folder, workloads, {""}, spending);
  v1::TrajectoryRecord record;
  *record.mutable_began() = fresh.specs[0].began;
  ASSERT_TRUE((*folder->OpenLog("exp_000", absl::Now))->Append(record).ok());
  workloads[0].set_definition_sha256(std::string(32, 'x'));
  EXPECT_EQ(MakePlan(settings, *folder, workloads, {""}, spending).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(PlanTest, AFolderDoesNotDecideWhoGetsAKey) {
  flags_["endpoint"] = "https://models.example/v1";
  const v1::RunManifest manifest = *Manifest();
  flags_ = {};
  const auto go_on = [&] { return SettingsOf(manifest, Resolve(), environment_, directory_.path()); };
  EXPECT_TRUE(go_on().ok()) << "no key, no harm: " << go_on().status();
  environment_["SASSAY_API_KEY"] = "sk-1";
  EXPECT_EQ(go_on().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(go_on().status().message()),
              AllOf(HasSubstr("models.example"), HasSubstr("--endpoint once more")));
  flags_["endpoint"] = "https://models.example/v1";
  EXPECT_TRUE(go_on().ok()) << go_on().status();
  flags_["endpoint"] = "https://models.example.org/v1";
  EXPECT_EQ(go_on().status().code(), absl::StatusCode::kInvalidArgument);
  flags_ = {};
  environment_["SASSAY_ENDPOINT"] = "https://models.example";
  EXPECT_TRUE(go_on().ok()) << go_on().status();
}

TEST_F(PlanTest, AFolderDoesNotDecideWhichProgramRuns) {
  flags_["model"] = "command:rm -rf /";
  const v1::RunManifest manifest = *Manifest();
  flags_ = {};
  EXPECT_THAT(std::string(SettingsOf(manifest, Resolve(), {}, directory_.path()).status().message()),
              HasSubstr("would execute \"rm -rf /\""));
  flags_["model"] = "command:rm -rf /";
  EXPECT_TRUE(SettingsOf(manifest, Resolve(), {}, directory_.path()).ok());
}

TEST_F(PlanTest, AFolderHasNoOtherSettingsThanThoseOfItsRecord) {
  v1::RunManifest manifest = *Manifest();
  for (const auto& [name, value] : std::map<std::string, std::string>{{"allow_unsandboxed", "true"},
                                                                      {"api_key_file", "/home/me/.ssh/id_ed25519"},
                                                                      {"cuda", "66.6"},
                                                                      {"cuda_home", "/tmp/evil"},
                                                                      {"insecure_endpoint", "true"},
                                                                      {"service", "evil.example:1"},
                                                                      {"token", "t"}}) {
    (*manifest.mutable_settings())[name] = value;
  }
  flags_ = {};
  const auto settings = SettingsOf(manifest, Resolve(), {}, directory_.path());
  ASSERT_TRUE(settings.ok()) << settings.status();
  for (const char* name :
       {"allow_unsandboxed", "api_key_file", "cuda", "cuda_home", "insecure_endpoint", "service", "token"})
    EXPECT_EQ(settings->Origin(name), "default") << name;
}

TEST_F(PlanTest, MoreTrajectoriesThanAReaderTakesAreRefused) {
  flags_["trajectories"] = "4294967297";
  EXPECT_THAT(std::string(Manifest().status().message()), HasSubstr("--trajectories is at most 100000"));
  flags_["trajectories"] = "60000";
  const auto folder = *RunFolder::Create(directory_.path() / "run", *Manifest());
  const Settings settings = Resolve();
  Spending spending(0, 0);
  EXPECT_THAT(
      std::string(MakePlan(settings, *folder, *WorkloadsOf(settings, WorkloadCatalog::BuiltIn()), {""}, spending)
                      .status()
                      .message()),
      HasSubstr("120000 trajectories"));
}

TEST_F(PlanTest, NoCredentialIsKept) {
  environment_["SASSAY_TOKEN"] = "secret-token";
  environment_["SASSAY_API_KEY"] = "secret-key";
  flags_["endpoint"] = "http://127.0.0.1:1";
  const std::string text = Manifest()->DebugString();
  EXPECT_THAT(text, ::testing::Not(HasSubstr("secret-")));
}

}  // namespace
}  // namespace sassay::agent
