#include "profiler_service/queue/bounded.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::queue {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

sassay::v1::Verdict WithOpcodes(int opcodes, size_t name_bytes) {
  sassay::v1::Verdict verdict;
  verdict.set_reason("every stage that ran is content");
  verdict.mutable_details()->add_notes("a note");
  verdict.add_diagnoses()->set_reason("done");
  for (int i = 0; i < opcodes; ++i) verdict.mutable_evidence()->add_opcodes()->set_kernel(std::string(name_bytes, 'k'));
  return verdict;
}

TEST(BoundVerdict, WhatFitsStaysAsItIs) {
  sassay::v1::Verdict verdict = WithOpcodes(10, 17'000);
  const std::string before = verdict.SerializeAsString();
  BoundVerdict(verdict);
  EXPECT_EQ(verdict.SerializeAsString(), before);
}

TEST(BoundVerdict, LongNamesAreCutBeforeAnythingIsDropped) {
  sassay::v1::Verdict verdict = WithOpcodes(130, 17'000);
  BoundVerdict(verdict);
  EXPECT_LE(verdict.ByteSizeLong(), kMaxVerdictBytes);
  EXPECT_EQ(verdict.evidence().opcodes_size(), 130);
  EXPECT_EQ(verdict.evidence().opcodes(0).kernel().size(), kShortTextBytes - 1);
  EXPECT_EQ(verdict.diagnoses_size(), 1);
  EXPECT_THAT(verdict.details().notes(), ElementsAre("a note", StartsWith("long texts of this verdict were cut")));
}

TEST(BoundVerdict, WhatIsStillTooLargeLosesParts) {
  sassay::v1::Verdict verdict = WithOpcodes(130'000, 17);
  BoundVerdict(verdict);
  EXPECT_LE(verdict.ByteSizeLong(), kMaxVerdictBytes);
  EXPECT_FALSE(verdict.has_evidence());
  EXPECT_EQ(verdict.reason(), "every stage that ran is content");
  EXPECT_THAT(verdict.details().notes(), ElementsAre(HasSubstr("were dropped")));
}

}  // namespace
}  // namespace sassay::queue
