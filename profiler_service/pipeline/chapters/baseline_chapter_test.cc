// Which bundle takes the baseline's place, through the whole pipeline.
#include "profiler_service/pipeline/chapters/baseline_chapter.h"

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/files.h"
#include "common/bundle/bundle.h"
#include "profiler_service/pipeline/testing/pipeline_fixture.h"

namespace sassay::pipeline {
namespace {

class BaselineChapter : public PipelineTest {
 protected:
  // A bundle for "mine/M=64", as an operator would approve it.
  static std::string Bytes(bool other = false) {
    Bundle bundle = admission::ExampleBundle();
    bundle.mutable_plans(0)->set_workload("mine/M=64");
    if (other) bundle.mutable_plans(0)->add_warnings("another one");
    return SerializeBundle(bundle).value();
  }
  std::string Trust(const std::string& bytes) {
    trusted_[Sha256Hex(bytes)] = bytes;
    return Sha256Hex(bytes);
  }
  // The built-in definition of the example under another name, with other references.
  void Define(const std::string& reference, const std::string& baseline) {
    std::string json =
        *ReadFile(std::string(std::getenv("SASSAY_TEST_SOURCE")) + "/common/workload/definitions/gemm_n256_k256.json");
    json = absl::StrReplaceAll(json, {{"\"gemm_n256_k256\"", "\"mine\""},
                                      {"\"builtin:gemm\"", absl::StrCat("\"", reference, "\"")},
                                      {"\"baseline\": \"cublaslt\",",
                                       baseline.empty() ? "" : absl::StrCat("\"baseline\": \"", baseline, "\",")}});
    std::ofstream(folder_.path() / "mine.json") << json;
    auto catalog = WorkloadCatalog::Load({folder_.path()});
    ASSERT_TRUE(catalog.ok()) << catalog.status();
    mine_.emplace(*std::move(catalog));
    catalog_ = &*mine_;
  }
  // `timed`: what the candidate does in each of its timed calls.
  Verdict RunMine(const std::string& candidate, std::vector<FakeKernel> timed = {}) {
    Build(evaluate::HonestGemm);
    lane_->timed_calls_ = std::move(timed);
    Job job = MakeJob("mine/M=64");
    job.bundle_bytes = candidate;
    job.request.set_bundle_sha256(Sha256Hex(candidate));
    return Run(job);
  }

  TemporaryDirectory folder_ = *TemporaryDirectory::Create("baseline-chapter-test");
  absl::optional<WorkloadCatalog> mine_;
};

TEST_F(BaselineChapter, ALibrarysBaselineIsNoBundle) {
  Build(evaluate::HonestGemm);
  EXPECT_TRUE(Run().scorable());
  EXPECT_FALSE(lane_->bundle_baseline_.has_value());
  EXPECT_EQ(lane_->no_baseline_, "");
  EXPECT_FALSE(lane_->anchor_);
}

TEST_F(BaselineChapter, AReferenceThatIsAKernelIsTheBaselineWhereTheDefinitionNamesNone) {
  const std::string digest = Trust(Bytes());
  Define("bundle:sha256:" + digest, "");
  const Verdict verdict = RunMine(Bytes(/*other=*/true));
  ASSERT_EQ(verdict.status(), VERDICT_STATUS_CORRECT) << verdict.reason();
  ASSERT_TRUE(lane_->bundle_baseline_.has_value()) << lane_->no_baseline_;
  EXPECT_EQ(lane_->bundle_baseline_->library(), "trusted bundle");
  EXPECT_EQ(lane_->bundle_baseline_->version(), digest);
  EXPECT_TRUE(verdict.scorable());
}

TEST_F(BaselineChapter, AReferenceThatIsAKernelAnswersForAnyTimedCall) {
  Define("bundle:sha256:" + Trust(Bytes()), "");
  const std::string candidate = Bytes(/*other=*/true);
  EXPECT_EQ(RunMine(candidate, {evaluate::HonestGemm, evaluate::HonestGemm}).status(), VERDICT_STATUS_CORRECT);
  EXPECT_EQ(RunMine(candidate, {evaluate::HonestGemm, Zeros}).code(), VERDICT_CODE_TIMED_OUTPUT_WRONG);
}

TEST_F(BaselineChapter, AnAnswerThatWasRightForEarlierInputsIsWrongForTheNext) {
  Define("bundle:sha256:" + Trust(Bytes()), "");
  evaluate::Memoizer memoizer;
  EXPECT_EQ(RunMine(Bytes(/*other=*/true), {memoizer.Remember(), memoizer.Repeat()}).code(),
            VERDICT_CODE_TIMED_OUTPUT_WRONG);
}

TEST_F(BaselineChapter, ABundleThatTheDefinitionNamesIsTheBaseline) {
  const std::string digest = Trust(Bytes());
  Define("builtin:gemm", "bundle:sha256:" + digest);
  RunMine(Bytes(/*other=*/true));
  ASSERT_TRUE(lane_->bundle_baseline_.has_value()) << lane_->no_baseline_;
  EXPECT_EQ(lane_->bundle_baseline_->version(), digest);
}

TEST_F(BaselineChapter, ABundleThatNobodyApprovedCostsTheRatioAlone) {
  Define("builtin:gemm", "bundle:sha256:" + std::string(64, 'a'));
  const Verdict verdict = RunMine(Bytes());
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT) << verdict.reason();
  EXPECT_FALSE(lane_->bundle_baseline_.has_value());
  EXPECT_EQ(lane_->no_baseline_, "no such reference");
}

TEST_F(BaselineChapter, ATrustedBundleThatAdmissionRefusesIsNoBaseline) {
  const std::string digest = Trust(admission::ExampleBundle().SerializeAsString());
  Define("builtin:gemm", "bundle:sha256:" + digest);
  RunMine(Bytes());
  EXPECT_FALSE(lane_->bundle_baseline_.has_value());
  EXPECT_THAT(lane_->no_baseline_, HasSubstr("was refused: "));
}

TEST_F(BaselineChapter, AgainstItselfIsMeasuredAsAnAnchorAndNotScored) {
  Build(evaluate::HonestGemm);
  Job job = MakeJob();
  job.request.set_baseline(BASELINE_CHOICE_ITSELF);
  const Verdict verdict = Run(job);
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_CORRECT) << verdict.reason();
  ASSERT_TRUE(lane_->bundle_baseline_.has_value()) << lane_->no_baseline_;
  EXPECT_EQ(lane_->bundle_baseline_->library(), "the candidate itself");
  EXPECT_TRUE(lane_->anchor_);
  EXPECT_FALSE(verdict.scorable());
  EXPECT_THAT(verdict.details().notes(), Contains(HasSubstr("timed against itself")));
}

}  // namespace
}  // namespace sassay::pipeline
