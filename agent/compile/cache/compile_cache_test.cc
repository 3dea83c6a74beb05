#include "agent/compile/cache/compile_cache.h"

#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;
using sassay::v1::Verdict;

CompiledCandidate Candidate(size_t bytes) {
  CompiledCandidate candidate;
  candidate.cubin = std::string(bytes, 'c');
  candidate.ptx = "ptx";
  candidate.shared_object = std::string("so\0x", 4);
  candidate.compilation.set_arch("sm_90a");
  candidate.kernels.emplace_back().set_symbol("_Z1kv");
  candidate.diagnostics.emplace_back().set_message("careful");
  candidate.sass_families_missing = "no nvdisasm";
  return candidate;
}

class CompileCacheTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_ = *TemporaryDirectory::Create("compile-cache-test");
  fs::path folder_ = directory_.path() / "deep/cache";
};

TEST_F(CompileCacheTest, GivesBackWhatWasPut) {
  CompileCache cache(folder_, 1 << 20);
  EXPECT_FALSE(cache.Find("key").has_value());
  ASSERT_TRUE(cache.Put("key", Candidate(100)).ok());
  auto entry = cache.Find("key");
  ASSERT_TRUE(entry.has_value());
  const auto& candidate = std::get<CompiledCandidate>(*entry);
  EXPECT_TRUE(candidate.from_cache);
  EXPECT_EQ(candidate.cubin, std::string(100, 'c'));
  EXPECT_EQ(candidate.shared_object, std::string("so\0x", 4));
  EXPECT_EQ(candidate.compilation.arch(), "sm_90a");
  EXPECT_EQ(candidate.kernels[0].symbol(), "_Z1kv");
  EXPECT_EQ(candidate.diagnostics[0].message(), "careful");
  EXPECT_EQ(candidate.sass_families_missing, "no nvdisasm");
}

TEST_F(CompileCacheTest, KeepsVerdicts) {
  CompileCache cache(folder_, 1 << 20);
  Verdict verdict;
  verdict.set_reason("kernel.cu:1: error: x");
  ASSERT_TRUE(cache.Put("key", verdict).ok());
  EXPECT_EQ(std::get<Verdict>(*cache.Find("key")).reason(), verdict.reason());
}

TEST_F(CompileCacheTest, MissesADamagedEntry) {
  CompileCache cache(folder_, 1 << 20);
  ASSERT_TRUE(cache.Put("key", Candidate(100)).ok());
  std::string text = *ReadFile(folder_ / "key");
  for (size_t at = 0; at < text.size(); at += 7) {
    std::string damaged = text;
    damaged[at] ^= 0x40;
    std::ofstream(folder_ / "key", std::ios::binary) << damaged;
    EXPECT_FALSE(cache.Find("key").has_value()) << at;
    std::ofstream(folder_ / "key", std::ios::binary) << text.substr(0, at);
    EXPECT_FALSE(cache.Find("key").has_value()) << at;
  }
}

TEST_F(CompileCacheTest, ForgetsTheLeastRecentlyUsed) {
  CompileCache cache(folder_, 10'000);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(cache.Put(absl::StrCat(i), Candidate(2500)).ok());
    fs::last_write_time(folder_ / absl::StrCat(i), fs::file_time_type::clock::now() - std::chrono::hours(10 - i));
  }
  EXPECT_TRUE(cache.Find("0").has_value());  // now the most recently used
  ASSERT_TRUE(cache.Put("3", Candidate(2500)).ok());
  EXPECT_TRUE(cache.Find("0").has_value());
  EXPECT_FALSE(cache.Find("1").has_value());
  EXPECT_TRUE(cache.Find("3").has_value());
}

TEST_F(CompileCacheTest, IsOffWithoutAFolder) {
  CompileCache cache("", 1 << 20);
  EXPECT_TRUE(cache.Put("key", Candidate(1)).ok());
  EXPECT_FALSE(cache.Find("key").has_value());
}

}  // namespace
}  // namespace sassay
