#include "profiler_service/emulator/ptx/parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::emulator::ptx {
namespace {

std::unique_ptr<Module> MustParse(const std::string& text) {
  auto module = Parse(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

TEST(ParserTest, ReadsVariablesWithInitialisers) {
  const auto module = MustParse(
      ".version 9.0\n.target sm_90a\n.address_size 64\n"
      ".const .align 4 .b8 table[8] = {0, 0, 128, 63};\n.global .u32 n = 5;\n.global .u64 p = generic(n)+4;\n"
      ".global .f32 f[2] = {0f3F800000, -0f3F800000};\n.extern .shared .align 16 .b8 sm[];\n");
  EXPECT_EQ(module->FindVariable("table")->size_bytes, 8u);
  EXPECT_EQ(module->FindVariable("table")->initial[2].bits, 128u);
  EXPECT_EQ(module->FindVariable("p")->initial[0].symbol, "n");
  EXPECT_EQ(module->FindVariable("p")->initial[0].bits, 4u);
  EXPECT_EQ(module->FindVariable("f")->initial[1].bits, 0xbf800000u);
  EXPECT_TRUE(module->FindVariable("sm")->is_extern);
  EXPECT_EQ(module->FindVariable("sm")->alignment, 16u);
}

TEST(ParserTest, LabelsAndRegistersAreScopedByBraces) {
  const auto module = MustParse(
      ".entry k() {\n.reg .b32 %r<3>;\n{ .reg .pred p; again: setp.eq.s32 p, %r1, 0; @p bra again; }\n"
      "{ .reg .pred p; again: @!p bra again; bra end; }\nend: ret;\n}\n");
  const Function& k = *module->FindFunction("k");
  ASSERT_EQ(k.code.size(), 5u);
  EXPECT_EQ(k.registers.size(), 5u);
  EXPECT_EQ(k.code[1].operands[0].index, 0u);
  EXPECT_EQ(k.code[2].operands[0].index, 2u);
  EXPECT_TRUE(k.code[2].guard_negated);
  EXPECT_NE(k.code[1].guard, k.code[2].guard);
  EXPECT_EQ(k.code[3].operands[0].index, 4u);
}

TEST(ParserTest, LocationsFollowInlining) {
  const auto module = MustParse(
      ".entry k() {\n.loc 1 20 5\n.loc 2 7 3, function_name $L__info_string0, inlined_at 1 20 5\nret;\n}\n"
      ".file 1 \"/tmp/kernel.cu\"\n.file 2 \"/usr/include/x.h\"\n.section .debug_str\n{\n.b8 1,2,3\n}\n");
  const Instruction& ret = module->FindFunction("k")->code[0];
  ASSERT_NE(ret.location, kNoIndex);
  const Location& inner = module->locations[ret.location];
  EXPECT_EQ(inner.line, 7u);
  ASSERT_NE(inner.inlined_at, kNoIndex);
  EXPECT_EQ(module->locations[inner.inlined_at].line, 20u);
  EXPECT_EQ(module->files.at(1), "/tmp/kernel.cu");
}

TEST(ParserTest, OperandsOfEveryShape) {
  const auto module = MustParse(
      ".entry k(.param .align 8 .b8 s[32]) .reqntid 64, 2 {\n.reg .b32 %r<9>; .reg .b64 %d<3>; .reg .pred %p<2>;\n"
      "ld.param.v2.u32 {%r1, %r2}, [s+16];\nsetp.ne.and.s32 %p0|%p1, %r1, -5, !%p1;\nmov.b64 {%r1, _}, %d1;\n"
      "atom.shared::cta.add.u32 _, [%d1+-4], 0x1F;\nmov.u32 %r1, %tid.x;\nmov.f32 %r2, 0f3F800000;\n}\n");
  const Function& k = *module->FindFunction("k");
  EXPECT_THAT(k.required_threads, testing::ElementsAre(64, 2));
  EXPECT_EQ(k.code[0].operands[0].elements.size(), 2u);
  EXPECT_EQ(k.code[0].operands[1].bits, 16u);
  EXPECT_EQ(k.code[1].operands[0].kind, Operand::kPair);
  EXPECT_EQ(static_cast<int64_t>(k.code[1].operands[2].bits), -5);
  EXPECT_TRUE(k.code[1].operands[3].negated);
  EXPECT_EQ(k.code[2].operands[0].elements[1].kind, Operand::kSink);
  EXPECT_EQ(k.code[3].parts[1], "shared::cta");
  EXPECT_EQ(static_cast<int64_t>(k.code[3].operands[1].bits), -4);
  EXPECT_EQ(k.code[4].operands[1].name, "%tid.x");
  EXPECT_EQ(k.code[5].operands[1].type, Type::kF32);
}

TEST(ParserTest, ModifiersWithDoubleColonsStayWhole) {
  const auto module = MustParse(
      ".entry k() {\n.reg .b64 %d<3>; .reg.b32 %r<3>;\nld.global.L1::no_allocate.L2::128B.u32 %r1, [%d1];\n}\n");
  EXPECT_EQ(module->FindFunction("k")->code[0].parts[3], "L2::128B");
}

TEST(ParserTest, ErrorsNameLineAndExpectation) {
  const auto broken = Parse(".version 9.0\n.entry k() {\nmov.u32 %r1 %r2;\n}\n");
  EXPECT_EQ(broken.status().message(), "PTX line 3: expected ',' or ';', found '%r2'");
}

}  // namespace
}  // namespace sassay::emulator::ptx
