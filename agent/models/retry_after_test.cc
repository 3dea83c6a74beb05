#include "agent/models/retry_after.h"

#include <gtest/gtest.h>

namespace sassay::agent {
namespace {

const absl::Time kNow = absl::FromCivil(absl::CivilSecond(2026, 11, 30, 12, 0, 0), absl::UTCTimeZone());

absl::optional<absl::Duration> Wait(const std::string& value) { return RetryAfter({{"retry-after", value}}, kNow); }

TEST(RetryAfterTest, SecondsAreRead) {
  EXPECT_EQ(Wait("7"), absl::Seconds(7));
  EXPECT_EQ(Wait("0"), absl::ZeroDuration());
  EXPECT_EQ(Wait("1.5"), absl::Milliseconds(1500));
}

TEST(RetryAfterTest, DatesAreReadInEveryForm) {
  for (const char* date :
       {"Mon, 30 Nov 2026 12:00:30 GMT", "Monday, 30-Nov-26 12:00:30 GMT", "Mon Nov 30 12:00:30 2026"}) {
    EXPECT_EQ(Wait(date), absl::Seconds(30)) << date;
  }
  EXPECT_EQ(Wait("Mon, 30 Nov 2026 11:00:00 GMT"), absl::ZeroDuration());
}

TEST(RetryAfterTest, MillisecondsGoFirst) {
  EXPECT_EQ(RetryAfter({{"retry-after", "7"}, {"retry-after-ms", "250"}}, kNow), absl::Milliseconds(250));
}

TEST(RetryAfterTest, WhatCannotBeReadIsNone) {
  for (const char* value : {"", "soon", "-1", "nan", "12 parsecs"}) EXPECT_EQ(Wait(value), absl::nullopt) << value;
  EXPECT_EQ(RetryAfter({}, kNow), absl::nullopt);
}

TEST(RetryAfterTest, AnAbsurdNumberIsBounded) { EXPECT_LE(*Wait("1e300"), absl::Seconds(1e9)); }

}  // namespace
}  // namespace sassay::agent
