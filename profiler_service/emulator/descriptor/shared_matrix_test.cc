#include "profiler_service/emulator/descriptor/shared_matrix.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::emulator {
namespace {

using ::testing::HasSubstr;

// PTX ISA 9.0, 9.7.16.4.1: fields in units of 16 bytes.
uint64_t Word(uint32_t start, uint32_t leading, uint32_t stride, uint64_t mode, uint64_t fixed = 1) {
  return uint64_t{start >> 4} | uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 | fixed << 46 | mode << 61;
}

TEST(SharedMatrixTest, FieldsAreInUnitsOfSixteenBytes) {
  const auto matrix = DecodeTcgen05Descriptor(Word(0x1400, 0x80, 0x400, 2) | uint64_t{5} << 49, false);
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  EXPECT_EQ(matrix->start, 0x1400u);
  EXPECT_EQ(matrix->leading_bytes, 0x80u);
  EXPECT_EQ(matrix->stride_bytes, 0x400u);
  EXPECT_EQ(matrix->base_offset, 5u);
  EXPECT_EQ(matrix->swizzle, Swizzle::k128);
}

TEST(SharedMatrixTest, TheTwoGenerationsNumberTheirSwizzlesDifferently) {
  const std::pair<uint64_t, Swizzle> blackwell[] = {
      {0, Swizzle::kNone}, {1, Swizzle::k128Atom32}, {2, Swizzle::k128}, {4, Swizzle::k64}, {6, Swizzle::k32}};
  for (const auto& [mode, swizzle] : blackwell) {
    EXPECT_EQ(DecodeTcgen05Descriptor(Word(0, 16, 16, mode), false)->swizzle, swizzle) << mode;
  }
  const std::pair<uint64_t, Swizzle> hopper[] = {
      {0, Swizzle::kNone}, {1, Swizzle::k128}, {2, Swizzle::k64}, {3, Swizzle::k32}};
  for (const auto& [mode, swizzle] : hopper) {
    EXPECT_EQ(DecodeWgmmaDescriptor(mode << 62 | 64, false)->swizzle, swizzle) << mode;
  }
}

TEST(SharedMatrixTest, WhatTheIsaDoesNotKnowIsRefusedByField) {
  EXPECT_THAT(DecodeTcgen05Descriptor(Word(0, 16, 16, 2, 0), false).status().message(),
              HasSubstr("bits 46 to 48 are 0"));
  for (const uint64_t mode : {3, 5, 7}) {
    EXPECT_THAT(DecodeTcgen05Descriptor(Word(0, 16, 16, mode), false).status().message(), HasSubstr("swizzle mode is"));
  }
  EXPECT_THAT(DecodeTcgen05Descriptor(Word(0, 16, 16, 2) | uint64_t{1} << 52, false).status().message(),
              HasSubstr("bit 52"));
  EXPECT_THAT(DecodeTcgen05Descriptor(Word(0, 16, 16, 2) | uint64_t{1} << 60, false).status().message(),
              HasSubstr("bits 53 to 60 are 128"));
}

SharedMatrix Matrix(Swizzle swizzle, bool mn_major, uint32_t leading, uint32_t stride) {
  SharedMatrix matrix;
  matrix.start = 4096;
  matrix.leading_bytes = leading;
  matrix.stride_bytes = stride;
  matrix.swizzle = swizzle;
  matrix.mn_major = mn_major;
  return matrix;
}

TEST(SharedMatrixTest, WithoutASwizzleCoreMatricesAreEightRowsOfSixteenBytes) {
  const SharedMatrix k_major = Matrix(Swizzle::kNone, false, 2048, 128);
  EXPECT_EQ(k_major.Address(0, 0, 2), 4096u);
  EXPECT_EQ(k_major.Address(3, 5, 2), 4096u + 3 * 16 + 10);
  EXPECT_EQ(k_major.Address(9, 8, 2), 4096u + 128 + 16 + 2048);
  const SharedMatrix mn_major = Matrix(Swizzle::kNone, true, 2048, 128);
  EXPECT_EQ(mn_major.Address(5, 3, 2), 4096u + 3 * 16 + 10);
  EXPECT_EQ(mn_major.Address(8, 9, 2), 4096u + 128 + 16 + 2048);
}

// Rows of 128 bytes whose 16-byte pieces are exchanged by the row's number, as TMA writes them.
TEST(SharedMatrixTest, ASwizzleExchangesSixteenBytePiecesByRow) {
  const SharedMatrix wide = Matrix(Swizzle::k128, false, 16, 1024);
  EXPECT_EQ(wide.Address(0, 8, 2), 4096u + 16);
  EXPECT_EQ(wide.Address(1, 0, 2), 4096u + 128 + 16);
  EXPECT_EQ(wide.Address(7, 8, 2), 4096u + 7 * 128 + (7 ^ 1) * 16);
  EXPECT_EQ(wide.Address(9, 0, 2), 4096u + 1024 + 128 + 16);
  const SharedMatrix middle = Matrix(Swizzle::k64, false, 16, 512);
  EXPECT_EQ(middle.Address(1, 0, 2), 4096u + 64);
  EXPECT_EQ(middle.Address(2, 0, 2), 4096u + 128 + 16);
  EXPECT_EQ(middle.Address(6, 8, 2), 4096u + 6 * 64 + (3 ^ 1) * 16);
  const SharedMatrix narrow = Matrix(Swizzle::k32, false, 16, 256);
  EXPECT_EQ(narrow.Address(3, 0, 2), 4096u + 3 * 32);
  EXPECT_EQ(narrow.Address(4, 0, 2), 4096u + 4 * 32 + 16);
}

// A tile of 64 columns of K is walked by moving the start inside of the pattern: the swizzle follows the address.
TEST(SharedMatrixTest, TheStartMayLieInsideOfThePattern) {
  SharedMatrix matrix = Matrix(Swizzle::k128, false, 16, 1024);
  const uint32_t whole = matrix.Address(5, 16 + 3, 2);
  matrix.start += 32;
  EXPECT_EQ(matrix.Address(5, 3, 2), whole);
}

TEST(SharedMatrixTest, ABaseOffsetMovesThePatternsFirstRow) {
  SharedMatrix matrix = Matrix(Swizzle::k128, false, 16, 1024);
  matrix.start += 3 * 128;
  matrix.base_offset = 3;
  EXPECT_EQ(matrix.Address(0, 0, 2), 4096u + 3 * 128);
  EXPECT_EQ(matrix.Address(1, 0, 2), 4096u + 4 * 128 + 16);
}

TEST(SharedMatrixTest, MnMajorRowsRunAlongMn) {
  const SharedMatrix wide = Matrix(Swizzle::k128, true, 8192, 1024);
  EXPECT_EQ(wide.Address(8, 1, 2), 4096u + 128 + (1 ^ 1) * 16);
  EXPECT_EQ(wide.Address(64, 8, 2), 4096u + 8192 + 1024);
  // tf32: pairs of pieces, and the pattern repeats after four rows of K.
  const SharedMatrix pairs = Matrix(Swizzle::k128Atom32, true, 8192, 512);
  EXPECT_EQ(pairs.Address(8, 1, 4), 4096u + 128 + (1 ^ 1) * 32);
  EXPECT_EQ(pairs.Address(0, 5, 4), 4096u + 512 + 128 + 32);
}

// No two elements share a byte: every layout is a permutation of its tile.
TEST(SharedMatrixTest, EveryLayoutIsOneToOne) {
  for (const Swizzle swizzle : {Swizzle::kNone, Swizzle::k32, Swizzle::k64, Swizzle::k128, Swizzle::k128Atom32}) {
    for (const bool mn_major : {false, true}) {
      const uint32_t width = SwizzleWidth(swizzle), group = 8 * width;
      SharedMatrix matrix = Matrix(swizzle, mn_major, 0, group);
      matrix.leading_bytes = 16384;
      std::set<uint32_t> seen;
      for (uint32_t mn = 0; mn < 64; ++mn) {
        for (uint32_t k = 0; k < 16; ++k) EXPECT_TRUE(seen.insert(matrix.Address(mn, k, 2)).second);
      }
    }
  }
}

}  // namespace
}  // namespace sassay::emulator
