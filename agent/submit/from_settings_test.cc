#include "agent/submit/from_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;

Settings SettingsOf(const std::map<std::string, std::string>& flags) {
  return *Settings::Resolve({flags, {{"HOME", "/nonexistent"}}, "/"});
}

TEST(FromSettings, NothingIsSaidAboutReuseUnlessItIsAskedFor) {
  const auto request = MakeRequest(SettingsOf({}), "w");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_FALSE(request->fresh());
  EXPECT_FALSE(request->has_max_age());
}

TEST(FromSettings, MaxAgeAndFreshAreHandedOn) {
  const auto aged = MakeRequest(SettingsOf({{"max_age", "1h30m"}}), "w");
  ASSERT_TRUE(aged.ok()) << aged.status();
  EXPECT_EQ(aged->max_age().seconds(), 5400);
  EXPECT_TRUE(MakeRequest(SettingsOf({{"fresh", "true"}}), "w")->fresh());
}

TEST(FromSettings, BothTogetherAreRefusedWithWhereTheAgeComesFrom) {
  const auto both = MakeRequest(SettingsOf({{"max_age", "1h"}, {"fresh", "true"}}), "w");
  EXPECT_TRUE(absl::IsInvalidArgument(both.status()));
  EXPECT_THAT(std::string(both.status().message()), HasSubstr("--max-age (flag --max-age)"));
  EXPECT_THAT(std::string(both.status().message()), HasSubstr("give one of the two"));
}

TEST(FromSettings, WhatIsCountedMoreThanOnceIsFreshWhateverTheSettingsSay) {
  const auto request = MakeFreshRequest(SettingsOf({{"max_age", "1h"}}), v1::PRIORITY_BATCH);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_TRUE(request->fresh());
  EXPECT_FALSE(request->has_max_age());
  EXPECT_EQ(request->priority(), v1::PRIORITY_BATCH);
}

}  // namespace
}  // namespace sassay::agent
