#include "agent/interop/flashinfer/trace_export.h"

#include <filesystem>
#include <limits>

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

using testing::HasSubstr;

v1::Verdict Verdict(v1::VerdictStatus status) {
  v1::Verdict verdict;
  verdict.set_status(status);
  verdict.set_reason("why");
  verdict.mutable_versions()->set_device("NVIDIA H200");
  verdict.mutable_versions()->set_rules("2026.4");
  verdict.mutable_decided_at()->set_seconds(1764500000);
  return verdict;
}

v1::Verdict Timed() {
  v1::Verdict verdict = Verdict(v1::VERDICT_STATUS_CORRECT);
  verdict.mutable_timing()->set_status(v1::Timing::MEASURED);
  verdict.mutable_timing()->mutable_candidate()->set_median_ns(2e6);
  verdict.mutable_timing()->mutable_baseline()->set_median_ns(1e6);
  verdict.mutable_timing()->set_speedup(0.5);
  return verdict;
}

class TraceExportTest : public testing::Test {
 protected:
  void Record(const std::vector<v1::Verdict>& verdicts, const std::string& workload = "gemm_n256_k256/M=64") {
    v1::RunManifest manifest;
    manifest.set_run_id("r1");
    manifest.set_model("org/model:1");
    manifest.set_language("cuda");
    manifest.set_arch("sm_90a");
    const auto folder = RunFolder::Create(run(), manifest).value();
    const std::string prompt = folder->WritePrompt("p").value();
    const auto log = folder->OpenLog("exp_000", absl::Now).value();
    v1::TrajectoryRecord began;
    began.mutable_began()->set_trajectory_id("exp_000");
    began.mutable_began()->set_workload(workload);
    began.mutable_began()->set_system_sha256(prompt);
    began.mutable_began()->set_user_sha256(prompt);
    ASSERT_TRUE(log->Append(began).ok());
    for (uint32_t i = 0; i < verdicts.size(); ++i) Add(*folder, *log, i, verdicts[i]);
  }

  void Add(RunFolder& folder, TrajectoryLog& log, uint32_t turn, const v1::Verdict& verdict) {
    v1::TrajectoryRecord asked, answered, extracted, judged;
    asked.mutable_asked()->set_turn(turn);
    answered.mutable_answered()->set_turn(turn);
    const std::string source = absl::StrCat("source ", turn / 2);
    ASSERT_TRUE(folder.WriteSource("exp_000", turn, "kernel.cu", source).ok());
    extracted.mutable_extracted()->set_turn(turn);
    extracted.mutable_extracted()->set_extraction(v1::EXTRACTION_CODE);
    extracted.mutable_extracted()->set_path("kernel.cu");
    extracted.mutable_extracted()->set_source_sha256(Sha256Hex(source));
    judged.mutable_judged()->set_turn(turn);
    *judged.mutable_judged()->mutable_verdict() = verdict;
    for (const v1::TrajectoryRecord& record : {asked, answered, extracted, judged})
      ASSERT_TRUE(log.Append(record).ok());
  }

  v1::TraceExportReport Export() {
    const std::vector<agent::Run> runs = {ReadRun(run()).value()};
    const auto report = ExportFlashInferTrace(runs, WorkloadCatalog::BuiltIn(), output());
    EXPECT_TRUE(report.ok()) << report.status();
    return report.value_or(v1::TraceExportReport());
  }

  std::vector<nlohmann::json> Lines(const std::string& path) {
    std::vector<nlohmann::json> lines;
    const std::string text = ReadFile(output() / path).value_or("");
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty()))
      lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

  std::filesystem::path run() const { return scratch_.path() / "run"; }
  std::filesystem::path output() const { return scratch_.path() / "out"; }
  TemporaryDirectory scratch_ = TemporaryDirectory::Create("export").value();
};

TEST_F(TraceExportTest, ATimedTurnIsPassedWithItsLatencies) {
  Record({Timed()});
  const v1::TraceExportReport report = Export();
  EXPECT_EQ(report.traces(), 1);
  const auto traces = Lines("traces/org_model_1/gemm/gemm_n256_k256.jsonl");
  ASSERT_EQ(traces.size(), 1);
  const nlohmann::json& evaluation = traces[0]["evaluation"];
  EXPECT_EQ(evaluation["status"], "PASSED");
  EXPECT_EQ(evaluation["performance"]["latency_ms"], 2.0);
  EXPECT_EQ(evaluation["performance"]["speedup_factor"], 0.5);
  EXPECT_EQ(evaluation["correctness"]["max_relative_error"], "NaN");
  EXPECT_EQ(evaluation["environment"]["hardware"], "NVIDIA H200");
  EXPECT_EQ(traces[0]["workload"]["axes"]["M"], 64);
  const auto workloads = Lines("workloads/gemm/gemm_n256_k256.jsonl");
  ASSERT_EQ(workloads.size(), 1);
  EXPECT_EQ(workloads[0]["workload"]["uuid"], traces[0]["workload"]["uuid"]);
  EXPECT_TRUE(std::filesystem::exists(output() / "definitions/gemm/gemm_n256_k256.json"));
}

TEST_F(TraceExportTest, ErrorsAreTheLargestOfAllOutputsOrNotKnown) {
  v1::Verdict known = Timed();
  for (const double error : {0.25, 0.5, 0.125}) {
    v1::OutputComparison& output = *known.mutable_numerics()->add_outputs();
    output.set_output(absl::StrCat("O", error));
    output.set_max_abs_error(error);
    output.set_max_relative_error(2 * error);
  }
  v1::Verdict older = known;
  older.mutable_numerics()->mutable_outputs(0)->clear_max_relative_error();
  Record({known, older});
  Export();
  const auto traces = Lines("traces/org_model_1/gemm/gemm_n256_k256.jsonl");
  ASSERT_EQ(traces.size(), 2);
  EXPECT_EQ(traces[0]["evaluation"]["correctness"]["max_absolute_error"], 0.5);
  EXPECT_EQ(traces[0]["evaluation"]["correctness"]["max_relative_error"], 1.0);
  EXPECT_EQ(traces[1]["evaluation"]["correctness"]["max_relative_error"], "NaN");
}

TEST_F(TraceExportTest, TimesThatAreNoNumbersAreNone) {
  v1::Verdict hostile = Timed();
  hostile.mutable_timing()->set_speedup(std::numeric_limits<double>::infinity());
  Record({hostile});
  EXPECT_EQ(Export().turns_without_time(), 1);
}

TEST_F(TraceExportTest, FailuresKeepTheSchemasRules) {
  Record({Verdict(v1::VERDICT_STATUS_COMPILE_ERROR), Verdict(v1::VERDICT_STATUS_SANITIZER_ERROR),
          Verdict(v1::VERDICT_STATUS_INCORRECT_NUMERICAL), Verdict(v1::VERDICT_STATUS_CHEATING)});
  EXPECT_EQ(Export().traces(), 4);
  std::vector<std::string> words;
  for (const nlohmann::json& trace : Lines("traces/org_model_1/gemm/gemm_n256_k256.jsonl")) {
    const nlohmann::json& evaluation = trace["evaluation"];
    words.push_back(evaluation["status"]);
    EXPECT_EQ(evaluation.contains("correctness"), evaluation["status"] == "INCORRECT_NUMERICAL");
    EXPECT_FALSE(evaluation.contains("performance"));
    EXPECT_THAT(evaluation["log"].get<std::string>(), HasSubstr("why"));
  }
  EXPECT_THAT(words, testing::ElementsAre("COMPILE_ERROR", "RUNTIME_ERROR", "INCORRECT_NUMERICAL", "RUNTIME_ERROR"));
}

TEST_F(TraceExportTest, WhatIsNobodysFaultOrHasNoTimeIsCountedOnly) {
  v1::Verdict excluded = Timed();
  excluded.mutable_excluded()->set_incident_id("i");
  Record({Verdict(v1::VERDICT_STATUS_INFRA_ERROR), excluded, Verdict(v1::VERDICT_STATUS_CORRECT)});
  const v1::TraceExportReport report = Export();
  EXPECT_EQ(report.traces(), 0);
  EXPECT_EQ(report.turns_left_out(), 2);
  EXPECT_EQ(report.turns_without_time(), 1);
  EXPECT_EQ(report.solutions(), 1);
}

TEST_F(TraceExportTest, OneSourceIsOneSolution) {
  Record({Timed(), Timed(), Timed()});
  EXPECT_EQ(Export().solutions(), 2);
}

TEST_F(TraceExportTest, UnknownWorkloadsAreNamed) {
  Record({Timed()}, "no_such_definition/M=1");
  const std::vector<agent::Run> runs = {ReadRun(run()).value()};
  const auto report = ExportFlashInferTrace(runs, WorkloadCatalog::BuiltIn(), output());
  EXPECT_EQ(report.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(report.status().message()), HasSubstr("--definitions"));
}

}  // namespace
}  // namespace sassay::agent
