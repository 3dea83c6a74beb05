#include "profiler_service/admission/code_digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/files.h"
#include "common/bundle/cubin.h"

namespace sassay::admission {
namespace {

std::string Fixture(const std::string& name) { return *ReadFile(absl::StrCat(SASSAY_BUNDLE_FIXTURES, "/", name)); }

constexpr const char* kPtx = R"(
.version 9.0
.target sm_90a
.address_size 64
.visible .entry scale(.param .u64 scale_param_0, .param .u32 scale_param_1)
{
  .reg .pred %p<2>;
  .reg .b32 %r<5>;
  .reg .b64 %rd<3>;
  .loc 1 7 3
  ld.param.u64 %rd1, [scale_param_0];
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %p1, %r1, 64;
  @%p1 bra $L__BB0_2;
  mul.wide.u32 %rd2, %r1, 4;  // four bytes
$L__BB0_2:
  ret;
}
)";

CodeDigest Of(absl::string_view ptx) {
  const auto digests = PtxCodeDigests(ptx);
  EXPECT_EQ(digests.size(), 1u);
  return digests.empty() ? CodeDigest() : digests.front();
}

TEST(PtxCodeDigests, NamesLinesTargetAndCommentsDoNotMatter) {
  const CodeDigest original = Of(kPtx);
  EXPECT_EQ(original.symbol, "scale");
  EXPECT_EQ(original.instructions, 6u);
  const std::string disguised = absl::StrReplaceAll(kPtx, {{"scale", "my_own_work"},
                                                           {"sm_90a", "sm_120"},
                                                           {"%rd", "%x"},
                                                           {"%r1", "%value7"},
                                                           {"%p1", "%done3"},
                                                           {"$L__BB0_2", "out"},
                                                           {".loc 1 7 3",
                                                            ".loc 2 9 1, function_name $L__info, "
                                                            "inlined_at 1 2 3"},
                                                           {"// four bytes", "/* */"},
                                                           {"  ", "\t"}});
  EXPECT_EQ(Of(disguised).symbol, "my_own_work");
  EXPECT_EQ(Of(disguised).digest, original.digest);
}

TEST(PtxCodeDigests, AnotherInstructionOperandOrConstantIsAnotherFunction) {
  const std::string original = Of(kPtx).digest;
  EXPECT_NE(Of(absl::StrReplaceAll(kPtx, {{"mul.wide.u32", "mul.lo.u32"}})).digest, original);
  EXPECT_NE(Of(absl::StrReplaceAll(kPtx, {{"%r1, 64", "%r1, 65"}})).digest, original);
  EXPECT_NE(Of(absl::StrReplaceAll(kPtx, {{"%tid.x", "%tid.y"}})).digest, original);
  EXPECT_NE(Of(absl::StrReplaceAll(kPtx, {{"%rd2, %r1, 4", "%rd2, %rd2, 4"}})).digest, original);
}

TEST(PtxCodeDigests, EveryEntryOfAModuleIsToldApart) {
  const std::string ptx = Fixture("kernels.sm_90a.ptx");
  std::set<std::string> digests;
  for (const CodeDigest& code : PtxCodeDigests(ptx)) digests.insert(code.digest);
  EXPECT_GT(digests.size(), 3u);
}

TEST(PtxCodeDigests, BrokenTextEndsTheList) {
  EXPECT_TRUE(PtxCodeDigests(".entry").empty());
  EXPECT_TRUE(PtxCodeDigests(".entry declared(.param .u64 p);").empty());
  EXPECT_EQ(PtxCodeDigests(".entry open() { ret; @").size(), 1u);
}

TEST(MachineCodeDigests, EveryKernelHasOneAndARenamedKernelHasTheSame) {
  const std::string bytes = Fixture("kernels.sm_90a.cubin");
  const auto cubin = Cubin::Parse(bytes);
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  const auto digests = MachineCodeDigests(bytes);
  ASSERT_TRUE(digests.ok()) << digests.status();
  ASSERT_GE(digests->size(), cubin->kernels().size());
  const CodeDigest& first = digests->front();
  EXPECT_GT(first.instructions, 0u);
  std::string other = first.symbol;
  other.back() = other.back() == 'x' ? 'y' : 'x';
  const auto renamed = MachineCodeDigests(absl::StrReplaceAll(bytes, {{first.symbol, other}}));
  ASSERT_TRUE(renamed.ok()) << renamed.status();
  EXPECT_EQ(renamed->front().symbol, other);
  EXPECT_EQ(renamed->front().digest, first.digest);
}

TEST(MachineCodeDigests, WhatIsNoElfIsRefused) { EXPECT_FALSE(MachineCodeDigests("no ELF").ok()); }

}  // namespace
}  // namespace sassay::admission
