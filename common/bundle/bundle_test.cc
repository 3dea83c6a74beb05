#include "common/bundle/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sassay {
namespace {

using ::testing::HasSubstr;

v1::Bundle Example() {
  v1::Bundle bundle;
  bundle.mutable_compilation()->set_arch("sm_90a");
  bundle.set_cubin("cubin");
  bundle.set_ptx("ptx");
  for (const char* symbol : {"b", "a", "c"}) {
    v1::KernelFacts& kernel = *bundle.add_kernels();
    kernel.set_symbol(symbol);
    for (const char* family : {"TMA", "GMMA", "HMMA"}) (*kernel.mutable_sass_families())[family] = 3;
  }
  for (const char* workload : {"w/M=2", "w/M=1"}) bundle.add_plans()->set_workload(workload);
  bundle.add_sources()->set_path("z.cu");
  bundle.add_sources()->set_path("a.cu");
  return bundle;
}

std::string Error(absl::string_view bytes) { return std::string(ParseBundle(bytes).status().message()); }

TEST(Bundle, OrderOfPartsDoesNotChangeTheBytes) {
  v1::Bundle shuffled = Example();
  shuffled.mutable_kernels()->SwapElements(0, 2);
  shuffled.mutable_plans()->SwapElements(0, 1);
  shuffled.mutable_sources()->SwapElements(0, 1);
  const auto one = SerializeBundle(Example());
  const auto two = SerializeBundle(shuffled);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(*one, *two);
  EXPECT_EQ(BundleDigest(*one), BundleDigest(*two));
  EXPECT_EQ(BundleDigest(*one).size(), 64u);
}

TEST(Bundle, ReadsWhatItWrote) {
  const auto bytes = SerializeBundle(Example());
  const auto bundle = ParseBundle(*bytes);
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(bundle->format_version(), kBundleFormatVersion);
  EXPECT_EQ(bundle->kernels(0).symbol(), "a");
  EXPECT_EQ(bundle->kernels(2).sass_families().at("HMMA"), 3u);
  EXPECT_EQ(FindPlan(*bundle, "w/M=2")->workload(), "w/M=2");
  EXPECT_EQ(FindPlan(*bundle, "w/M=3"), nullptr);
  EXPECT_EQ(*SerializeBundle(*bundle), *bytes);
}

TEST(Bundle, RefusesTwoPartsOfOneName) {
  v1::Bundle bundle = Example();
  bundle.add_plans()->set_workload("w/M=1");
  EXPECT_THAT(std::string(SerializeBundle(bundle).status().message()), HasSubstr("w/M=1 appears twice"));
}

TEST(Bundle, RefusesTextThatIsNotUtf8) {
  v1::Bundle bundle = Example();
  bundle.set_ptx("\xff\xfe");
  EXPECT_THAT(std::string(SerializeBundle(bundle).status().message()), HasSubstr("UTF-8"));
}

TEST(Bundle, RefusesUnsortedPartsEvenIfTheBytesAreWellFormed) {
  v1::Bundle bundle = *ParseBundle(*SerializeBundle(Example()));
  bundle.mutable_plans()->SwapElements(0, 1);
  EXPECT_THAT(Error(bundle.SerializeAsString()), HasSubstr("plans[1]: not in order"));
}

TEST(Bundle, RefusesAnotherSpellingOfTheSameMessage) {
  const std::string bytes = *SerializeBundle(Example());
  // The version again, at the end: protobuf would take the last one.
  EXPECT_THAT(Error(bytes + std::string("\x08\x01", 2)), HasSubstr("not canonical"));
  // The same number with a longer varint.
  EXPECT_THAT(Error(std::string("\x08\x81\x00", 3) + bytes.substr(2)), HasSubstr("not canonical"));
}

TEST(Bundle, RefusesUnknownFields) {
  EXPECT_THAT(Error(*SerializeBundle(Example()) + std::string("\xa0\x06\x01", 3)), HasSubstr("unknown field 100"));
}

TEST(Bundle, RefusesEveryTruncation) {
  const std::string bytes = *SerializeBundle(Example());
  for (size_t size = 0; size < bytes.size(); ++size) {
    // A cut between two fields gives a smaller message that is valid wire format: it may only lack what comes last.
    const auto cut = ParseBundle(absl::string_view(bytes).substr(0, size));
    if (cut.ok()) {
      EXPECT_LT(cut->kernels_size() + cut->plans_size() + cut->sources_size(), 7) << size;
    }
  }
  EXPECT_FALSE(ParseBundle("").ok());
}

TEST(Bundle, RefusesAnotherFormatVersion) {
  v1::Bundle bundle = Example();
  bundle.set_format_version(2);
  EXPECT_THAT(Error(bundle.SerializeAsString()), HasSubstr("format_version: 2"));
}

TEST(Bundle, ItsFirstBytesTellTheArchitecture) {
  v1::Bundle bundle = Example();
  bundle.set_cubin(std::string(1000, 'c'));
  EXPECT_EQ(*PeekArch(*SerializeBundle(bundle)), "sm_90a");
  bundle.set_source_sha256(std::string(32, '\x1a'));
  const std::string bytes = *SerializeBundle(bundle);
  EXPECT_EQ(*PeekArch(absl::string_view(bytes).substr(0, kPeekBytes)), "sm_90a");
  for (size_t size = 0; size < 40; ++size) {
    EXPECT_TRUE(absl::IsInvalidArgument(PeekArch(absl::string_view(bytes).substr(0, size)).status())) << size;
  }
  for (size_t at = 0; at < 60; ++at) {
    std::string broken = bytes;
    broken[at] = '\xff';
    const auto arch = PeekArch(broken);  // says something else, or nothing; reads nowhere else
    EXPECT_TRUE(arch.ok() || absl::IsInvalidArgument(arch.status()));
  }
  bundle.mutable_compilation()->set_arch("sm_90a; DROP TABLE");
  EXPECT_FALSE(PeekArch(*SerializeBundle(bundle)).ok());
  bundle.clear_compilation();
  EXPECT_FALSE(PeekArch(*SerializeBundle(bundle)).ok());
}

TEST(Bundle, LimitsGiveResourceExhausted) {
  const std::string bytes = *SerializeBundle(Example());
  BundleLimits limits;
  limits.max_bytes = bytes.size() - 1;
  EXPECT_EQ(ParseBundle(bytes, limits).status().code(), absl::StatusCode::kResourceExhausted);
  limits = {};
  limits.wire.max_messages = 5;
  EXPECT_EQ(ParseBundle(bytes, limits).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(SourceDigest, CoversPathsAndContentsAndNotTheirOrder) {
  v1::Bundle one, two, renamed;
  one.add_sources()->set_path("a");
  one.add_sources()->set_path("b");
  two.add_sources()->set_path("b");
  two.add_sources()->set_path("a");
  EXPECT_EQ(SourceDigest(one.sources()), SourceDigest(two.sources()));
  renamed.add_sources()->set_path("a");
  renamed.add_sources()->set_path("c");
  EXPECT_NE(SourceDigest(one.sources()), SourceDigest(renamed.sources()));
  one.mutable_sources(0)->set_content("x");
  EXPECT_NE(SourceDigest(one.sources()), SourceDigest(two.sources()));
  EXPECT_EQ(SourceDigest(one.sources()).size(), 32u);
}

}  // namespace
}  // namespace sassay
