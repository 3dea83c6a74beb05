#include "agent/models/local/command_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <thread>

#include "common/base/files.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CommandBackendTest : public ::testing::Test {
 protected:
  CommandBackendTest() {
    options_.environment = {
        {"PATH", getenv("PATH")}, {"SASSAY_API_KEY", "sk-1"}, {"SASSAY_TOKEN", "t-1"}, {"MINE", "m"}};
    request_.messages = {{ChatMessage::Role::kSystem, std::make_shared<std::string>("be\n\"terse\"")},
                         {ChatMessage::Role::kUser, std::make_shared<std::string>("hi")}};
    request_.trajectory_id = "exp_003";
    request_.turn = 5;
    request_.sampling.set_temperature(0.5);
  }
  absl::optional<Failure> Try(const std::string& command) {
    options_.command = command;
    return CommandBackend(options_).Try(request_, {}, stopper_, answer_);
  }

  CommandModelOptions options_;
  GenerationRequest request_;
  Stopper stopper_;
  v1::Answered answer_;
};

TEST_F(CommandBackendTest, TheConversationGoesInAndTheAnswerComesOut) {
  ASSERT_EQ(Try("cat"), absl::nullopt);
  const nlohmann::json seen = nlohmann::json::parse(answer_.text());
  EXPECT_EQ(seen["messages"][0], (nlohmann::json{{"role", "system"}, {"content", "be\n\"terse\""}}));
  EXPECT_EQ(seen["messages"][1]["content"], "hi");
  EXPECT_EQ(seen["trajectory_id"], "exp_003");
  EXPECT_EQ(seen["turn"], 5);
  EXPECT_EQ(seen["sampling"]["temperature"], 0.5);
  EXPECT_TRUE(answer_.usage().estimated());
}

TEST_F(CommandBackendTest, TheEnvironmentIsTheUsersWithoutOurCredentials) {
  ASSERT_EQ(Try("env"), absl::nullopt);
  EXPECT_THAT(answer_.text(), AllOf(HasSubstr("MINE=m"), HasSubstr("SASSAY_TRAJECTORY=exp_003"),
                                    HasSubstr("SASSAY_TURN=5"), Not(HasSubstr("sk-1")), Not(HasSubstr("t-1"))));
}

TEST_F(CommandBackendTest, AFailureIsTriedAgainAndQuotesTheLastLine) {
  const auto failure = Try("echo first >&2; echo 'out of memory' >&2; exit 3");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Failure::Kind::kBroken);
  EXPECT_THAT(std::string(failure->status.message()),
              AllOf(HasSubstr("status 3: out of memory"), Not(HasSubstr("first"))));
}

TEST_F(CommandBackendTest, AMissingProgramIsFinal) {
  const auto failure = Try("/no/such/program");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Failure::Kind::kFinal);
  EXPECT_EQ(failure->status.code(), absl::StatusCode::kNotFound);
}

TEST_F(CommandBackendTest, ACommandThatNeverEndsIsKilled) {
  options_.timeout = absl::Milliseconds(200);
  const auto failure = Try("sleep 1000");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Failure::Kind::kBroken);
  EXPECT_THAT(std::string(failure->status.message()), HasSubstr("killed after"));
}

TEST_F(CommandBackendTest, AnEndlessAnswerIsRefused) {
  const auto failure = Try("head -c 17000000 /dev/zero");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->status.code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(CommandBackendTest, WhatIsNoUtf8IsMadeSo) {
  ASSERT_EQ(Try("printf 'a\\377b'"), absl::nullopt);
  EXPECT_EQ(answer_.text(), "a?b");
}

TEST_F(CommandBackendTest, TheStopperEndsIt) {
  const TemporaryDirectory folder = *TemporaryDirectory::Create("command_backend_test");
  const std::string pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  absl::optional<Failure> failure;
  std::thread caller([&] { failure = Try("echo here > " + pipe + "; sleep 1000"); });
  EXPECT_TRUE(ReadFile(pipe).ok());
  stopper_.Stop();
  caller.join();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->status.code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace sassay::agent
