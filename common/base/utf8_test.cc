#include "common/base/utf8.h"

#include <gtest/gtest.h>

#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay {
namespace {

TEST(Utf8, WellFormedTextPasses) {
  for (const char* text : {"", "plain",
                           "gr\xC3\xB6\xC3\x9F"
                           "e",
                           "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(FirstInvalidUtf8(text), absl::string_view::npos) << text;
    EXPECT_EQ(ToUtf8(text), text);
  }
}

TEST(Utf8, NamesTheFirstByteThatIsNone) {
  EXPECT_EQ(FirstInvalidUtf8("na\xEFve"), 2u);          // Latin-1
  EXPECT_EQ(FirstInvalidUtf8("\xC0\x80"), 0u);          // overlong
  EXPECT_EQ(FirstInvalidUtf8("a\xED\xA0\x80"), 1u);     // surrogate
  EXPECT_EQ(FirstInvalidUtf8("\xF4\x90\x80\x80"), 0u);  // past U+10FFFF
  EXPECT_EQ(FirstInvalidUtf8("ok\xE2\x82"), 2u);        // cut off
  EXPECT_EQ(FirstInvalidUtf8("\x80"), 0u);              // continuation alone
}

TEST(Utf8, ReplacesOnlyWhatIsWrong) {
  EXPECT_EQ(ToUtf8("na\xEFve gr\xC3\xB6\xC3\x9F"
                   "e"),
            "na?ve gr\xC3\xB6\xC3\x9F"
            "e");
  EXPECT_EQ(ToUtf8("\xE2\x82"), "??");
}

TEST(Utf8, AMessageCanBeReadOnceItsTextIsValid) {
  v1::Verdict verdict;
  verdict.mutable_details()->set_device_output("\xFF");
  verdict.mutable_details()->add_notes("\x80");
  verdict.mutable_details()->add_findings()->set_message("at \xC3");
  (*verdict.mutable_versions()->mutable_libraries())["tool"] = "\xFE";
  MakeTextValid(verdict);
  v1::Verdict read;
  EXPECT_TRUE(read.ParseFromString(verdict.SerializeAsString()));
  EXPECT_EQ(read.details().findings(0).message(), "at ?");
}

TEST(Utf8, BytesOfAMessageStay) {
  v1::Bundle bundle;
  bundle.set_cubin("\xFF");
  MakeTextValid(bundle);
  EXPECT_EQ(bundle.cubin(), "\xFF");
}

}  // namespace
}  // namespace sassay
