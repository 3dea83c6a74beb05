// reliability-monitor's command line and its look at the machine.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "monitor/program/look.h"
#include "monitor/program/options.h"
#include "nlohmann/json.hpp"

namespace sassay::monitor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Options Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "reliability-monitor");
  return ParseOptions(static_cast<int>(arguments.size()), arguments.data());
}

TEST(Options, WatchesTheServiceOfThisMachineByDefault) {
  const Options options = Parse({});
  EXPECT_EQ(options.mode, Mode::kWatch);
  EXPECT_EQ(options.connection.service, "127.0.0.1:50051");
  EXPECT_EQ(options.metrics, "127.0.0.1:9465");
}

TEST(Options, SupervisedCommandLineIsTakenAsItStands) {
  const Options options = Parse({"--supervise", "--", "profiler-service", "--listen", "127.0.0.1:1"});
  EXPECT_EQ(options.mode, Mode::kWatch);
  EXPECT_THAT(options.supervised, ElementsAre("profiler-service", "--listen", "127.0.0.1:1"));
}

TEST(Options, SupervisedServiceHasAsLongToEndAsIsSaid) {
  EXPECT_EQ(Parse({"--supervise", "--", "x"}).drain, absl::Seconds(15));
  EXPECT_EQ(Parse({"--supervise", "--drain", "2m", "--", "x", "--drain", "1m"}).drain, absl::Minutes(2));
  EXPECT_EQ(Parse({"--supervise", "--drain", "90", "--", "x"}).exit_code, kExitUsage);
}

TEST(Options, ContradictionsAreUsageErrors) {
  const std::vector<std::vector<const char*>> wrong = {{"--once", "--check-config"},
                                                       {"--supervise"},
                                                       {"profiler-service"},
                                                       {"--json"},
                                                       {"--supervise", "--restart-command", "x", "--", "y"},
                                                       {"--frobnicate"}};
  for (const auto& arguments : wrong) {
    const Options options = Parse(arguments);
    EXPECT_EQ(options.mode, Mode::kExit) << arguments.front();
    EXPECT_EQ(options.exit_code, 2) << arguments.front();
  }
  EXPECT_EQ(Parse({"--help"}).exit_code, 0);
}

TEST(ReasonNames, AreWordsAndLeaveNothingOut) {
  EXPECT_EQ(ReasonNames(0), "-");
  EXPECT_EQ(ReasonNames(0x44), "SW power cap, HW thermal slowdown");
  EXPECT_EQ(ReasonNames(0x1000), "0x1000");
}

Seen OneGpu() {
  Seen seen;
  seen.samples = {{absl::UnixEpoch(), "GPU-a", "gpu.temperature_celsius", 61, ""},
                  {absl::UnixEpoch(), "GPU-a", "gpu.model", 1, "NVIDIA H200\x1b[2J"},
                  {absl::UnixEpoch(), "", "host.load_per_cpu", 0.5, ""}};
  SourceView nvml;
  nvml.name = "nvml";
  nvml.seen = true;
  SourceView log;
  log.name = "kernel_log";
  log.last_error = "Permission denied";
  seen.sources = {nvml, log};
  return seen;
}

TEST(Look, SaysWhatEachSourceSaidAndWhatNobodySaidIsADash) {
  const std::string text = LookText(OneGpu(), Style(false));
  EXPECT_THAT(text, AllOf(HasSubstr("GPU-a"), HasSubstr("61 C"), HasSubstr("nvml        ok"),
                          HasSubstr("kernel_log  Permission denied"), HasSubstr(" - ")));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(Look, IsOneJsonDocument) {
  const auto json = nlohmann::json::parse(LookJson(OneGpu()));
  EXPECT_EQ(json["samples"].size(), 3u);
  EXPECT_EQ(json["samples"][0]["gpu"], "GPU-a");
  EXPECT_EQ(json["sources"][1]["state"], "Permission denied");
}

}  // namespace
}  // namespace sassay::monitor
