// A data set whose repairs and reasoning come from models behind HTTP, each repair judged by the real service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/end_to_end/rollouts_fixture.h"

namespace sassay::testing {
namespace {

namespace fs = std::filesystem;
using agent::AnswerRequest;
using agent::ScriptedAnswer;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kNoCuda[] = "extern \"C\" void run() { this is no CUDA }";
constexpr char kDoesNothing[] = "extern \"C\" void run(const void*, const void*, void*, long long, void*) { }";

// Two failures. The teacher repairs the first; what it makes of the second is wrong, too.
ScriptedAnswer Answer(const AnswerRequest& request) {
  ScriptedAnswer answer;
  const std::string model = request.body["model"];
  const std::string said = request.body["messages"].dump();
  if (model == "student") answer.text = Block(request.trajectory_id == "exp_000" ? kNoCuda : kDoesNothing);
  if (model == "teacher") {
    answer.text = absl::StrContains(said, "this is no CUDA")
                      ? absl::StrCat("It was no CUDA.\n", Block(NaiveKernel()))
                      : absl::StrCat("It did nothing.\n", Block(absl::StrCat("// still\n", kDoesNothing)));
  }
  if (model == "explainer")
    answer.text = absl::StrCat("First I ask what the compiler says. My key is ", kModelKey, ".");
  return answer;
}

class DatasetTeacherTest : public RolloutsTest {
 protected:
  void MakeRun() {
    std::vector<std::string> arguments = New("run", 2, 1);
    for (std::string& argument : arguments) {
      if (argument == "scripted") argument = "student";
    }
    const AgentResult result = RunAgent(With(arguments), absl::Seconds(120));
    ASSERT_EQ(result.exit_code, 0) << result.stderr_text;
  }
  AgentResult MakeDataset() const {
    return RunAgent(With({"dataset", "fixit", Folder("run").string(), "-o", Folder("fixit.jsonl").string(), "--teacher",
                          "teacher", "--reasoning-model", "explainer", "--endpoint", model_->url()}),
                    absl::Seconds(120));
  }
};

TEST_F(DatasetTeacherTest, RepairsOfAModelBehindHttpAreVerifiedAndPaidForOnce) {
  StartModel(agent::WithRandomFaults(Answer, 5, 0.4));
  ASSERT_NO_FATAL_FAILURE(MakeRun());
  const size_t before = model_->Counts().size();
  const AgentResult result = MakeDataset();
  ASSERT_EQ(result.exit_code, 0) << result.stderr_text;
  EXPECT_EQ(result.json["records"], 1) << result.stdout_text;
  EXPECT_EQ(model_->Counts().size(), before + 3) << "two repairs and the reasoning of the one that is right";
  const std::string text = *ReadFile(Folder("fixit.jsonl"));
  const json record = json::parse(absl::string_view(text).substr(0, text.find('\n')));
  ASSERT_EQ(record["messages"].size(), 5u);
  EXPECT_THAT(record["messages"][2]["content"].get<std::string>(), HasSubstr("this is no CUDA"));
  const std::string solution = record["messages"][4]["content"];
  EXPECT_THAT(solution, HasSubstr("<think>\nFirst I ask what the compiler says."));
  EXPECT_THAT(solution, HasSubstr("It was no CUDA."));
  EXPECT_THAT(solution, HasSubstr("GemmNaive"));
  const json card = json::parse(*ReadFile(Folder("fixit.card.json")));
  const json asked = card.value("asked_of_other_models", json::object());
  EXPECT_EQ(asked.value("repairs_asked", -1), 2) << asked;
  EXPECT_EQ(asked.value("repairs_refuted_by_the_service", -1), 1) << asked;
  EXPECT_EQ(asked.value("repairs_verified", -1), 1) << asked;
  EXPECT_EQ(asked.value("reasonings_given", -1), 1) << asked;

  const size_t requests = model_->Requests().size();
  ASSERT_TRUE(fs::remove(Folder("fixit.jsonl")));
  ASSERT_EQ(MakeDataset().exit_code, 0);
  EXPECT_EQ(*ReadFile(Folder("fixit.jsonl")), text) << "the same bytes";
  EXPECT_EQ(model_->Requests().size(), requests) << "nobody was asked again";
  for (const auto& entry : fs::recursive_directory_iterator(directory_->path())) {
    if (!entry.is_regular_file() || entry.path() == Folder("key")) continue;
    EXPECT_FALSE(absl::StrContains(*ReadFile(entry.path()), kModelKey)) << entry.path();
  }
}

TEST_F(DatasetTeacherTest, ATeacherThatCannotBeAskedEndsItAndWhatWasAnsweredIsKept) {
  StartModel(Answer);
  ASSERT_NO_FATAL_FAILURE(MakeRun());
  StartModel([](const AnswerRequest& request) {
    ScriptedAnswer answer = Answer(request);
    if (request.body["model"] == "explainer") answer.fault = agent::ServerFault::kHttpError;
    answer.status = 404;
    return answer;
  });
  const AgentResult refused = MakeDataset();
  EXPECT_EQ(refused.exit_code, 2) << refused.stderr_text;
  EXPECT_THAT(refused.stderr_text, HasSubstr("404 Not Found"));
  EXPECT_FALSE(fs::exists(Folder("fixit.jsonl")));
  StartModel(Answer);
  ASSERT_EQ(MakeDataset().exit_code, 0);
  ASSERT_EQ(model_->Requests().size(), 1u) << "the repairs were kept";
  EXPECT_EQ(model_->Requests()[0].body["model"], "explainer");
}

}  // namespace
}  // namespace sassay::testing
