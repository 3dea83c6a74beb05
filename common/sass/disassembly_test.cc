#include "common/sass/disassembly.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/toolchain/ptxas.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::string> Opcodes(const std::vector<SassInstruction>& instructions) {
  std::vector<std::string> opcodes;
  for (const auto& instruction : instructions) opcodes.push_back(instruction.opcode);
  return opcodes;
}

// The lines of a kernel k.
std::string Kernel(absl::string_view lines) { return absl::StrCat(".text.k:\n", lines); }

Disassembly Parsed(absl::string_view text) {
  auto functions = ParseDisassembly(text);
  EXPECT_TRUE(functions.ok()) << functions.status();
  return functions.ok() ? *std::move(functions) : Disassembly();
}

TEST(ParseDisassembly, ReadsOffsetsOpcodesAndPredicates) {
  Disassembly functions = Parsed(
      "\t.target\tsm_90a\n"
      "        /*0000*/                   EXIT ;\n"
      "_Z1kPf:\n"
      ".text._Z1kPf:\n"
      "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
      "        /*0010*/               @!P1 BRA `(.L_x_3) ;\n"
      ".L_x_4:\n"
      "        /*0020*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], !UPT ;  /* 0x0 */\n"
      "                                                                                     /* 0x000fe2 */\n"
      "        /*0030*/                   NOP;\n"
      ".text._Z1gv:\n"
      "        /*0000*/               @P0 EXIT ;\n");
  EXPECT_THAT(Opcodes(functions["_Z1kPf"]), ElementsAre("LDC", "BRA", "HGMMA.64x128x16.F32.BF16", "NOP"));
  EXPECT_EQ(functions["_Z1kPf"][2].pc_offset, 0x20u);
  EXPECT_EQ(functions["_Z1kPf"][1].text, "@!P1 BRA `(.L_x_3)");
  EXPECT_THAT(Opcodes(functions["_Z1gv"]), ElementsAre("EXIT"));
  EXPECT_THAT(CountFamilies(functions["_Z1kPf"]), ElementsAre(Pair("GMMA", 1)));
}

TEST(ParseDisassembly, CutsLongTexts) {
  Disassembly functions = Parsed(Kernel("/*0000*/ FFMA " + std::string(1000, 'x') + ";\n"));
  EXPECT_EQ(functions["k"][0].text.size(), SassInstruction::kMaxTextBytes);
}

TEST(ParseDisassembly, PassesOverWhatIsNoInstruction) {
  EXPECT_TRUE(Parsed("").empty());
  Disassembly functions = Parsed(Kernel("/*zz*/ FFMA ;\n.L_x_1:\n/*30\n/*0000*/ {FFMA ;\n"));
  EXPECT_THAT(Opcodes(functions["k"]), ElementsAre("FFMA"));
}

TEST(ParseDisassembly, RefusesLinesThatSomebodyWroteIntoIt) {
  const std::string first = "/*0000*/ FFMA ;\n";
  for (const std::string& forged :
       {Kernel(first + "/*0010*/ HGMMA ;\n/*0010*/ FFMA ;\n"), Kernel("/*0000*/ HGMMA ;\n" + first),
        Kernel(first + "/*0020*/ HGMMA ;\n"), Kernel(first + "/*0008*/ HGMMA ;\n"), Kernel("/*0010*/ FFMA ;\n"),
        Kernel(first + "/*0010*/ ;\n"), Kernel(first + "/*0010*/\n"), Kernel(first) + Kernel(first),
        Kernel(first + ".text.other:\n" + first + ".text.k:\n/*0010*/ HGMMA ;\n")}) {
    EXPECT_EQ(ParseDisassembly(forged).status().code(), absl::StatusCode::kDataLoss) << forged;
  }
}

TEST(AddSourceLines, TakesTheInnermostLine) {
  Disassembly functions = Parsed(
      ".text.k:\n/*0000*/ LDC R1, c[0x0][0x28] ;\n/*0010*/ BRA ;\n/*0020*/ EXIT ;\n.text.other:\n/*0000*/ EXIT ;\n");
  AddSourceLines(
      ".text.k:\n"
      "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
      "\t//## File \"/work/kernel.cu\", line 11\n"
      "        /*0010*/                   BRA ;\n"
      "\t//## File \"/usr/include/a b.hpp\", line 7 inlined at \"/work/kernel.cu\", line 12\n"
      "\t//## File \"/work/kernel.cu\", line 12\n"
      "        /*0020*/                   EXIT ;\n"
      ".text.other:\n"
      "        /*0000*/                   EXIT ;\n",
      functions);
  const std::vector<SassInstruction>& k = functions["k"];
  ASSERT_EQ(k.size(), 3u);
  EXPECT_EQ(k[0].source_file, "");
  EXPECT_EQ(k[1].source_file, "kernel.cu");
  EXPECT_EQ(k[1].source_line, 11u);
  EXPECT_EQ(k[2].source_line, 12u);
  EXPECT_EQ(functions["other"][0].source_line, 0u);
}

TEST(AddSourceLines, LineMarkersThatAreNoneAreNone) {
  Disassembly functions = Parsed(Kernel("/*0000*/ FFMA ;\n"));
  AddSourceLines(
      Kernel("//## File \"a.cu\n//## File \"a.cu\", line x\n//## File \"a.cu\", line 99999999999\n/*0000*/ FFMA ;\n"),
      functions);
  EXPECT_EQ(functions["k"][0].source_file, "");
  EXPECT_EQ(functions["k"][0].source_line, 0u);
}

TEST(AddSourceLines, TakesNothingFromATextWithOtherInstructions) {
  const std::string line = "//## File \"a.cu\", line 3\n";
  const std::string code = Kernel("/*0000*/ FFMA ;\n/*0010*/ EXIT ;\n");
  for (const std::string& other :
       {Kernel(line + "/*0000*/ HGMMA ;\n/*0010*/ EXIT ;\n"), Kernel(line + "/*0000*/ FFMA ;\n"),
        Kernel(line + "/*0000*/ FFMA ;\n/*0010*/ HGMMA ;\n/*0010*/ EXIT ;\n"),
        Kernel(line + "/*0000*/ FFMA ;\n/*0010*/ EXIT ;\n.text.other:\n")}) {
    Disassembly functions = Parsed(code);
    AddSourceLines(other, functions);
    EXPECT_THAT(Opcodes(functions["k"]), ElementsAre("FFMA", "EXIT")) << other;
    EXPECT_EQ(functions["k"][0].source_line, 0u) << other;
  }
}

TEST(Disassemble, FindsTheInstructionsOfARealCubin) {
  auto toolchain = FindToolchain();
  if (!toolchain.ok() || toolchain->nvdisasm.empty()) GTEST_SKIP() << "needs ptxas and nvdisasm";
  if (!ProbeSandbox().Complete()) GTEST_SKIP() << ProbeSandbox().missing;
  sassay::v1::Compilation compilation;
  compilation.set_arch("sm_90a");
  auto assembly =
      AssemblePtx(*toolchain, compilation,
                  ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
                  ".reg .u64 %r; .reg .f32 %f<4>; .reg .b32 %a<4>;\n"
                  "ld.param.u64 %r, [p]; ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%r];\n"
                  "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n"
                  "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%a0, %a1, %a2, %a3}, "
                  "{%a0, %a1}, {%f0, %f1, %f2, %f3};\n"
                  "st.global.f32 [%r], %f0; ret;\n}\n",
                  absl::Seconds(60));
  ASSERT_TRUE(assembly.ok()) << assembly.status();
  ASSERT_NE(assembly->cubin, "") << assembly->report.stderr_text;
  auto functions = Disassemble(*toolchain, assembly->cubin);
  ASSERT_TRUE(functions.ok()) << functions.status();
  EXPECT_THAT(CountFamilies((*functions)["k"]), ElementsAre(Pair("HMMA", 1)));
  EXPECT_EQ(Disassemble(*toolchain, "not a cubin").status().code(), absl::StatusCode::kInvalidArgument);
}

// A name in `.file` may hold line breaks, and the disassembler prints it as it is.
constexpr char kForging[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n.file 1 \"kernel.cu\"\n"
    ".file 2 \"y\n        /*0040*/ HGMMA.64x256x16.F32.BF16 R24, gdesc[UR4], R24 ;\n\"\n"
    ".visible .entry k(.param .u64 p)\n{\n.reg .u64 %r; .reg .f32 %f<2>;\n"
    ".loc 1 7 0\nld.param.u64 %r, [p]; ld.global.f32 %f0, [%r];\n.loc 2 9 0\nfma.rn.f32 %f1, %f0, %f0, %f0;\n"
    ".loc 1 8 0\nst.global.f32 [%r], %f1; ret;\n}\n";

TEST(Disassemble, FileNamesWithLineBreaksAddNoInstruction) {
  auto toolchain = FindToolchain();
  if (!toolchain.ok() || toolchain->nvdisasm.empty()) GTEST_SKIP() << "needs ptxas and nvdisasm";
  if (!ProbeSandbox().Complete()) GTEST_SKIP() << ProbeSandbox().missing;
  sassay::v1::Compilation compilation;
  compilation.set_arch("sm_90a");
  compilation.add_options("--generate-line-info");
  for (const auto& [ptx, line] : {std::pair(std::string(kForging), 0u),
                                  std::pair(absl::StrReplaceAll(kForging, {{"y\n", "y"}, {";\n\"", ";\""}}), 7u)}) {
    auto assembly = AssemblePtx(*toolchain, compilation, ptx, absl::Seconds(60));
    ASSERT_TRUE(assembly.ok()) << assembly.status();
    ASSERT_NE(assembly->cubin, "") << assembly->report.stderr_text;
    auto functions = DisassembleWithLines(*toolchain, assembly->cubin);
    ASSERT_TRUE(functions.ok()) << functions.status();
    const std::vector<SassInstruction>& k = functions->at("k");
    EXPECT_TRUE(CountFamilies(k).empty());
    EXPECT_THAT(Opcodes(k), ::testing::Contains("FFMA"));
    EXPECT_EQ(k[0].source_line, line);
  }
}

TEST(Disassemble, SaysHowToGetADisassembler) {
  auto status = Disassemble(Toolchain(), "").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("pip install"));
}

}  // namespace
}  // namespace sassay
