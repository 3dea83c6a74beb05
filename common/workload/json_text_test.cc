#include "common/workload/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace sassay {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kLimit = 64 << 20;

std::string Error(const std::string& text) { return std::string(ParseJsonObject(text, kLimit).status().message()); }

std::string ObjectWithMembers(size_t count) {
  std::string text = "{";
  for (size_t i = 0; i < count; ++i) absl::StrAppend(&text, i == 0 ? "" : ",", "\"k", i, "\":0");
  return text + "}";
}

TEST(JsonTextTest, AnObjectWithTooManyMembersIsRefusedBeforeItTakesLong) {
  EXPECT_EQ(ParseJsonObject(ObjectWithMembers(10'000), kLimit)->size(), 10'000u);
  EXPECT_THAT(Error(ObjectWithMembers(500'000)), HasSubstr("more than 10000 members"));
}

TEST(JsonTextTest, ADoubledKeyIsNamedUnlessItIsLong) {
  EXPECT_THAT(Error(R"({"one": 1, "one": 2})"), HasSubstr("the key \"one\" appears twice"));
  const std::string key(100'000, 'k');
  EXPECT_EQ(Error("{\"" + key + "\": 1, \"" + key + "\": 2}"), "a key appears twice in one object");
}

}  // namespace
}  // namespace sassay
