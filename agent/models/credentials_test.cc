#include "agent/models/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/base/files.h"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CredentialsTest : public ::testing::Test {
 protected:
  absl::StatusOr<Secret> Find(const char* endpoint) {
    sources_.working_directory = folder_.path();
    sources_.environment = environment_;
    return FindKey(*Settings::Resolve(sources_), environment_, *ParseEndpoint(endpoint));
  }
  std::string Key(const char* endpoint) {
    const auto key = Find(endpoint);
    return key.ok() ? std::string(key->Reveal()) : std::string(key.status().message());
  }
  std::string WriteKey(const char* text, mode_t mode = 0600) {
    const std::string path = folder_.path() / "key";
    EXPECT_TRUE(WriteFileAtomically(path, text, mode).ok());
    return path;
  }

  TemporaryDirectory folder_ = *TemporaryDirectory::Create("credentials_test");
  std::map<std::string, std::string> environment_;
  SettingsSources sources_;
};

TEST_F(CredentialsTest, AFileGoesBeforeTheVariableAndThatBeforeTheProviders) {
  environment_["OPENAI_API_KEY"] = "provider";
  EXPECT_EQ(Key("https://api.openai.com"), "provider");
  environment_["SASSAY_API_KEY"] = "variable";
  EXPECT_EQ(Key("https://api.openai.com"), "variable");
  sources_.flags["api_key_file"] = WriteKey("file\nsecond line\n");
  EXPECT_EQ(Key("https://api.openai.com"), "file");
}

TEST_F(CredentialsTest, AProvidersKeyGoesToThatProviderAlone) {
  environment_ = {{"OPENAI_API_KEY", "o"}, {"ANTHROPIC_API_KEY", "a"}, {"OPENROUTER_API_KEY", "r"}};
  EXPECT_EQ(Key("https://api.openai.com"), "o");
  EXPECT_EQ(Key("https://api.anthropic.com"), "a");
  EXPECT_EQ(Key("https://openrouter.ai/api/v1"), "r");
  EXPECT_EQ(Key("https://api.openai.com.evil.example"), "");
  EXPECT_EQ(Key("http://127.0.0.1:8000"), "");
}

TEST_F(CredentialsTest, AServerOfOnesOwnNeedsNone) { EXPECT_TRUE(Find("http://gpu-7:8000")->empty()); }

TEST_F(CredentialsTest, AProviderThatNeedsOneSaysWhereToPutIt) {
  EXPECT_EQ(Find("https://api.anthropic.com").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Key("https://api.anthropic.com"),
              AllOf(HasSubstr("ANTHROPIC_API_KEY"), HasSubstr("SASSAY_API_KEY"), HasSubstr("--api-key-file")));
}

TEST_F(CredentialsTest, AFileThatOthersMayReadIsRefused) {
  sources_.flags["api_key_file"] = WriteKey("sk-secret\n", 0644);
  EXPECT_THAT(Key("https://host"), AllOf(HasSubstr("mode 644"), HasSubstr("chmod 600"), Not(HasSubstr("sk-secret"))));
}

TEST_F(CredentialsTest, AFileWithoutAKeyIsRefused) {
  sources_.flags["api_key_file"] = WriteKey("\nsk-second\n");
  EXPECT_THAT(Key("https://host"), AllOf(HasSubstr("first line must be the key"), Not(HasSubstr("sk-second"))));
  sources_.flags["api_key_file"] = WriteKey("sk-with blank\n");
  EXPECT_THAT(Key("https://host"), AllOf(HasSubstr("without blanks"), Not(HasSubstr("sk-with"))));
  sources_.flags["api_key_file"] = folder_.path() / "none";
  EXPECT_THAT(Key("https://host"), HasSubstr("none"));
}

TEST_F(CredentialsTest, NoKeyGoesThroughANetworkInPlainText) {
  environment_["SASSAY_API_KEY"] = "sk-secret";
  EXPECT_THAT(Key("http://gpu-7:8000"), AllOf(HasSubstr("--insecure-endpoint"), Not(HasSubstr("sk-secret"))));
  EXPECT_EQ(Key("http://127.0.0.1:8000"), "sk-secret");
  sources_.flags["insecure_endpoint"] = "true";
  EXPECT_EQ(Key("http://gpu-7:8000"), "sk-secret");
}

}  // namespace
}  // namespace sassay::agent
