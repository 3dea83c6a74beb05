#include "common/base/proto_json.h"

#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "sassay/v1/verdict.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay {
namespace {

TEST(ProtoJson, EnumValuesCarryNoPrefix) {
  EXPECT_EQ(EnumName(v1::VERDICT_STATUS_CORRECT), "CORRECT");
  EXPECT_EQ(EnumName(v1::DTYPE_BFLOAT16), "BFLOAT16");
  EXPECT_EQ(EnumName(v1::Evidence::DYNAMIC_PRESENT), "DYNAMIC_PRESENT");
  EXPECT_EQ(EnumName(*v1::VerdictStatus_descriptor(), 999), "999");
}

TEST(ProtoJson, KeepsFieldNamesNumbersMapsAndTimestamps) {
  v1::Verdict verdict;
  verdict.set_status(v1::VERDICT_STATUS_SANITIZER_ERROR);
  verdict.add_stages()->set_wall_ns(12345678901234);
  (*verdict.mutable_versions()->mutable_libraries())["cudnn"] = "9.14";
  verdict.mutable_decided_at()->set_seconds(0);
  const auto json = nlohmann::json::parse(ToJson(verdict));
  EXPECT_EQ(json["status"], "SANITIZER_ERROR");
  EXPECT_EQ(json["stages"][0]["wall_ns"], 12345678901234);
  EXPECT_EQ(json["versions"]["libraries"]["cudnn"], "9.14");
  EXPECT_EQ(json["decided_at"], "1970-01-01T00:00:00Z");
  EXPECT_FALSE(json.contains("reason"));
}

TEST(ProtoJson, InvalidUtf8IsReplacedNotThrown) {
  v1::Verdict verdict;
  verdict.set_reason("\xff");
  EXPECT_NE(ToJson(verdict).find("reason"), std::string::npos);
}

}  // namespace
}  // namespace sassay
