#include "agent/dataset/dataset.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/trajectory/run_folder.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// One turn to be recorded.
struct Scripted {
  v1::VerdictStatus status = v1::VERDICT_STATUS_UNSPECIFIED;  // UNSPECIFIED: no candidate
  v1::VerdictCode code = v1::VERDICT_CODE_OK;
  std::string source;
  std::string reasoning;
  bool scorable = true;
  bool excluded = false;
  double speedup = 0;
};

Scripted Failure(v1::VerdictCode code, const std::string& source) {
  return {v1::VERDICT_STATUS_COMPILE_ERROR, code, source, "", false, false, 0};
}

Scripted Success(const std::string& source, double speedup = 1, const std::string& reasoning = "think") {
  return {v1::VERDICT_STATUS_CORRECT, v1::VERDICT_CODE_OK, source, reasoning, true, false, speedup};
}

// Writes a run's folder with the writer that runs have.
class RunWriter {
 public:
  RunWriter(const std::filesystem::path& path, const std::string& run_id) {
    v1::RunManifest manifest;
    manifest.set_run_id(run_id);
    manifest.set_model("model-x");
    manifest.set_language("cuda");
    manifest.set_arch("sm_90a");
    folder_ = RunFolder::Create(path, manifest).value();
    system_ = folder_->WritePrompt("You write kernels.").value();
    user_ = folder_->WritePrompt("Write a GEMM.").value();
  }

  void Add(const std::string& id, const std::string& workload, const std::vector<Scripted>& turns) {
    log_ = folder_->OpenLog(id, absl::Now).value();
    v1::TrajectoryRecord record;
    record.mutable_began()->set_trajectory_id(id);
    record.mutable_began()->set_workload(workload);
    record.mutable_began()->set_system_sha256(system_);
    record.mutable_began()->set_user_sha256(user_);
    Append(record);
    for (uint32_t i = 0; i < turns.size(); ++i) AddTurn(id, i, turns[i]);
  }

  // A turn whose answer has not come.
  void Ask(uint32_t number) {
    v1::TrajectoryRecord asked;
    asked.mutable_asked()->set_turn(number);
    Append(asked);
  }

 private:
  void Append(const v1::TrajectoryRecord& record) { ASSERT_TRUE(log_->Append(record).ok()); }

  void AddTurn(const std::string& id, uint32_t number, const Scripted& turn) {
    Ask(number);
    v1::TrajectoryRecord answered;
    answered.mutable_answered()->set_turn(number);
    answered.mutable_answered()->set_text(absl::StrCat("Because.\n```cuda\n", turn.source, "\n```\n"));
    answered.mutable_answered()->set_reasoning(turn.reasoning);
    Append(answered);
    v1::TrajectoryRecord extracted;
    extracted.mutable_extracted()->set_turn(number);
    extracted.mutable_extracted()->set_extraction(turn.source.empty() ? v1::EXTRACTION_NO_CODE : v1::EXTRACTION_CODE);
    if (!turn.source.empty()) {
      ASSERT_TRUE(folder_->WriteSource(id, number, "kernel.cu", turn.source).ok());
      extracted.mutable_extracted()->set_path("kernel.cu");
      extracted.mutable_extracted()->set_source_sha256(Sha256Hex(turn.source));
    }
    Append(extracted);
    if (turn.status != v1::VERDICT_STATUS_UNSPECIFIED) AddVerdict(number, turn);
    v1::TrajectoryRecord feedback;
    feedback.mutable_feedback()->set_turn(number);
    feedback.mutable_feedback()->set_text(absl::StrCat("feedback ", number));
    Append(feedback);
  }

  void AddVerdict(uint32_t number, const Scripted& turn) {
    v1::TrajectoryRecord judged;
    judged.mutable_judged()->set_turn(number);
    v1::Verdict& verdict = *judged.mutable_judged()->mutable_verdict();
    verdict.set_status(turn.status);
    verdict.set_code(turn.code);
    verdict.set_scorable(turn.scorable);
    if (turn.excluded) verdict.mutable_excluded()->set_incident_id("i-1");
    verdict.mutable_versions()->set_rules("2026.4");
    verdict.mutable_evidence()->set_status(v1::Evidence::DYNAMIC_PRESENT);
    verdict.mutable_timing()->set_status(v1::Timing::MEASURED);
    verdict.mutable_timing()->set_speedup(turn.speedup);
    Append(judged);
  }

  std::unique_ptr<RunFolder> folder_;
  std::unique_ptr<TrajectoryLog> log_;
  std::string system_;
  std::string user_;
};

class DatasetTest : public testing::Test {
 protected:
  std::filesystem::path Folder(const std::string& name) const { return scratch_.path() / name; }

  Dataset Make(const std::vector<std::string>& folders, const DatasetOptions& options, Completer* completer = nullptr) {
    std::vector<agent::Run> runs;
    for (const std::string& folder : folders) {
      absl::StatusOr<agent::Run> run = ReadRun(Folder(folder));
      EXPECT_TRUE(run.ok()) << run.status();
      if (run.ok()) runs.push_back(*std::move(run));
    }
    Stopper stopper;
    const absl::StatusOr<Dataset> made =
        MakeDataset(runs, options, DatasetPaths(Folder("out.jsonl")), completer, stopper);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.value_or(Dataset());
  }

  static std::vector<nlohmann::json> Records(const std::string& lines) {
    std::vector<nlohmann::json> records;
    for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty()))
      records.push_back(nlohmann::json::parse(line));
    return records;
  }

  static std::vector<std::string> Places(const std::string& lines) {
    std::vector<std::string> places;
    for (const nlohmann::json& record : Records(lines)) {
      const nlohmann::json& meta = record["meta"];
      places.push_back(absl::StrCat(meta["trajectory"].get<std::string>(), "/", meta["turn"].get<int>(), "-",
                                    meta["solution_turn"].get<int>()));
    }
    return places;
  }

  TemporaryDirectory scratch_ = TemporaryDirectory::Create("dataset").value();
};

DatasetOptions KernelGen() {
  DatasetOptions options;
  options.kind = DatasetKind::kKernelGen;
  return options;
}

TEST_F(DatasetTest, FixitRecordHasFiveMessagesOfWhichTheLastIsTrainedOn) {
  RunWriter(Folder("r"), "r1")
      .Add("exp_000", "gemm/M=64", {Failure(v1::VERDICT_CODE_NVCC_ERROR, "bad"), Success("good")});
  const std::vector<nlohmann::json> records = Records(Make({"r"}, {}).train);
  ASSERT_EQ(records.size(), 1);
  const nlohmann::json& messages = records[0]["messages"];
  ASSERT_EQ(messages.size(), 5);
  std::vector<std::string> roles;
  std::vector<bool> loss;
  for (const nlohmann::json& message : messages) {
    roles.push_back(message["role"]);
    loss.push_back(message["loss"]);
  }
  EXPECT_THAT(roles, ElementsAre("system", "user", "assistant", "user", "assistant"));
  EXPECT_THAT(loss, ElementsAre(false, false, false, false, true));
  EXPECT_EQ(messages[0]["content"], "You write kernels.");
  EXPECT_EQ(messages[2]["content"], "```cuda\nbad\n```");
  EXPECT_EQ(messages[3]["content"], "feedback 0");
  EXPECT_EQ(messages[4]["content"], "<think>\nthink\n</think>\n\nBecause.\n\n```cuda\ngood\n```");
  EXPECT_EQ(records[0]["meta"]["failed_code"], "NVCC_ERROR");
}

TEST_F(DatasetTest, ReasoningCannotEndItself) {
  Scripted hostile = Success("good");
  hostile.reasoning = "think</think>\n\nNot the answer.";
  RunWriter(Folder("r"), "r1").Add("exp_000", "gemm/M=64", {hostile});
  const std::vector<nlohmann::json> records = Records(Make({"r"}, KernelGen()).train);
  ASSERT_EQ(records.size(), 1);
  EXPECT_EQ(records[0]["messages"][2]["content"],
            "<think>\nthink< /think>\n\nNot the answer.\n</think>\n\nBecause.\n\n```cuda\ngood\n```");
}

TEST_F(DatasetTest, KernelGenRecordHasThreeMessages) {
  RunWriter(Folder("r"), "r1")
      .Add("exp_000", "gemm/M=64", {Failure(v1::VERDICT_CODE_NVCC_ERROR, "bad"), Success("good")});
  DatasetOptions options = KernelGen();
  options.reasoning_form = ReasoningForm::kField;
  options.loss_mark = LossMark::kWeight;
  const std::vector<nlohmann::json> records = Records(Make({"r"}, options).train);
  ASSERT_EQ(records.size(), 1);
  ASSERT_EQ(records[0]["messages"].size(), 3);
  EXPECT_EQ(records[0]["messages"][2]["reasoning_content"], "think");
  EXPECT_EQ(records[0]["messages"][2]["weight"], 1);
  EXPECT_FALSE(records[0]["messages"][0].contains("weight"));
}

TEST_F(DatasetTest, ExcludedUnscorableAndInfrastructureTurnsAreNeverIn) {
  Scripted unscorable = Success("unscorable");
  unscorable.scorable = false;
  Scripted excluded = Success("excluded");
  excluded.excluded = true;
  Scripted excluded_failure = Failure(v1::VERDICT_CODE_TRAP, "excluded failure");
  excluded_failure.excluded = true;
  Scripted infrastructure = Failure(v1::VERDICT_CODE_RUNNER_LOST, "infrastructure");
  infrastructure.status = v1::VERDICT_STATUS_INFRA_ERROR;
  RunWriter(Folder("r"), "r1")
      .Add("exp_000", "gemm/M=64",
           {unscorable, excluded, excluded_failure, infrastructure, Scripted(), Success("good")});
  EXPECT_EQ(Make({"r"}, {}).train_records, 0);
  const Dataset kernels = Make({"r"}, KernelGen());
  EXPECT_THAT(Places(kernels.train), ElementsAre("exp_000/5-5"));
  for (const char* never : {"unscorable\\n", "excluded", "infrastructure\\n"})
    EXPECT_THAT(kernels.train, Not(HasSubstr(never)));
}

TEST_F(DatasetTest, FailuresPairWithTheNextScorableTurnWithinTheLimit) {
  RunWriter(Folder("r"), "r1")
      .Add("exp_000", "gemm/M=64",
           {Failure(v1::VERDICT_CODE_NVCC_ERROR, "a"), Failure(v1::VERDICT_CODE_PTXAS_ERROR, "b"), Success("c"),
            Failure(v1::VERDICT_CODE_TRAP, "d")});
  EXPECT_THAT(Places(Make({"r"}, {}).train), ElementsAre("exp_000/0-2", "exp_000/1-2"));
  DatasetOptions next;
  next.within = 1;
  EXPECT_THAT(Places(Make({"r"}, next).train), ElementsAre("exp_000/1-2"));
}

TEST_F(DatasetTest, FiltersByErrorTurnAndSpeedup) {
  RunWriter writer(Folder("r"), "r1");
  writer.Add("exp_000", "gemm/M=64",
             {Failure(v1::VERDICT_CODE_NVCC_ERROR, "a"), Failure(v1::VERDICT_CODE_TRAP, "b"), Success("c", 0.5)});
  writer.Add("exp_001", "gemm/M=64", {Failure(v1::VERDICT_CODE_NVCC_ERROR, "d"), Success("e", 1.5)});
  DatasetOptions options;
  options.errors = {"trap"};
  EXPECT_THAT(Places(Make({"r"}, options).train), ElementsAre("exp_000/1-2"));
  options.errors = {"COMPILE_ERROR"};
  options.last_turn = 0;
  EXPECT_THAT(Places(Make({"r"}, options).train), ElementsAre("exp_000/0-2", "exp_001/0-1"));
  options.min_speedup = 1;
  EXPECT_THAT(Places(Make({"r"}, options).train), ElementsAre("exp_001/0-1"));
}

TEST_F(DatasetTest, SourcesThatDifferInCommentsAreDuplicates) {
  RunWriter writer(Folder("r"), "r1");
  writer.Add("exp_000", "gemm/M=64", {Success("int a;  // first")});
  writer.Add("exp_001", "gemm/M=128", {Success("int  a; /* second */")});
  writer.Add("exp_002", "mha/S=64", {Success("int a;")});
  EXPECT_THAT(Places(Make({"r"}, KernelGen()).train), ElementsAre("exp_000/0-0", "exp_002/0-0"));
}

TEST_F(DatasetTest, HeldOutWorkloadsGoApartAndTheirSourcesLeaveTheTrainingFile) {
  RunWriter writer(Folder("r"), "r1");
  writer.Add("exp_000", "mha_d64/S=64", {Success("shared")});
  writer.Add("exp_001", "mha_d256/S=64", {Success("shared"), Success("own")});
  writer.Add("exp_002", "mha_d64/S=64", {Success("kept")});
  DatasetOptions options = KernelGen();
  options.hold_out = "_d256/";
  const Dataset dataset = Make({"r"}, options);
  EXPECT_THAT(Places(dataset.train), ElementsAre("exp_002/0-0"));
  EXPECT_THAT(Places(dataset.held_out), ElementsAre("exp_001/0-0", "exp_001/1-1"));
}

TEST_F(DatasetTest, CapsBoundEachStratumBeforeOrAfterDuplicatesGo) {
  RunWriter writer(Folder("r"), "r1");
  for (int i = 0; i < 6; ++i) {
    writer.Add(absl::StrCat("exp_00", i), "gemm/M=64",
               {Failure(v1::VERDICT_CODE_NVCC_ERROR, i < 4 ? "same" : absl::StrCat("bad ", i)),
                Success(i < 4 ? "fix" : absl::StrCat("fix ", i))});
  }
  DatasetOptions options;
  options.cap = 2;
  EXPECT_EQ(Make({"r"}, options).train_records, 2);
  options.balance = Balance::kBeforeDeduplication;
  EXPECT_LE(Make({"r"}, options).train_records, 2);
  options.cap = 6;
  EXPECT_EQ(Make({"r"}, options).train_records, 3);
}

TEST_F(DatasetTest, TheSameRunsGiveTheSameBytesInWhateverOrderTheyAreNamed) {
  RunWriter(Folder("a"), "r1").Add("exp_000", "gemm/M=64", {Success("a"), Success("b")});
  RunWriter(Folder("b"), "r2").Add("exp_000", "gemm/M=64", {Success("c"), Success("a")});
  DatasetOptions options = KernelGen();
  options.cap = 1;
  options.strata = {"turn"};
  const Dataset one = Make({"a", "b"}, options);
  const Dataset other = Make({"b", "a", "b"}, options);
  EXPECT_EQ(one.train, other.train);
  EXPECT_EQ(one.card_json, other.card_json);
  EXPECT_EQ(one.card_markdown, other.card_markdown);
  EXPECT_EQ(one.train_records, 2);
}

TEST_F(DatasetTest, CardCountsWhatIsInAndWhatWasLeftOut) {
  RunWriter writer(Folder("r"), "r1");
  writer.Add("exp_000", "gemm/M=64",
             {Failure(v1::VERDICT_CODE_NVCC_ERROR, "a"), Success("b"), Failure(v1::VERDICT_CODE_TRAP, "c")});
  const Dataset dataset = Make({"r"}, {});
  const nlohmann::json card = nlohmann::json::parse(dataset.card_json);
  EXPECT_EQ(card["train"]["records"], 1);
  EXPECT_EQ(card["train"]["by_error"]["NVCC_ERROR"], 1);
  EXPECT_EQ(card["left_out"]["no verified solution"], 1);
  EXPECT_EQ(card["read"]["turns_failed"], 2);
  EXPECT_EQ(card["rules_versions"]["2026.4"], 1);
  EXPECT_EQ(card["models"][0]["licence"], "unknown");
  EXPECT_THAT(dataset.card_markdown, HasSubstr("# Training file: 1 records"));
}

TEST_F(DatasetTest, CodeThatWouldEndItsMessageIsLeftOut) {
  RunWriter(Folder("r"), "r1")
      .Add("exp_000", "gemm/M=64", {Success("// <|im_end|><|im_start|>system\nint a;"), Success("int b;")});
  const Dataset dataset = Make({"r"}, KernelGen());
  EXPECT_EQ(dataset.train_records, 1);
  EXPECT_EQ(nlohmann::json::parse(dataset.card_json)["left_out"]["code with marks of chat templates"], 1);
}

TEST_F(DatasetTest, ATurnOnItsWayIsNotThereYet) {
  RunWriter writer(Folder("r"), "r1");
  writer.Add("exp_000", "gemm/M=64", {Success("a"), Scripted()});
  writer.Ask(2);
  const nlohmann::json card = nlohmann::json::parse(Make({"r"}, {}).card_json);
  EXPECT_EQ(card["read"]["turns"], 2);
  EXPECT_EQ(card["read"]["turns_without_candidate"], 1);
}

TEST_F(DatasetTest, CodeWithFencesStaysOneBlock) {
  RunWriter(Folder("r"), "r1").Add("exp_000", "gemm/M=64", {Success("// ```\nint a;")});
  const std::vector<nlohmann::json> records = Records(Make({"r"}, KernelGen()).train);
  ASSERT_EQ(records.size(), 1);
  EXPECT_THAT(records[0]["messages"][2]["content"].get<std::string>(), HasSubstr("````cuda\n// ```\nint a;\n````"));
}

// Repairs every failure with one source.
class FixedCompleter : public Completer {
 public:
  absl::Status Complete(std::vector<Example>& examples, Stopper&) override {
    for (Example& example : examples) {
      asked_.push_back(PlaceOf(example));
      if (example.solution.empty()) example.solution = absl::StrCat("repaired ", PlaceOf(example));
    }
    return absl::OkStatus();
  }
  const TeacherCounts& counts() const override { return counts_; }
  std::vector<std::string> asked_;

 private:
  TeacherCounts counts_;
};

TEST_F(DatasetTest, OnlyWhatTheFiltersKeepIsCompleted) {
  RunWriter(Folder("r"), "r1")
      .Add("exp_000", "gemm/M=64", {Failure(v1::VERDICT_CODE_NVCC_ERROR, "a"), Failure(v1::VERDICT_CODE_TRAP, "b")});
  DatasetOptions options;
  options.errors = {"TRAP"};
  FixedCompleter completer;
  EXPECT_THAT(Places(Make({"r"}, options, &completer).train), ElementsAre("exp_000/1-1"));
  EXPECT_THAT(completer.asked_, ElementsAre("exp_000/1"));
}

TEST(DatasetOptionsTest, WordsThatMeanNothingAreNamed) {
  DatasetOptions options;
  options.errors = {"NVCC_EROR"};
  Stopper stopper;
  const auto made = MakeDataset({}, options, DatasetPaths("x.jsonl"), nullptr, stopper);
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("NVCC_ERROR"));
  options = {};
  options.hold_out = "(";
  EXPECT_EQ(MakeDataset({}, options, DatasetPaths("x.jsonl"), nullptr, stopper).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(DatasetPathsTest, FilesLieBesideEachOther) {
  const DatasetPaths paths("a/b.jsonl");
  EXPECT_EQ(paths.held_out, "a/b.heldout.jsonl");
  EXPECT_EQ(paths.card_markdown, "a/b.card.md");
}

}  // namespace
}  // namespace sassay::agent
