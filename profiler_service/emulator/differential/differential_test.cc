// What an H200 made of the drawn kernels, kept as digests, beside what the emulator makes of them now.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "profiler_service/emulator/differential/case.h"
#include "profiler_service/emulator/differential/run.h"
#include "profiler_service/emulator/emulated_device.h"

namespace sassay::emulator {
namespace {

std::string Kept(const std::string& name) {
  auto text = ReadFile(absl::StrCat(SASSAY_SOURCE_DIR, "/profiler_service/emulator/differential/", name));
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : "";
}

// "SEED DIGEST", as tests/gpu/differential.sh prints them.
std::map<uint64_t, uint64_t> KeptDigests() {
  std::map<uint64_t, uint64_t> digests;
  std::istringstream lines(Kept("h200_digests.txt"));
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, ' ');
    uint64_t seed = 0;
    if (parts.size() == 2 && absl::SimpleAtoi(parts[0], &seed))
      digests[seed] = std::strtoull(parts[1].c_str(), nullptr, 16);
  }
  return digests;
}

std::unique_ptr<device::Device> Loaded(const std::vector<Case>& cases, worker::RunMode mode) {
  auto device = EmulatedDevice::Open("sm_90a", mode);
  EXPECT_TRUE(device.ok()) << device.status();
  v1::Bundle bundle;
  bundle.set_ptx(Module(cases));
  const absl::Status loaded = (*device)->LoadModule(bundle);
  EXPECT_TRUE(loaded.ok()) << loaded;
  return *std::move(device);
}

std::vector<Case> Cases(uint64_t first, uint64_t count) {
  std::vector<Case> cases;
  for (uint64_t seed = first; seed < first + count; ++seed) cases.push_back(Draw(seed));
  return cases;
}

constexpr uint64_t kCases = 2600, kGroup = 100;

// A part of the seeds each, so that parts run side by side.
class DifferentialTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(DifferentialTest, TheEmulatorAgreesWithAnH200ToTheBit) {
  const auto digests = KeptDigests();
  EXPECT_GE(digests.size(), size_t{2000});
  for (uint64_t first = GetParam(); first < kCases; first += 4 * kGroup) {
    const std::vector<Case> cases = Cases(first, kGroup);
    const auto device = Loaded(cases, worker::RUN_MODE_PLAIN);
    for (const Case& drawn : cases) {
      const auto kept = digests.find(drawn.seed);
      if (kept == digests.end()) continue;
      const auto output = RunCase(*device, drawn);
      ASSERT_TRUE(output.ok()) << drawn.seed << ": " << output.status();
      EXPECT_EQ(Digest(drawn, *output), kept->second) << "seed " << drawn.seed << " (" << drawn.kind
                                                      << "): differential draw --first " << drawn.seed << " --count 1";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DifferentialTest, ::testing::Values(0, kGroup, 2 * kGroup, 3 * kGroup));

// All of these kernels are honest: a checked run that finds something accuses falsely.
TEST(DifferentialCheckedTest, NothingIsFoundWhereNothingIsWrong) {
  const std::vector<Case> cases = Cases(200, kGroup);
  const auto device = Loaded(cases, worker::RUN_MODE_CHECKED);
  for (const Case& drawn : cases) {
    const auto output = RunCase(*device, drawn);
    EXPECT_TRUE(output.ok()) << "seed " << drawn.seed << ": " << output.status();
  }
}

// "RAW SEED WORD…": approximations are compared within their bounds.
TEST(DifferentialApproximationsTest, TheEmulatorIsWithinTheBoundsOfAnH200) {
  std::istringstream lines(Kept("h200_approximations.txt"));
  size_t compared = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, ' ');
    uint64_t seed = 0;
    if (parts.size() < 3 || parts[0] != "RAW" || !absl::SimpleAtoi(parts[1], &seed)) continue;
    const std::vector<Case> cases = Cases(seed, 1);
    std::vector<uint32_t> words;
    for (size_t i = 2; i < parts.size(); ++i)
      words.push_back(static_cast<uint32_t>(std::strtoul(parts[i].c_str(), nullptr, 16)));
    ASSERT_EQ(words.size(), size_t{cases[0].threads} * cases[0].output_words());
    const auto device = Loaded(cases, worker::RUN_MODE_PLAIN);
    const auto output = RunCase(*device, cases[0]);
    ASSERT_TRUE(output.ok()) << output.status();
    for (const Disagreement& found : Compare(cases[0], *output, words)) {
      ADD_FAILURE() << "seed " << seed << " thread " << found.thread << ": " << found.slot->text << ": emulator "
                    << std::hex << found.expected << ", H200 " << found.actual;
    }
    ++compared;
  }
  EXPECT_GE(compared, size_t{10});
}

TEST(DrawTest, ASeedGivesTheSameKernelEverywhere) {
  // Of the texts of seeds 0 to 99: another value means that kept digests belong to other kernels.
  uint64_t digest = 0xcbf29ce484222325;
  for (const char c : Module(Cases(0, kGroup))) digest = (digest ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  for (const Case& drawn : Cases(0, kGroup)) {
    for (const uint32_t word : drawn.input) digest = (digest ^ word) * 0x100000001b3;
  }
  EXPECT_EQ(digest, 0x21dad578854f3a1au) << std::hex << digest;
}

TEST(CompareTest, ABitIsADifferenceUnlessTheResultIsAnApproximation) {
  Case drawn;
  drawn.threads = 1;
  drawn.slots = {{"add.rn.f32", 1, Number::kBits, 0, 0}, {"ex2.approx.f32", 1, Number::kFloat, 0x1p-22, 0}};
  EXPECT_TRUE(Compare(drawn, {0x3f800000, 0x3f800000}, {0x3f800000, 0x3f800001}).empty());
  ASSERT_EQ(Compare(drawn, {0x3f800000, 0x3f800000}, {0x3f800001, 0x3f900000}).size(), 2u);
  EXPECT_NE(Digest(drawn, {1, 2}), Digest(drawn, {3, 2}));
  EXPECT_EQ(Digest(drawn, {1, 2}), Digest(drawn, {1, 3}));
}

}  // namespace
}  // namespace sassay::emulator
