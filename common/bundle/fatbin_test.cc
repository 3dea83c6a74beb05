#include "common/bundle/fatbin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "common/base/files.h"
#include "common/bundle/cubin.h"
#include "common/bundle/elf.h"
#include "common/bundle/ptx.h"

namespace sassay {
namespace {

using ::testing::HasSubstr;

std::string Fixture(const std::string& name) {
  auto bytes = ReadFile(std::filesystem::path(SASSAY_BUNDLE_FIXTURES) / name);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? *bytes : "";
}

class FatbinOfMode : public ::testing::TestWithParam<const char*> {};

TEST_P(FatbinOfMode, HoldsEveryImageForItsArchitecture) {
  const std::string bytes = Fixture(std::string(GetParam()) + ".fatbin");
  EXPECT_EQ(*FatbinSize(absl::string_view(bytes).substr(0, 16)), bytes.size());
  const auto entries = ParseFatbin(bytes);
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 3u);
  int elf = 0, ptx = 0;
  for (const FatbinEntry& entry : *entries) {
    if (entry.kind == FatbinEntry::Kind::kElf) {
      const auto cubin = Cubin::Parse(entry.payload);
      ASSERT_TRUE(cubin.ok()) << cubin.status();
      EXPECT_EQ(cubin->sm(), entry.sm);
      ++elf;
    } else {
      EXPECT_EQ(ParsePtxHeader(entry.payload)->target, "sm_80");
      EXPECT_NE(entry.payload.back(), '\0');
      ++ptx;
    }
  }
  EXPECT_EQ(elf, 2);
  EXPECT_EQ(ptx, 1);
}

TEST_P(FatbinOfMode, RefusesEveryTruncation) {
  const std::string bytes = Fixture(std::string(GetParam()) + ".fatbin");
  for (size_t size = 0; size < bytes.size(); size += 101) {
    EXPECT_FALSE(ParseFatbin(absl::string_view(bytes).substr(0, size)).ok()) << size;
  }
}

TEST_P(FatbinOfMode, SurvivesRandomDamage) {
  const std::string bytes = Fixture(std::string(GetParam()) + ".fatbin");
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    std::string damaged = bytes;
    for (int flips = 0; flips < 4; ++flips) damaged[random() % 512] = static_cast<char>(random());
    static_cast<void>(ParseFatbin(damaged, 1 << 22));
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, FatbinOfMode, ::testing::Values("plain", "compressed"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Fatbin, IsCompressedWhereAskedFor) {
  EXPECT_LT(Fixture("compressed.fatbin").size() * 2, Fixture("plain.fatbin").size());
}

TEST(Fatbin, RefusesAnImageThatWouldUnpackToMoreThanTheLimit) {
  EXPECT_EQ(ParseFatbin(Fixture("compressed.fatbin"), 4096).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Fatbin, RefusesLz4WithAdvice) {
  std::string bytes = Fixture("plain.fatbin");
  bytes[16 + 41] = 0x20;  // flags of the first image
  EXPECT_THAT(std::string(ParseFatbin(bytes).status().message()), HasSubstr("--no-compress"));
}

TEST(Fatbin, RefusesForeignBytes) {
  EXPECT_FALSE(ParseFatbin("").ok());
  EXPECT_FALSE(ParseFatbin(std::string(64, '\0')).ok());
  EXPECT_FALSE(FatbinSize(std::string(15, 'x')).ok());
}

}  // namespace
}  // namespace sassay
