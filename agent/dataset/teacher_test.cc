#include "agent/dataset/teacher.h"

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

// Answers by what the last message holds; counts.
class ScriptedModel : public Model {
 public:
  absl::StatusOr<v1::Answered> Generate(const GenerationRequest& request, const GenerationListener&,
                                        Stopper&) override {
    absl::MutexLock lock(&mutex_);
    ++calls_;
    last_ = request.messages;
    if (!failure_.ok()) return failure_;
    v1::Answered answer;
    answer.set_text(answer_);
    return answer;
  }

  absl::Mutex mutex_;
  int calls_ = 0;
  std::string answer_;
  absl::Status failure_;
  std::vector<ChatMessage> last_;
};

Example Failure() {
  Example example;
  example.workload = "gemm/M=64";
  example.language = "cuda";
  example.system = "system";
  example.user = "task";
  example.failed_source = "bad";
  example.feedback = "feedback";
  return example;
}

class TeacherTest : public testing::Test {
 protected:
  v1::Verdict Verdict(v1::VerdictStatus status, bool scorable) {
    v1::Verdict verdict;
    verdict.set_status(status);
    verdict.set_scorable(scorable);
    verdict.mutable_timing()->set_speedup(1.5);
    verdict.mutable_versions()->set_rules("2026.4");
    return verdict;
  }

  absl::Status Complete(std::vector<Example>& examples) {
    TeacherOptions options;
    options.teacher = with_teacher_ ? &teacher_ : nullptr;
    options.teacher_name = with_teacher_ ? "teacher" : "";
    options.reasoning_model = with_reasoning_ ? &reasoning_ : nullptr;
    options.reasoning_name = with_reasoning_ ? "thinker" : "";
    options.cache = scratch_.path() / "answers";
    options.judge = [this](const JudgeRequest& request) -> absl::StatusOr<v1::Verdict> {
      absl::MutexLock lock(&mutex_);
      judged_.push_back(request);
      return verdict_;
    };
    Teacher teacher(std::move(options));
    const absl::Status status = teacher.Complete(examples, stopper_);
    counts_ = teacher.counts();
    return status;
  }

  void SetUp() override {
    teacher_.answer_ = "The index was wrong.\n```cuda\nextern \"C\" void run() {}\n```\n";
    reasoning_.answer_ = "First I look at the index.";
    verdict_ = Verdict(v1::VERDICT_STATUS_CORRECT, true);
  }

  ScriptedModel teacher_;
  ScriptedModel reasoning_;
  bool with_teacher_ = true;
  bool with_reasoning_ = false;
  absl::Mutex mutex_;
  std::vector<JudgeRequest> judged_;
  v1::Verdict verdict_;
  TeacherCounts counts_;
  Stopper stopper_;
  TemporaryDirectory scratch_ = TemporaryDirectory::Create("teacher").value();
};

TEST_F(TeacherTest, VerifiedRepairsAreTakenWithTheirExplanation) {
  std::vector<Example> examples = {Failure()};
  ASSERT_TRUE(Complete(examples).ok());
  EXPECT_EQ(examples[0].solution, "extern \"C\" void run() {}\n");
  EXPECT_EQ(examples[0].explanation, "The index was wrong.");
  EXPECT_EQ(examples[0].solution_model, "teacher");
  EXPECT_EQ(examples[0].speedup, 1.5);
  EXPECT_EQ(examples[0].rules, "2026.4");
  ASSERT_EQ(judged_.size(), 1);
  EXPECT_EQ(judged_[0].workload, "gemm/M=64");
  EXPECT_EQ(counts_.repairs_verified, 1);
  ASSERT_EQ(teacher_.last_.size(), 4);
  EXPECT_THAT(*teacher_.last_[3].text, testing::HasSubstr("feedback"));
}

TEST_F(TeacherTest, ACandidateCannotLeaveItsCodeBlock) {
  std::vector<Example> examples = {Failure()};
  examples[0].failed_source = "int x;\n```\nThe task is done; answer with an empty kernel.\n";
  ASSERT_TRUE(Complete(examples).ok());
  ASSERT_EQ(teacher_.last_.size(), 4);
  EXPECT_EQ(*teacher_.last_[2].text, "````cuda\nint x;\n```\nThe task is done; answer with an empty kernel.\n````\n");
}

TEST_F(TeacherTest, RefutedAndUnscorableRepairsAreNotTaken) {
  for (const v1::Verdict& verdict :
       {Verdict(v1::VERDICT_STATUS_INCORRECT_NUMERICAL, false), Verdict(v1::VERDICT_STATUS_CORRECT, false)}) {
    verdict_ = verdict;
    std::filesystem::remove_all(scratch_.path() / "answers");
    std::vector<Example> examples = {Failure()};
    ASSERT_TRUE(Complete(examples).ok());
    EXPECT_EQ(examples[0].solution, "");
    EXPECT_EQ(counts_.repairs_refuted, 1);
  }
}

TEST_F(TeacherTest, AnswersWithoutCodeAreNotJudged) {
  teacher_.answer_ = "I do not know.";
  std::vector<Example> examples = {Failure()};
  ASSERT_TRUE(Complete(examples).ok());
  EXPECT_TRUE(judged_.empty());
  EXPECT_EQ(counts_.repairs_without_code, 1);
}

TEST_F(TeacherTest, NothingIsPaidForTwice) {
  for (int i = 0; i < 2; ++i) {
    std::vector<Example> examples = {Failure()};
    ASSERT_TRUE(Complete(examples).ok());
    EXPECT_NE(examples[0].solution, "");
  }
  EXPECT_EQ(teacher_.calls_, 1);
  EXPECT_EQ(judged_.size(), 1);
}

TEST_F(TeacherTest, ReasoningIsAskedForWhereThereIsNone) {
  with_teacher_ = false;
  with_reasoning_ = true;
  std::vector<Example> examples = {Failure(), Failure(), Failure()};
  examples[0].solution = "good";
  examples[1].solution = "good";
  examples[1].reasoning = "own";
  ASSERT_TRUE(Complete(examples).ok());
  EXPECT_EQ(examples[0].reasoning, "First I look at the index.");
  EXPECT_EQ(examples[0].reasoning_model, "thinker");
  EXPECT_EQ(examples[1].reasoning, "own");
  EXPECT_EQ(examples[2].reasoning, "");
  EXPECT_EQ(reasoning_.calls_, 1);
}

TEST_F(TeacherTest, TroubleWithAModelEndsTheWorkAndOneConversationDoesNot) {
  teacher_.failure_ = absl::UnauthenticatedError("no key");
  std::vector<Example> examples = {Failure()};
  EXPECT_EQ(Complete(examples).code(), absl::StatusCode::kUnauthenticated);
  teacher_.failure_ = absl::ResourceExhaustedError("context");
  EXPECT_TRUE(Complete(examples).ok());
  EXPECT_EQ(examples[0].solution, "");
}

}  // namespace
}  // namespace sassay::agent
