#include "common/base/sha256.h"

#include <gtest/gtest.h>

namespace sassay {
namespace {

// FIPS 180-2, appendix B.1.
constexpr char kAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256, MatchesPublishedVector) { EXPECT_EQ(Sha256Hex("abc"), kAbc); }

TEST(Sha256, StreamInPiecesGivesTheSameDigest) {
  Sha256Stream stream;
  stream.Update("a");
  stream.Update("");
  stream.Update("bc");
  EXPECT_EQ(stream.Finish(), Sha256("abc"));
}

TEST(Sha256, AcceptsOnlySixtyFourLowerCaseHexDigits) {
  EXPECT_TRUE(IsSha256Hex(kAbc));
  EXPECT_FALSE(IsSha256Hex("abc"));
  EXPECT_FALSE(IsSha256Hex(std::string(64, 'A')));
  EXPECT_FALSE(IsSha256Hex(std::string(63, '0') + "/"));
}

}  // namespace
}  // namespace sassay
