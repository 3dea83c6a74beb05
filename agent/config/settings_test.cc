#include "agent/config/settings.h"

#include <unistd.h>

#include "agent/config/keys.h"
#include "common/base/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

// A home with a project below it.
class SettingsTest : public ::testing::Test {
 protected:
  SettingsTest() : root_(*TemporaryDirectory::Create("settings")) {
    fs::create_directories(Home() / ".config/sassay");
    fs::create_directories(Home() / "project/src/deep");
    sources_.environment["HOME"] = Home();
    sources_.working_directory = Home() / "project/src/deep";
  }
  fs::path Home() const { return root_.path() / "home"; }
  void WriteUser(const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(Home() / ".config/sassay/config.json", text).ok());
  }
  void WriteProject(const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(Home() / "project/.sassay.json", text).ok());
  }
  std::string Error() { return std::string(Settings::Resolve(sources_).status().message()); }

  TemporaryDirectory root_;
  SettingsSources sources_;
};

TEST_F(SettingsTest, DefaultsNameThemselves) {
  const Settings settings = *Settings::Resolve(sources_);
  EXPECT_EQ(settings.Text("service"), "127.0.0.1:50051");
  EXPECT_EQ(settings.Origin("service"), "default");
}

TEST_F(SettingsTest, EachLayerOverridesTheOneBelow) {
  WriteUser(R"({"arch": "sm_100a", "profile": "lenient", "device": "user", "color": "never"})");
  WriteProject(R"({"profile": "strict", "device": "project", "color": "always"})");
  sources_.environment["SASSAY_DEVICE"] = "environment";
  sources_.environment["SASSAY_COLOR"] = "auto";
  sources_.flags["device"] = "flag";
  const Settings settings = *Settings::Resolve(sources_);
  EXPECT_EQ(settings.Text("arch"), "sm_100a");
  EXPECT_EQ(settings.Text("profile"), "strict");
  EXPECT_EQ(settings.Text("color"), "auto");
  EXPECT_EQ(settings.Text("device"), "flag");
  EXPECT_THAT(settings.Origin("arch"), HasSubstr(".config/sassay/config.json"));
  EXPECT_THAT(settings.Origin("profile"), HasSubstr("project/.sassay.json"));
  EXPECT_EQ(settings.Origin("color"), "environment SASSAY_COLOR");
  EXPECT_EQ(settings.Origin("device"), "flag --device");
}

TEST_F(SettingsTest, UnknownKeyIsAnErrorWithTheNearestMatch) {
  WriteProject(R"({"workloads": "x"})");
  EXPECT_THAT(Error(), AllOf(HasSubstr(".sassay.json"), HasSubstr("unknown key \"workloads\""),
                             HasSubstr("Did you mean \"workload\"?")));
}

TEST_F(SettingsTest, NumbersAreNumbers) {
  WriteProject(R"({"turns": 12, "target_speedup": 1.25})");
  sources_.flags["money_budget"] = "0.5";
  const Settings settings = *Settings::Resolve(sources_);
  EXPECT_EQ(settings.Count("turns"), 12u);
  EXPECT_EQ(settings.Number("target_speedup"), 1.25);
  EXPECT_EQ(settings.Number("money_budget"), 0.5);
  EXPECT_EQ(settings.Count("token_budget"), 0u);
  for (const char* bad : {"-1", "1.5", "many", "1e3"}) {
    sources_.flags["turns"] = bad;
    EXPECT_THAT(Error(), AllOf(HasSubstr("--turns"), HasSubstr("whole number"), HasSubstr(bad)));
  }
  sources_.flags["turns"] = "8";
  for (const char* bad : {"-0.5", "nan", "inf", "cheap"}) {
    sources_.flags["money_budget"] = bad;
    EXPECT_THAT(Error(), HasSubstr("--money-budget")) << bad;
  }
}

TEST_F(SettingsTest, WrongValueNamesWhatIsExpected) {
  sources_.environment["SASSAY_PROFILE"] = "strickt";
  EXPECT_THAT(Error(),
              AllOf(HasSubstr("SASSAY_PROFILE"), HasSubstr("strict, lenient"), HasSubstr("Did you mean \"strict\"?")));
  sources_.environment["SASSAY_PROFILE"] = "";
  sources_.flags["run_deadline"] = "soon";
  EXPECT_THAT(Error(), AllOf(HasSubstr("--run-deadline"), HasSubstr("90s")));
}

TEST_F(SettingsTest, ProjectFileMayNotTouchCredentialsTheirReceiverOrTheSandbox) {
  for (const char* key : {"token", "token_file", "service", "ca_file", "allow_unsandboxed", "cuda", "cuda_home",
                          "insecure", "cert_file"}) {
    WriteProject(std::string(R"({")") + key + R"(": "true"})");
    EXPECT_THAT(Error(), HasSubstr("must not come from a project file")) << key;
  }
}

TEST_F(SettingsTest, ProjectFileOfAnotherUserIsPassedOver) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  WriteProject(R"({"arch": "sm_100a"})");
  ASSERT_EQ(chown((Home() / "project/.sassay.json").c_str(), 12345, 12345), 0);
  const Settings settings = *Settings::Resolve(sources_);
  EXPECT_EQ(settings.Text("arch"), "sm_90a");
  EXPECT_THAT(settings.warnings(), ElementsAre(HasSubstr("belongs to another user")));
}

TEST_F(SettingsTest, MisspelledVariableIsAWarning) {
  sources_.environment["SASSAY_SERVCE"] = "x:1";
  sources_.environment["SASSAY_TEST_BIN"] = "/bin";
  sources_.environment["SASSAY_STATE_FOLDER"] = "/s";
  EXPECT_THAT(Settings::Resolve(sources_)->warnings(),
              ElementsAre(AllOf(HasSubstr("no variable SASSAY_SERVCE"), HasSubstr("SASSAY_SERVICE"))));
}

TEST_F(SettingsTest, PathsAreRelativeToTheirFileAndTildeIsHome) {
  WriteProject(R"({"device_table": "tables/mine.json", "definitions": ["defs", "/abs"]})");
  WriteUser(R"({"token_file": "~/secret/token"})");
  const Settings settings = *Settings::Resolve(sources_);
  EXPECT_EQ(settings.Text("device_table"), (Home() / "project/tables/mine.json").string());
  EXPECT_THAT(settings.List("definitions"), ElementsAre((Home() / "project/defs").string(), "/abs"));
  EXPECT_EQ(settings.Text("token_file"), (Home() / "secret/token").string());
}

TEST_F(SettingsTest, SearchForAProjectFileStopsAtHome) {
  ASSERT_TRUE(WriteFileAtomically(root_.path() / ".sassay.json", R"({"arch": "sm_100a"})").ok());
  EXPECT_EQ(Settings::Resolve(sources_)->Text("arch"), "sm_90a");
}

TEST_F(SettingsTest, SecretsAreHidden) {
  sources_.environment["SASSAY_TOKEN"] = "swordfish";
  const Settings settings = *Settings::Resolve(sources_);
  EXPECT_EQ(settings.Text("token"), "swordfish");
  EXPECT_THAT(settings.ToProto().DebugString(), AllOf(HasSubstr("(hidden)"), Not(HasSubstr("swordfish"))));
}

TEST_F(SettingsTest, MalformedFileIsAnError) {
  WriteUser("{arch}");
  EXPECT_THAT(Error(), AllOf(HasSubstr("config.json"), HasSubstr("expected one JSON object")));
  WriteUser(R"({"arch": 90})");
  EXPECT_THAT(Error(), HasSubstr("arch must be"));
}

TEST_F(SettingsTest, DurationsAndListsAreRead) {
  sources_.flags["run_deadline"] = "1m30s";
  sources_.flags["workload"] = "a/M=1,b/M=2";
  const Settings settings = *Settings::Resolve(sources_);
  EXPECT_EQ(settings.Duration("run_deadline", absl::ZeroDuration()), absl::Seconds(90));
  EXPECT_EQ(settings.Duration("queue_deadline", absl::Seconds(7)), absl::Seconds(7));
  EXPECT_THAT(settings.List("workload"), ElementsAre("a/M=1", "b/M=2"));
}

TEST(KeysTest, AreSortedAndSecretsHaveNoFlag) {
  const std::vector<std::string> names = KeyNames();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(FlagName(*FindKey("token")), "");
  EXPECT_EQ(FlagName(*FindKey("token_file")), "--token-file");
}

}  // namespace
}  // namespace sassay::agent
