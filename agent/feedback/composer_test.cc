#include "agent/feedback/composer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

Composer Example() {
  Composer composer;
  composer.Add(Rank::kVital, "verdict\n");
  composer.Section("Errors");
  composer.Add(Rank::kCause, "first\n");
  composer.Add(Rank::kHelp, "second\n");
  composer.Add(Rank::kHelp, "third" + std::string(60, '3') + "\n");
  composer.Section("Empty");
  composer.Section("Notes");
  composer.Add(Rank::kDetail, std::string(100, 'n') + "\n");
  return composer;
}

TEST(ComposerTest, EverythingIsThereWhereItFits) {
  EXPECT_EQ(Example().Text(1000), "verdict\n\nErrors:\nfirst\nsecond\nthird" + std::string(60, '3') + "\n\nNotes:\n" +
                                      std::string(100, 'n') + "\n");
}

TEST(ComposerTest, DetailsGoFirstAndAreNamed) {
  EXPECT_EQ(Example().Text(160), "verdict\n\nErrors:\nfirst\nsecond\nthird" + std::string(60, '3') +
                                     "\n\n(Left out for length: \"Notes\" (1))\n");
}

TEST(ComposerTest, OfOneRankTheLaterPieceGoesFirst) {
  EXPECT_EQ(Example().Text(100),
            "verdict\n\nErrors:\nfirst\nsecond\n\n(Left out for length: \"Errors\" (1), \"Notes\" (1))\n");
}

TEST(ComposerTest, VitalPiecesAreCutOnlyWhenAlone) {
  Composer composer;
  composer.Add(Rank::kVital, std::string(200, 'v') + "\n");
  composer.Add(Rank::kCause, "cause\n");
  const std::string text = composer.Text(120);
  EXPECT_EQ(text.size(), 120);
  EXPECT_THAT(text, testing::HasSubstr("(cut here: the text was too long)"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("cause")));
}

}  // namespace
}  // namespace sassay::agent
