#include "common/cli/usage_error.h"

#include "gtest/gtest.h"

namespace sassay {
namespace {

std::string ErrorOf(const std::vector<std::string>& arguments) {
  CLI::App root("", "program");
  root.require_subcommand(1);
  CLI::App* incidents = root.add_subcommand("incidents", "");
  std::string since;
  incidents->add_option("--since", since, "");
  root.add_subcommand("gpus", "");
  try {
    root.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    return DescribeUsageError(root, error);
  }
  return "";
}

TEST(UsageErrorTest, NamesWhatComesNear) {
  EXPECT_EQ(ErrorOf({"incidnets"}), "unknown command \"incidnets\". Did you mean \"incidents\"? See `program --help`.");
  EXPECT_EQ(ErrorOf({"incidents", "--sicne", "1h"}),
            "unknown option --sicne. Did you mean \"--since\"? See `program incidents --help`.");
}

TEST(UsageErrorTest, SaysWhatIsMissing) {
  EXPECT_EQ(ErrorOf({}), "a command is needed. See `program --help`.");
  EXPECT_EQ(ErrorOf({"gpus", "x"}), "unexpected argument \"x\". See `program gpus --help`.");
  EXPECT_EQ(ErrorOf({"gpus"}), "");
}

}  // namespace
}  // namespace sassay
