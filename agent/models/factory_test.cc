#include "agent/models/factory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/models/testing/scripted_server.h"
#include "common/base/files.h"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;

ScriptedAnswer Hello() {
  ScriptedAnswer answer;
  answer.text = "hello";
  return answer;
}

class FactoryTest : public ::testing::Test {
 protected:
  Settings Resolve(std::map<std::string, std::string> flags) {
    SettingsSources sources;
    sources.flags = std::move(flags);
    sources.environment = environment_;
    sources.working_directory = folder_.path();
    return *Settings::Resolve(sources);
  }
  // "provider endpoint model", or the error.
  std::string Identity(std::map<std::string, std::string> flags) {
    const auto identity = IdentifyModel(Resolve(std::move(flags)));
    if (!identity.ok()) return std::string(identity.status().message());
    return absl::StrCat(identity->provider, " ", identity->endpoint, " ", identity->model);
  }

  TemporaryDirectory folder_ = *TemporaryDirectory::Create("factory_test");
  std::map<std::string, std::string> environment_ = {{"PATH", "/usr/bin:/bin"}};
  Stopper stopper_;
};

TEST_F(FactoryTest, EveryWayToNameAServerIsUnderstood) {
  for (const char* endpoint :
       {"http://h:8000", "http://h:8000/", "http://h:8000/v1", "http://h:8000/v1/chat/completions"}) {
    EXPECT_EQ(Identity({{"model", "m"}, {"endpoint", endpoint}}), "openai http://h:8000/v1/chat/completions m");
  }
  EXPECT_EQ(Identity({{"model", "a/b"}, {"endpoint", "https://openrouter.ai/api/v1"}}),
            "openai https://openrouter.ai/api/v1/chat/completions a/b");
  EXPECT_EQ(Identity({{"model", "m"}, {"endpoint", "http://h/v1/messages"}}), "anthropic http://h/v1/messages m");
  EXPECT_EQ(Identity({{"model", "m"}, {"endpoint", "http://h/proxy"}, {"provider", "anthropic"}}),
            "anthropic http://h/proxy/v1/messages m");
  EXPECT_EQ(Identity({{"model", "m"}, {"endpoint", "https://api.anthropic.com"}}),
            "anthropic https://api.anthropic.com/v1/messages m");
}

TEST_F(FactoryTest, KnownModelsKnowTheirServer) {
  EXPECT_EQ(Identity({{"model", "claude-opus-4"}}), "anthropic https://api.anthropic.com/v1/messages claude-opus-4");
  EXPECT_EQ(Identity({{"model", "gpt-5"}}), "openai https://api.openai.com/v1/chat/completions gpt-5");
  EXPECT_EQ(Identity({{"model", "o3"}}), "openai https://api.openai.com/v1/chat/completions o3");
}

TEST_F(FactoryTest, LocalModelsNeedNoServer) {
  EXPECT_EQ(Identity({{"model", "replay:/a/b"}}), "replay  /a/b");
  EXPECT_EQ(Identity({{"model", "command:cat x | y"}}), "command  cat x | y");
}

TEST_F(FactoryTest, WhatIsMissingIsAskedForWithAnExample) {
  EXPECT_THAT(Identity({}), AllOf(HasSubstr("which model?"), HasSubstr("http://127.0.0.1:8000")));
  EXPECT_THAT(Identity({{"model", "qwen"}}), AllOf(HasSubstr("where is the model qwen?"), HasSubstr("--endpoint URL")));
  EXPECT_THAT(Identity({{"model", "replay:"}}), HasSubstr("after the colon"));
  EXPECT_THAT(Identity({{"model", "m"}, {"endpoint", "h:8000"}}), HasSubstr("http://"));
}

TEST_F(FactoryTest, SamplingKeepsWhatWasSetAndNothingElse) {
  v1::Sampling sampling = *SamplingFrom(Resolve({}));
  EXPECT_EQ(sampling.ByteSizeLong(), 0u);
  sampling = *SamplingFrom(Resolve(
      {{"temperature", "0"}, {"top_p", "0.9"}, {"max_tokens", "5"}, {"seed", "0"}, {"reasoning_effort", "high"}}));
  EXPECT_TRUE(sampling.has_temperature());
  EXPECT_EQ(sampling.temperature(), 0);
  EXPECT_EQ(sampling.top_p(), 0.9);
  EXPECT_EQ(sampling.max_tokens(), 5u);
  EXPECT_TRUE(sampling.has_seed());
  EXPECT_EQ(sampling.reasoning_effort(), "high");
  EXPECT_FALSE(SamplingFrom(Resolve({{"top_p", "1.5"}})).ok());
  EXPECT_FALSE(SamplingFrom(Resolve({{"max_tokens", "4294967296"}})).ok());
}

TEST_F(FactoryTest, SettingsReachTheServer) {
  ScriptedServerOptions options;
  options.api_key = "sk-1";
  const auto server = *ScriptedServer::Start([](const AnswerRequest&) { return Hello(); }, options);
  environment_["SASSAY_API_KEY"] = "sk-1";
  const auto model = OpenModel(Resolve({{"model", "m-1"}, {"endpoint", server->url()}}), environment_);
  ASSERT_TRUE(model.ok()) << model.status();
  GenerationRequest request;
  request.messages = {{ChatMessage::Role::kUser, std::make_shared<std::string>("hi")}};
  const auto answer = (*model)->Generate(request, {}, stopper_);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->text(), "hello");
  EXPECT_EQ(server->Requests()[0].body["model"], "m-1");
}

TEST_F(FactoryTest, ADeadlineOfTheSettingsHolds) {
  ScriptedAnswer silence;
  silence.fault = ServerFault::kSilence;
  const auto server = *ScriptedServer::Start([&](const AnswerRequest&) { return silence; });
  const auto model = *OpenModel(
      Resolve(
          {{"model", "m"}, {"endpoint", server->url()}, {"first_token_deadline", "100ms"}, {"retry_deadline", "50ms"}}),
      environment_);
  GenerationRequest request;
  const absl::Status status = model->Generate(request, {}, stopper_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no answer began within 100ms"));
}

TEST_F(FactoryTest, AServerThatWantsAKeyIsToldOfWhenThereIsNone) {
  ScriptedServerOptions options;
  options.api_key = "sk-1";
  const auto server = *ScriptedServer::Start([](const AnswerRequest&) { return ScriptedAnswer{}; }, options);
  const auto model = *OpenModel(Resolve({{"model", "m"}, {"endpoint", server->url()}}), environment_);
  GenerationRequest request;
  const absl::Status status = model->Generate(request, {}, stopper_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("SASSAY_API_KEY"), HasSubstr("--api-key-file")));
}

TEST_F(FactoryTest, ProgramsAndRecordingsAreModelsToo) {
  GenerationRequest request;
  const auto command = *OpenModel(Resolve({{"model", "command:echo hello"}}), environment_);
  EXPECT_EQ(command->Generate(request, {}, stopper_)->text(), "hello\n");
  ASSERT_TRUE(WriteFileAtomically(folder_.path() / "turn_00.md", "recorded").ok());
  const auto replay = *OpenModel(Resolve({{"model", absl::StrCat("replay:", folder_.path().string())}}), environment_);
  EXPECT_EQ(replay->Generate(request, {}, stopper_)->text(), "recorded");
}

}  // namespace
}  // namespace sassay::agent
