#include "profiler_service/emulator/descriptor/instruction.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::emulator {
namespace {

using ::testing::HasSubstr;

// PTX ISA 9.0, 9.7.16.4.2: types of D, A and B, then N / 8 and M / 16.
uint32_t Word(uint32_t d, uint32_t a, uint32_t b, uint32_t n, uint32_t m) {
  return d << 4 | a << 7 | b << 10 | n / 8 << 17 | m / 16 << 24;
}
std::string Error(uint32_t word, MmaKind kind, uint32_t cta_group = 1) {
  return std::string(DecodeInstruction(word, kind, cta_group).status().message());
}

TEST(InstructionTest, FieldsAreWhereTheTableHasThem) {
  const auto shape = DecodeInstruction(Word(1, 1, 1, 256, 128) | 1u << 13 | 1u << 16, MmaKind::kF16, 1);
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->m, 128u);
  EXPECT_EQ(shape->n, 256u);
  EXPECT_EQ(shape->k, 16u);
  EXPECT_EQ(shape->a, Element::kBf16);
  EXPECT_EQ(shape->d, Accumulator::kF32);
  EXPECT_TRUE(shape->negate_a);
  EXPECT_FALSE(shape->negate_b);
  EXPECT_FALSE(shape->a_mn_major);
  EXPECT_TRUE(shape->b_mn_major);
}

TEST(InstructionTest, KIsThirtyTwoBytes) {
  EXPECT_EQ(DecodeInstruction(Word(1, 2, 2, 8, 64), MmaKind::kTf32, 1)->k, 8u);
  EXPECT_EQ(DecodeInstruction(Word(1, 0, 1, 8, 64), MmaKind::kF8f6f4, 1)->k, 32u);
  EXPECT_EQ(DecodeInstruction(Word(1, 5, 3, 8, 64), MmaKind::kF8f6f4, 1)->k, 32u);
  EXPECT_EQ(DecodeInstruction(Word(2, 1, 0, 8, 64), MmaKind::kI8, 1)->k, 32u);
}

TEST(InstructionTest, EachKindHasItsTypes) {
  EXPECT_THAT(Error(Word(1, 2, 1, 64, 128), MmaKind::kF16), HasSubstr("(type of A) are 2, which kind::f16 lacks"));
  EXPECT_THAT(Error(Word(1, 2, 0, 64, 128), MmaKind::kTf32), HasSubstr("(type of B) are 0, which kind::tf32 lacks"));
  EXPECT_THAT(Error(Word(0, 2, 2, 64, 128), MmaKind::kTf32), HasSubstr("(type of D) are 0"));
  EXPECT_THAT(Error(Word(1, 0, 2, 64, 128), MmaKind::kF8f6f4), HasSubstr("(type of B) are 2"));
  EXPECT_THAT(Error(Word(1, 1, 1, 64, 128), MmaKind::kI8), HasSubstr("(type of D) are 1, which kind::i8 lacks"));
  EXPECT_THAT(Error(Word(0, 1, 1, 64, 128), MmaKind::kF16), HasSubstr("wants A and B in f16"));
}

TEST(InstructionTest, ShapesAreThoseOfTheTable) {
  EXPECT_THAT(Error(Word(1, 1, 1, 64, 256), MmaKind::kF16), HasSubstr("M is 256; with cta_group::1 it is 64 or 128"));
  EXPECT_EQ(Error(Word(1, 1, 1, 64, 256), MmaKind::kF16, 2), "");
  EXPECT_THAT(Error(Word(1, 1, 1, 24, 256), MmaKind::kF16, 2), HasSubstr("N is 24; it is a multiple of 16"));
  EXPECT_EQ(Error(Word(2, 1, 1, 24, 128), MmaKind::kI8), "");
  EXPECT_THAT(Error(Word(2, 1, 1, 40, 128), MmaKind::kI8), HasSubstr("N is 40; it is a multiple of 16"));
  EXPECT_THAT(Error(Word(1, 0, 0, 0, 128), MmaKind::kF16), HasSubstr("N is 0"));
  EXPECT_THAT(Error(Word(1, 0, 0, 8, 128) | 1u << 16, MmaKind::kF8f6f4), HasSubstr("transposed B of 8-bit"));
}

TEST(InstructionTest, ReservedBitsAndBitsOfOtherKindsAreRefused) {
  EXPECT_THAT(Error(Word(1, 1, 1, 64, 128) | 1u << 23, MmaKind::kF16), HasSubstr("reserved"));
  EXPECT_THAT(Error(Word(1, 1, 1, 64, 128) | 1u << 3, MmaKind::kF16), HasSubstr("saturate"));
  EXPECT_THAT(Error(Word(2, 1, 1, 64, 128) | 1u << 14, MmaKind::kI8), HasSubstr("negate"));
  EXPECT_THAT(Error(Word(1, 1, 1, 64, 128) | 1u << 31, MmaKind::kF16), HasSubstr("maximum shift"));
  EXPECT_EQ(DecodeInstruction(Word(1, 1, 1, 64, 128) | 1u << 2, MmaKind::kF16, 1).status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace sassay::emulator
