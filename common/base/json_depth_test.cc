#include "common/base/json_depth.h"

#include <string>

#include "gtest/gtest.h"

namespace sassay {
namespace {

std::string Nested(size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(JsonDepthTest, CountsBracketsOutsideOfStrings) {
  EXPECT_FALSE(JsonIsTooDeep(Nested(kMaxJsonDepth)));
  EXPECT_TRUE(JsonIsTooDeep(Nested(kMaxJsonDepth + 1)));
  EXPECT_TRUE(JsonIsTooDeep("{\"a\": " + Nested(1'000'000) + "}"));
  EXPECT_FALSE(JsonIsTooDeep("\"" + Nested(1000) + "\""));
  EXPECT_TRUE(JsonIsTooDeep("[\"\\\"\", " + Nested(kMaxJsonDepth) + "]"));
}

}  // namespace
}  // namespace sassay
