#include <sstream>

#include "absl/strings/str_cat.h"
#include "agent/cli/app.h"
#include "agent/cli/session.h"
#include "agent/models/testing/scripted_server.h"
#include "common/base/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kKey[] = "sk-very-secret-1234";

class ModelCommandTest : public ::testing::Test {
 protected:
  ModelCommandTest() {
    answer_.text = "ready";
    options_.api_key = kKey;
    environment_ = {{"HOME", home_.path()}, {"SASSAY_API_KEY", kKey}};
    Serve();
  }
  void Serve() {
    server_ = *ScriptedServer::Start([this](const AnswerRequest&) { return answer_; }, options_);
  }
  int Check(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"model", "check", "--model", "m-1", "--endpoint", server_->url()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }
  int Run(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    return RunAgent(arguments, {&out_, &err_, false, false, environment_, home_.path()});
  }

  TemporaryDirectory home_ = *TemporaryDirectory::Create("model_command_test");
  ScriptedAnswer answer_;
  ScriptedServerOptions options_;
  std::map<std::string, std::string> environment_;
  std::unique_ptr<ScriptedServer> server_;
  std::ostringstream out_, err_;
};

TEST_F(ModelCommandTest, TellsWhatAModelAnswersWith) {
  EXPECT_EQ(Check(), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("m-1"), HasSubstr("\"ready\", ended by stop"), HasSubstr("1000 sent"),
                                HasSubstr("100 received"), HasSubstr("first token after")));
}

TEST_F(ModelCommandTest, JsonIsTheAnswer) {
  EXPECT_EQ(Check({"--json"}), 0);
  const nlohmann::json answer = nlohmann::json::parse(out_.str());
  EXPECT_EQ(answer["text"], "ready");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 1000);
}

TEST_F(ModelCommandTest, SaysWhatIsWrongAndWhatToDo) {
  EXPECT_NE(Run({"model", "check"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("which model?"));
  environment_.erase("SASSAY_API_KEY");
  EXPECT_NE(Check(), 0);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("401"), HasSubstr("SASSAY_API_KEY")));
}

// Everything that this command and `config show` print, whatever the server does.
TEST_F(ModelCommandTest, TheKeyIsPrintedNowhere) {
  answer_.text = answer_.reasoning = absl::StrCat("your key is ", kKey);
  std::string printed;
  for (const char* fault : {"none", "401", "500"}) {
    answer_.fault = fault == std::string("none") ? ServerFault::kNone : ServerFault::kHttpError;
    answer_.status = fault == std::string("401") ? 401 : 500;
    answer_.error_body = absl::StrCat(R"({"error":{"message":"no: )", kKey, "\"}}");
    Serve();
    for (const std::vector<std::string>& more : {std::vector<std::string>{"--retry-deadline", "1ms"},
                                                 std::vector<std::string>{"--retry-deadline", "1ms", "--json"}}) {
      Check(more);
      absl::StrAppend(&printed, out_.str(), err_.str());
    }
  }
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"config", "show"}, {"config", "show", "--json"}}) {
    Run(command);
    absl::StrAppend(&printed, out_.str(), err_.str());
  }
  EXPECT_THAT(printed, AllOf(Not(HasSubstr(kKey)), HasSubstr("(hidden)"), HasSubstr("(key)")));
}

}  // namespace
}  // namespace sassay::agent
