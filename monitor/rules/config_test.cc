#include "monitor/rules/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/files.h"

namespace sassay::monitor {
namespace {

using ::testing::HasSubstr;

constexpr char kHot[] = R"(# A rule.
rules {
  name: "hot"
  reason: "too hot"
  scope: GPU
  when { signal: "gpu.temperature_celsius" above: 90 clear: 85 }
  clear_after_s: 10
  severity: WARNING
  state: COOLING
  actions: [PAUSE]
}
)";

std::string Refused(const std::string& text) {
  const auto config = ParseConfig(text, "my.textproto");
  EXPECT_TRUE(absl::IsInvalidArgument(config.status())) << text;
  return std::string(config.status().message());
}

// kHot with one thing replaced by another.
std::string RefusedWith(const std::string& what, const std::string& by) {
  const std::string text = absl::StrReplaceAll(kHot, {{what, by}});
  EXPECT_NE(text, kHot) << what;
  return Refused(text);
}

TEST(Config, TheDefaultIsWhatLiesInDeploy) {
  const std::string source = std::string(getenv("SASSAY_TEST_SOURCE")) + "/deploy/monitor/rules.textproto";
  EXPECT_EQ(*ReadFile(source), DefaultConfigText());
  const auto config = LoadConfig(source);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->rules_size(), DefaultConfig().rules_size());
}

TEST(Config, TheDefaultKnowsEveryXidOfTheCatalogue) {
  std::set<uint32_t> codes;
  for (const auto& rule : DefaultConfig().rules()) {
    for (const auto& condition : rule.when()) codes.insert(condition.codes().begin(), condition.codes().end());
  }
  const std::set<uint32_t> expected = {8,  13, 31, 32, 39,  40,  41,  43,  45,  46,  48,  62,  64,  68,  69,
                                       74, 79, 94, 95, 109, 110, 119, 120, 136, 140, 143, 154, 155, 156, 158};
  EXPECT_EQ(codes, expected);
}

TEST(Config, PoliciesThatAreLeftOutAreTheDefaults) {
  const auto config = ParseConfig(kHot, "my.textproto");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->rules_size(), 1);
  EXPECT_EQ(config->canary().confirmations(), DefaultConfig().canary().confirmations());
  EXPECT_EQ(config->watermark().signals_size(), 2);
}

TEST(Config, AMistakeIsNamedWithFileLineRuleAndField) {
  EXPECT_EQ(RefusedWith("state: COOLING", "state: COLD"),
            "my.textproto:9: rule hot: Unknown enumeration value of \"COLD\" for field \"state\".");
  EXPECT_THAT(RefusedWith("clear_after_s", "clear_aftr_s"), HasSubstr("my.textproto:7: rule hot: "));
  EXPECT_THAT(RefusedWith("clear_after_s", "clear_aftr_s"), HasSubstr("clear_aftr_s"));
  EXPECT_EQ(RefusedWith("gpu.temperature_celsius", "gpu.temprature_celsius"),
            "my.textproto:2: rule hot: when.signal: expected a signal of docs/monitor.md, came "
            "\"gpu.temprature_celsius\". Did you mean \"gpu.temperature_celsius\"?");
}

TEST(Config, RefusesRulesThatCannotWork) {
  EXPECT_THAT(RefusedWith("name: \"hot\"", "name: \"Too Hot\""), HasSubstr("name: expected lower-case words"));
  EXPECT_THAT(RefusedWith("reason: \"too hot\"", ""), HasSubstr("reason: expected one line"));
  EXPECT_THAT(RefusedWith("too hot", "too \\377 hot"), HasSubstr("reason: expected UTF-8"));
  EXPECT_THAT(RefusedWith("scope: GPU", ""), HasSubstr("scope: expected GPU or HOST"));
  EXPECT_THAT(RefusedWith("severity: WARNING", ""), HasSubstr("severity: expected INFO"));
  EXPECT_THAT(RefusedWith("above: 90 clear: 85", ""), HasSubstr("exactly one limit"));
  EXPECT_THAT(RefusedWith("above: 90", "above: 90 below: 3"), HasSubstr("exactly one limit"));
  EXPECT_THAT(RefusedWith("clear: 85", "clear: 95"), HasSubstr("when.clear: expected"));
  EXPECT_THAT(RefusedWith("clear: 85", "aggregate: MEAN"), HasSubstr("when.window_s: expected a length"));
  EXPECT_THAT(RefusedWith("clear: 85", "window_s: 5"), HasSubstr("when.window_s: expected none"));
  EXPECT_THAT(RefusedWith("clear_after_s: 10", "clear_after_s: -1"), HasSubstr("clear_after_s: expected"));
  EXPECT_THAT(RefusedWith("clear_after_s: 10", "clear_after_s: nan"), HasSubstr("clear_after_s: expected"));
  EXPECT_THAT(RefusedWith("actions: [PAUSE]", "actions: [RESTART_SERVICE]"), HasSubstr("scope is HOST"));
  EXPECT_THAT(RefusedWith("actions: [PAUSE]", "actions: [QUARANTINE]"), HasSubstr("state: expected QUARANTINED"));
  EXPECT_THAT(RefusedWith("scope: GPU", "scope: HOST"), HasSubstr("state: expected none"));
  EXPECT_THAT(RefusedWith("gpu.temperature_celsius", "host.load_per_cpu"), HasSubstr("scope: expected HOST"));
  EXPECT_THAT(RefusedWith("severity: WARNING", "severity: WARNING escalate { times: 1 within_s: 60 }"),
              HasSubstr("escalate.times: expected 2 to 100"));
  EXPECT_THAT(RefusedWith("severity: WARNING", "severity: WARNING excuse { signal: \"fault.blamed\" within_s: 5 }"),
              HasSubstr("excuse: expected conditions with `codes` or COUNT only"));
}

TEST(Config, RefusesTwoRulesOfOneName) {
  EXPECT_THAT(Refused(absl::StrCat(kHot, kHot)),
              HasSubstr("my.textproto:13: rule hot: name: expected one that no rule"));
}

TEST(Config, RefusesPoliciesThatCannotWork) {
  const auto refused = [](const std::string& policy) { return Refused(absl::StrCat(kHot, policy)); };
  EXPECT_THAT(refused("canary { period_s: 60 history: 10 minimum_history: 20 suspicion_ratio: 1.02 certain_ratio: 1.1 "
                      "confirmations: 9 confirm_every_s: 1 timeout_s: 1 }"),
              HasSubstr("my.textproto:12: canary.minimum_history: expected"));
  EXPECT_THAT(refused("canary { period_s: 60 history: 10 minimum_history: 2 suspicion_ratio: 1.02 certain_ratio: 1.1 "
                      "confirmations: 8 confirm_every_s: 1 timeout_s: 1 }"),
              HasSubstr("canary.confirmations: expected an odd number"));
  EXPECT_THAT(refused("restarts { first_delay_s: 1 }"), HasSubstr("restarts.max_delay_s: expected"));
  EXPECT_THAT(refused("watermark { fresh_s: 1 }"), HasSubstr("watermark.signals: expected one at least"));
  EXPECT_THAT(refused("cooling { minimum_s: 1 }"), HasSubstr("cooling.canary_every_s: expected"));
}

TEST(Config, SaysWhichFileIsMissing) { EXPECT_TRUE(absl::IsNotFound(LoadConfig("/nowhere/rules.textproto").status())); }

}  // namespace
}  // namespace sassay::monitor
