#include "agent/compile/messages/ptx_lines.h"

#include "gtest/gtest.h"

namespace sassay {
namespace {

constexpr char kPtx[] =
    ".version 9.0\n"                                                       // 1
    ".visible .entry _Z1kPf(\n"                                            // 2
    "  .param .u64 p\n"                                                    // 3
    ")\n{\n"                                                               // 4, 5
    "  .loc 1 12 0\n"                                                      // 6
    "  ld.param.u64 %rd1, [p];\n"                                          // 7
    "  .loc 2 300 5, function_name $L__info_string0, inlined_at 1 14 7\n"  // 8
    "  add.f32 %f1, %f1, %f1;\n"                                           // 9
    "}\n"                                                                  // 10
    ".func (.param .b32 r) _Z1fi(.param .b32 a)\n"                         // 11
    "{\n"                                                                  // 12
    "  mov.b32 %r1, 1;\n"                                                  // 13
    "  .loc 1 3 1\n"                                                       // 14
    "}\n"
    ".file 1 \"/candidate/kernel.cu\"\n"
    ".file 2 \"/cuda/include/cuda_bf16.hpp\"\n";

TEST(PtxLines, FindsTheLastLocation) {
  PtxLines lines(kPtx);
  EXPECT_EQ(lines.At(7).file, "/candidate/kernel.cu");
  EXPECT_EQ(lines.At(7).line, 12u);
}

TEST(PtxLines, FollowsInlinedCodeToTheCaller) {
  PtxLines lines(kPtx);
  EXPECT_EQ(lines.At(9).file, "/candidate/kernel.cu");
  EXPECT_EQ(lines.At(9).line, 14u);
}

TEST(PtxLines, DoesNotCarryALocationIntoTheNextFunction) {
  PtxLines lines(kPtx);
  EXPECT_EQ(lines.At(1).line, 0u);
  EXPECT_EQ(lines.At(13).line, 0u);
  EXPECT_EQ(lines.At(15).line, 3u);
}

TEST(PtxLines, FindsFunctions) {
  PtxLines lines(kPtx);
  EXPECT_EQ(lines.OfFunction("_Z1kPf").line, 12u);
  EXPECT_EQ(lines.OfFunction("_Z1fi").line, 3u);
  EXPECT_EQ(lines.OfFunction("nobody").line, 0u);
}

TEST(PtxLines, SurvivesNonsense) {
  for (const char* text : {"", ".loc", ".loc 1", ".loc x y z", ".file", ".file 1", ".file 1 \"", ".entry ",
                           ".entry\n.func (", ".loc 9 9 9\n"}) {
    PtxLines lines(text);
    EXPECT_EQ(lines.At(2).line, 0u) << text;
  }
}

}  // namespace
}  // namespace sassay
