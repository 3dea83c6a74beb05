#include "agent/interop/triton/join_ptx.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// As LLVM writes them.
std::string Module(const std::string& kernel, const std::string& body, const std::string& target = "sm_90a") {
  return absl::StrCat(
      "//\n// Generated\n//\n\n.version 9.0\n.target ", target, "\n.address_size 64\n\n\t// .globl\t", kernel,
      "\n.extern .shared .align 16 .b8 global_smem[];\n.global .align 1 .b8 message[4] = {1, 2, 3, 0};\n"
      ".visible .entry ",
      kernel, "(\n\t.param .u64 ", kernel, "_param_0\n)\n.reqntid 128\n{\n\t.reg .b32 %r<2>;\n",
      "$L__func_begin0:\n\t.loc\t1 6 0\n\t.loc\t2 7 3, function_name $L__info_string0, inlined_at 1 6 0\n", body,
      "\tmov.b64 %rd1, message;\n\tret;\n}\n\t.file\t1 \"/candidate/kernel.py\"\n"
      "\t.file\t2 \"/packages/standard.py\"\n\t.section\t.debug_str\n\t{\n$L__info_string0:\n.b8 1\n\t}\n");
}

TEST(JoinPtxTest, OneModuleStaysAsItIs) {
  const PtxModule module = {"a", Module("a", "")};
  const absl::StatusOr<JoinedPtx> joined = JoinPtx({module, module});
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->ptx, module.ptx);
  EXPECT_THAT(joined->kernels, ElementsAre("a", "a"));
}

TEST(JoinPtxTest, NamesThatMeetAreNumberedAndUsesFollow) {
  const absl::StatusOr<JoinedPtx> joined =
      JoinPtx({{"a", Module("a", "")}, {"a", Module("a", "\tadd.s32 %r1, %r1, 1;\n")}, {"b", Module("b", "")}});
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(joined->kernels, ElementsAre("a", "a_1", "b"));
  EXPECT_THAT(joined->ptx, HasSubstr(".visible .entry a_1("));
  EXPECT_THAT(joined->ptx, HasSubstr(".b8 message_1[4]"));
  EXPECT_THAT(joined->ptx, HasSubstr("mov.b64 %rd1, message_2;"));
}

TEST(JoinPtxTest, HeadersAndExternsStandOnceAndLineTablesAreJoined) {
  const absl::StatusOr<JoinedPtx> joined = JoinPtx({{"a", Module("a", "")}, {"b", Module("b", "")}});
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->ptx.find(".version"), joined->ptx.rfind(".version"));
  EXPECT_EQ(joined->ptx.find(".extern .shared"), joined->ptx.rfind(".extern .shared"));
  EXPECT_THAT(joined->ptx, HasSubstr("\t.loc\t4 6 0\n"));
  EXPECT_THAT(joined->ptx, HasSubstr("\t.file\t5"));
  EXPECT_THAT(joined->ptx, Not(HasSubstr("info_string")));
  EXPECT_THAT(joined->ptx, Not(HasSubstr(".section")));
}

TEST(JoinPtxTest, RefusesOtherTargetsAndMissingKernels) {
  EXPECT_EQ(JoinPtx({{"a", Module("a", "")}, {"b", Module("b", "", "sm_100a")}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(JoinPtx({{"a", Module("a", "")}, {"c", Module("b", "")}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sassay::agent
