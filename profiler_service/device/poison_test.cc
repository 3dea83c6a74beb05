#include "profiler_service/device/poison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace sassay::device {
namespace {

TEST(Poison, EveryPieceEqualsTheSamePieceOfTheWhole) {
  std::string whole(67, '\0');
  FillPoison(absl::MakeSpan(whole.data(), whole.size()), 7);
  for (size_t offset = 0; offset < whole.size(); ++offset) {
    std::string piece(whole.size() - offset, '\0');
    FillPoison(absl::MakeSpan(piece.data(), piece.size()), 7, offset);
    EXPECT_EQ(piece, whole.substr(offset)) << "offset " << offset;
  }
}

TEST(Poison, ReadAsFloatsEveryElementIsAnOrdinaryNumber) {
  for (uint64_t i = 0; i < 4096; ++i) {
    const uint64_t word = PoisonWord(42, i);
    float floats[2];
    std::memcpy(floats, &word, sizeof(word));
    for (const float f : floats) {
      EXPECT_GE(std::fabs(f), 0.125f);
      EXPECT_LT(std::fabs(f), 2.0f);
    }
  }
}

TEST(Poison, SeedsGiveDifferentPatterns) {
  int equal = 0;
  for (uint64_t i = 0; i < 4096; ++i) equal += PoisonWord(1, i) == PoisonWord(2, i);
  EXPECT_EQ(equal, 0);
}

TEST(Poison, IsTheValueThatTheGpuKernelComputes) {
  // The PTX in cuda/ is checked against this constant on a GPU; a change here must change it too.
  EXPECT_EQ(PoisonWord(0, 0), (0xE220A8397B1DCDAFu & kPoisonVaryingBits) | kPoisonFixedBits);
}

}  // namespace
}  // namespace sassay::device
