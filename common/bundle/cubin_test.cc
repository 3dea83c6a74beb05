#include "common/bundle/cubin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <regex>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/files.h"
#include "common/bundle/nv_info.h"

namespace sassay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Fixture(const std::string& name) {
  auto bytes = ReadFile(std::filesystem::path(SASSAY_BUNDLE_FIXTURES) / name);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? *bytes : "";
}

std::vector<uint32_t> Sizes(const CubinKernel& kernel) {
  std::vector<uint32_t> sizes;
  for (const KernelParameter& parameter : kernel.parameters) sizes.push_back(parameter.size_bytes);
  return sizes;
}

class CubinOfArch : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto cubin = Cubin::Parse(Fixture(absl::StrCat("kernels.", GetParam(), ".cubin")));
    ASSERT_TRUE(cubin.ok()) << cubin.status();
    cubin_ = std::make_unique<Cubin>(*std::move(cubin));
  }
  const CubinKernel& Kernel(absl::string_view symbol) const {
    const CubinKernel* kernel = cubin_->FindKernel(symbol);
    EXPECT_NE(kernel, nullptr) << symbol;
    static const CubinKernel kNone;
    return kernel == nullptr ? kNone : *kernel;
  }
  std::unique_ptr<Cubin> cubin_;
};

TEST_P(CubinOfArch, TellsItsArchitecture) { EXPECT_EQ(cubin_->arch(), GetParam()); }

TEST_P(CubinOfArch, KnowsParametersAsTheSourceDeclaresThem) {
  EXPECT_THAT(Sizes(Kernel("gemm")), ElementsAre(8, 8, 8, 4));
  EXPECT_THAT(Sizes(Kernel("_Z9templatedILi64EfEvPT0_i")), ElementsAre(8, 4));
  EXPECT_THAT(Sizes(Kernel("_Z12no_argumentsv")), ElementsAre());
  EXPECT_THAT(Sizes(Kernel("_Z12empty_struct5EmptyPf")), ElementsAre(1, 8));
  EXPECT_EQ(Kernel("gemm").parameter_bytes, 28u);
}

TEST_P(CubinOfArch, KnowsStructParametersOfAKernelInAnAnonymousNamespace) {
  for (const CubinKernel& kernel : cubin_->kernels()) {
    if (!absl::StrContains(kernel.symbol, "9anonymous")) continue;
    EXPECT_THAT(Sizes(kernel), ElementsAre(8, 24, 1));
    return;
  }
  FAIL() << "no kernel of the anonymous namespace";
}

TEST_P(CubinOfArch, KnowsSharedMemoryWithoutTheSystemsShare) {
  EXPECT_EQ(Kernel("_Z9templatedILi64EfEvPT0_i").static_shared_bytes, 64u * 4);
  EXPECT_EQ(Kernel("_Z9templatedILi128EdEvPT0_i").static_shared_bytes, 128u * 8);
  EXPECT_EQ(Kernel("_Z15static_variablePi").static_shared_bytes, 3072u);
  EXPECT_EQ(Kernel("_Z7dynamicPf").static_shared_bytes, 0u);
  EXPECT_EQ(Kernel("gemm").static_shared_bytes, 0u);
}

TEST_P(CubinOfArch, KnowsLaunchBoundsStackAndExternals) {
  EXPECT_EQ(Kernel("_Z7boundedPi").max_threads_per_block, 256u);
  EXPECT_EQ(Kernel("gemm").max_threads_per_block, 0u);
  EXPECT_GE(Kernel("_Z6printsPfi").stack_bytes, 400u);
  EXPECT_THAT(Kernel("_Z6printsPfi").externals, ElementsAre("vprintf"));
  EXPECT_THAT(cubin_->undefined_functions(), ElementsAre("vprintf"));
  EXPECT_FALSE(cubin_->uses_device_runtime());
  EXPECT_FALSE(Kernel("gemm").required_cluster.has_value());
}

TEST_P(CubinOfArch, FindsVariablesWithTheirSizes) {
  const CubinVariable* coefficients = cubin_->FindVariable("coefficients");
  ASSERT_NE(coefficients, nullptr);
  EXPECT_EQ(coefficients->size_bytes, 17u * 4);
  EXPECT_TRUE(coefficients->constant);
  const CubinVariable* table = cubin_->FindVariable("table");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->size_bytes, 16u);
  EXPECT_EQ(table->section, ".nv.global.init");
  ASSERT_NE(cubin_->FindVariable("counter"), nullptr);
  EXPECT_FALSE(cubin_->FindVariable("counter")->constant);
  EXPECT_EQ(cubin_->FindVariable("gemm"), nullptr);
  for (const CubinVariable& variable : cubin_->variables()) EXPECT_NE(variable.name[0], '$');
}

// ptxas -v prints the same facts from another source.
TEST_P(CubinOfArch, AgreesWithPtxasVerboseOutputForEveryKernel) {
  const std::string text = Fixture(absl::StrCat("kernels.", GetParam(), ".ptxas.txt"));
  const std::regex block(
      "Compiling entry function '([^']+)'[^]*?(\\d+) bytes stack frame[^]*?Used (\\d+) registers([^\n]*)");
  const std::regex shared("(\\d+) bytes smem");
  size_t seen = 0;
  for (std::sregex_iterator match(text.begin(), text.end(), block), end; match != end; ++match, ++seen) {
    const CubinKernel& kernel = Kernel((*match)[1].str());
    EXPECT_EQ(absl::StrCat(kernel.registers), (*match)[3].str()) << kernel.symbol;
    const std::string rest = (*match)[4].str();
    std::smatch smem;
    EXPECT_EQ(absl::StrCat(kernel.static_shared_bytes), std::regex_search(rest, smem, shared) ? smem[1].str() : "0")
        << kernel.symbol;
  }
  EXPECT_EQ(seen, cubin_->kernels().size());
}

INSTANTIATE_TEST_SUITE_P(Archs, CubinOfArch, ::testing::Values("sm_80", "sm_90a", "sm_100a"),
                         [](const auto& info) { return std::string(info.param); });

class CubinOfHopperAndLater : public CubinOfArch {};

TEST_P(CubinOfHopperAndLater, KnowsClusters) {
  const CubinKernel& clustered = Kernel("_Z9clusteredPf");
  ASSERT_TRUE(clustered.required_cluster.has_value());
  EXPECT_EQ(clustered.required_cluster->x(), 2u);
  EXPECT_EQ(clustered.required_cluster->y(), 2u);
  EXPECT_EQ(clustered.required_cluster->z(), 1u);
  EXPECT_FALSE(clustered.blocks_are_clusters);
}

TEST_P(CubinOfHopperAndLater, KnowsTensorMapParametersWhateverTheirOffset) {
  const CubinKernel& kernel = Kernel("_Z10tensor_map14CUtensorMap_stiPf");
  EXPECT_THAT(Sizes(kernel), ElementsAre(128, 4, 8));
  EXPECT_EQ(kernel.max_threads_per_block, 128u);
  EXPECT_EQ(kernel.required_cluster->x(), 4u);
}

TEST_P(CubinOfHopperAndLater, KnowsRequiredBlockAndBlocksAsClusters) {
  const CubinKernel& kernel = Kernel("_Z10block_sizePf");
  ASSERT_TRUE(kernel.required_block.has_value());
  EXPECT_EQ(kernel.required_block->x(), 128u);
  EXPECT_TRUE(kernel.blocks_are_clusters);
}

TEST_P(CubinOfHopperAndLater, KnowsParametersOfMoreThan16KiB) {
  EXPECT_THAT(Sizes(Kernel("_Z5large5LargePf")), ElementsAre(20000, 8));
}

INSTANTIATE_TEST_SUITE_P(Archs, CubinOfHopperAndLater, ::testing::Values("sm_90a", "sm_100a"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Cubin, RefusesRelocatableObjectsWithAdvice) {
  EXPECT_THAT(std::string(Cubin::Parse(Fixture("relocatable.cubin")).status().message()), HasSubstr("-dlink"));
}

TEST(Cubin, RefusesFunctionsWhoseNamesAreLinesOrMarkup) {
  const std::string name = "_Z12no_argumentsv";
  for (const std::string part : {"\n=== 0", "</f><!--", "\"a& '", "\xc3\xa9"}) {
    std::string evil = name;
    evil.replace(4, part.size(), part);
    const std::string bytes = absl::StrReplaceAll(Fixture("kernels.sm_90a.cubin"), {{name, evil}});
    const auto cubin = Cubin::Parse(bytes);
    ASSERT_FALSE(cubin.ok()) << absl::CHexEscape(evil);
    EXPECT_THAT(std::string(cubin.status().message()), HasSubstr(absl::CHexEscape(evil)));
  }
}

TEST(Cubin, SeesDynamicParallelism) {
  const std::filesystem::path path = std::filesystem::path(SASSAY_BUNDLE_FIXTURES) / "device_runtime.cubin";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "this CUDA toolkit has no libcudadevrt.a";
  const auto cubin = Cubin::Parse(*ReadFile(path));
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  EXPECT_TRUE(cubin->uses_device_runtime());
  EXPECT_TRUE(cubin->FindKernel("_Z6parentPf")->uses_device_runtime);
  EXPECT_FALSE(cubin->FindKernel("_Z5childPf")->uses_device_runtime);
}

TEST(Cubin, EveryTruncationIsAnError) {
  const std::string whole = Fixture("kernels.sm_90a.cubin");
  for (size_t size = 0; size < whole.size(); size += 7) {
    EXPECT_FALSE(Cubin::Parse(absl::string_view(whole).substr(0, size)).ok()) << size;
  }
}

// Says only that nothing crashes or reads outside; the sanitizers are the judges here.
TEST(Cubin, SurvivesRandomDamage) {
  const std::string whole = Fixture("kernels.sm_90a.cubin");
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    for (int flips = 0; flips < 8; ++flips) damaged[random() % damaged.size()] = static_cast<char>(random());
    // Half of the damage goes where the headers are.
    damaged[whole.size() - 1 - random() % (66 * 64)] = static_cast<char>(random());
    if (!Cubin::Parse(damaged).ok()) ++refused;
  }
  EXPECT_GT(refused, 100);
}

TEST(Cubin, RefusesAnotherMachinesElf) {
  std::string bytes = Fixture("kernels.sm_90a.cubin");
  bytes[18] = 62;  // e_machine: x86-64
  bytes[19] = 0;
  EXPECT_THAT(std::string(Cubin::Parse(bytes).status().message()), HasSubstr("e_machine is 62"));
}

TEST(Cubin, ReadsTheArchitectureAsCuda12WroteIt) {
  std::string bytes = Fixture("kernels.sm_80.cubin");
  bytes[8] = 7;  // ABI version of CUDA 12: the SM is in bits 0-7 of e_flags and "a" is bit 11
  const uint32_t flags = 0x005a0d5a;
  std::memcpy(bytes.data() + 48, &flags, sizeof(flags));
  const auto cubin = Cubin::Parse(bytes);
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  EXPECT_EQ(cubin->arch(), "sm_90a");
  EXPECT_EQ(cubin->sm(), 90u);
}

TEST(NvInfo, RefusesEntriesThatReachPastTheEnd) {
  EXPECT_TRUE(ParseNvInfo(absl::string_view("\x04\x17\x02\x00zz", 6)).ok());
  EXPECT_FALSE(ParseNvInfo(absl::string_view("\x04\x17\x03\x00zz", 6)).ok());
  EXPECT_FALSE(ParseNvInfo(absl::string_view("\x04\x17", 2)).ok());
  EXPECT_FALSE(ParseNvInfo(absl::string_view("\x09\x17\x00\x00", 4)).ok());
  EXPECT_TRUE(ParseNvInfo("").ok());
}

}  // namespace
}  // namespace sassay
