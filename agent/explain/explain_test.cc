#include "agent/explain/explain.h"

#include <set>

#include "common/base/proto_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

TEST(ExplainTest, EveryCodeIsExplainedExactlyOnce) {
  const auto& type = *v1::VerdictCode_descriptor();
  std::multiset<int> explained;
  for (const Explanation* explanation : AllExplanations()) explained.insert(explanation->code);
  for (int i = 0; i < type.value_count(); ++i) {
    const int number = type.value(i)->number();
    EXPECT_EQ(explained.count(number), number == v1::VERDICT_CODE_UNSPECIFIED ? 0u : 1u) << type.value(i)->name();
  }
}

TEST(ExplainTest, EveryExplanationIsComplete) {
  for (const Explanation* explanation : AllExplanations()) {
    const std::string name = EnumName(explanation->code);
    EXPECT_NE(explanation->status, v1::VERDICT_STATUS_UNSPECIFIED) << name;
    EXPECT_NE(explanation->stage, v1::STAGE_UNSPECIFIED) << name;
    EXPECT_GT(std::string(explanation->meaning).size(), 20u) << name;
    EXPECT_GT(std::string(explanation->repair).size(), 20u) << name;
    EXPECT_FALSE(explanation->causes.empty()) << name;
    EXPECT_FALSE(std::string(explanation->example).empty()) << name;
  }
}

TEST(ExplainTest, CodesAreFoundInAnyCaseAndWithPrefix) {
  EXPECT_EQ(FindExplanation("ptr_cached")->code, v1::VERDICT_CODE_PTR_CACHED);
  EXPECT_EQ(FindExplanation("VERDICT_CODE_PTR_CACHED")->code, v1::VERDICT_CODE_PTR_CACHED);
  EXPECT_EQ(FindExplanation("NO_SUCH_CODE"), nullptr);
  EXPECT_EQ(FindExplanation(v1::VERDICT_CODE_UNSPECIFIED), nullptr);
}

TEST(ExplainTest, InfrastructureCodesNeverBlameTheCandidate) {
  for (const Explanation* explanation : AllExplanations()) {
    const bool infrastructure = explanation->code >= v1::VERDICT_CODE_EMULATOR_LACKS &&
                                explanation->code < v1::VERDICT_CODE_CANCELLED_BY_CLIENT;
    EXPECT_EQ(infrastructure, explanation->status == v1::VERDICT_STATUS_INFRA_ERROR) << EnumName(explanation->code);
  }
}

}  // namespace
}  // namespace sassay::agent
