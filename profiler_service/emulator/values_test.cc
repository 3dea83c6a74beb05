// Single instructions beside values worked out by hand from the PTX ISA and IEEE 754.
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {
namespace {

struct Row {
  const char* opcode;
  const char* operands;  // a letter each, the result first: h r d are registers of 16, 32 and 64 bits, p a predicate
  std::vector<uint64_t> values;
  uint64_t expected;
  const char* tail = "";  // what follows the operands
};

constexpr uint64_t kNan = 0x7fc00000, kInfinity = 0x7f800000, kOne = 0x3f800000, kMinusZero = 0x80000000;

std::string Text(const std::vector<Row>& rows) {
  std::string text =
      ".visible .entry k(.param .u64 out) {\n.reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<9>; .reg .pred %p<8>;\n"
      "ld.param.u64 %d8, [out];\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string_view kinds = rows[i].operands;
    std::string operands;
    for (size_t k = 0; k < kinds.size(); ++k) {
      const std::string name = absl::StrCat("%", std::string(1, kinds[k]), k);
      absl::StrAppend(&operands, k > 0 ? ", " : "", name);
      if (k == 0) continue;
      const uint64_t value = rows[i].values[k - 1];
      if (kinds[k] == 'p') {
        absl::StrAppend(&text, "setp.ne.u32 ", name, ", ", value, ", 0;\n");
      } else {
        absl::StrAppend(&text, "mov.b",
                        kinds[k] == 'h'   ? 16
                        : kinds[k] == 'r' ? 32
                                          : 64,
                        " ", name, ", ", value, ";\n");
      }
    }
    absl::StrAppend(&text, rows[i].opcode, " ", operands, rows[i].tail, ";\n");
    if (kinds[0] == 'p') absl::StrAppend(&text, "selp.b64 %d7, 1, 0, %p0;\n");
    if (kinds[0] == 'h') absl::StrAppend(&text, "cvt.u64.u16 %d7, %h0;\n");
    if (kinds[0] == 'r') absl::StrAppend(&text, "cvt.u64.u32 %d7, %r0;\n");
    if (kinds[0] == 'd') absl::StrAppend(&text, "mov.b64 %d7, %d0;\n");
    absl::StrAppend(&text, "st.global.b64 [%d8+", 8 * i, "], %d7;\n");
  }
  return text + "ret;\n}\n";
}

void Expect(const std::vector<Row>& rows) {
  Emulated emulated(TextBundle(Text(rows)), sassay::worker::RUN_MODE_CHECKED);
  const uint64_t out = emulated.Allocate(8 * rows.size(), "out");
  const auto execution = emulated.Run("k", {1, 1, 1}, {1, 1, 1}, {Bytes(out)});
  ASSERT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
  const auto values = emulated.Download<uint64_t>(out, rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(values[i], rows[i].expected)
        << rows[i].opcode << " (row " << i << "): 0x" << std::hex << values[i] << ", not 0x" << rows[i].expected;
  }
}

TEST(ValuesTest, SinglePrecisionRoundsAsItIsTold) {
  Expect({
      {"add.rn.f32", "rrr", {kOne, 0x33800000}, kOne},              // 1 + 2^-24 is a tie
      {"add.rp.f32", "rrr", {kOne, 0x33800000}, 0x3f800001},        // up
      {"add.rz.f32", "rrr", {kOne, 0xb3800000}, 0x3f7fffff},        // 1 - 2^-24 is a number
      {"sub.rn.f32", "rrr", {kOne, kOne}, 0},                       // x - x is +0
      {"sub.rm.f32", "rrr", {kOne, kOne}, kMinusZero},              // but -0 rounding down
      {"add.rm.f32", "rrr", {0, 0}, 0},                             // both +0
      {"mul.rz.f32", "rrr", {0x7f7fffff, 0x40000000}, 0x7f7fffff},  // the largest, not infinity
      {"mul.rn.f32", "rrr", {0x7f7fffff, 0x40000000}, kInfinity},
      {"mul.rn.f32", "rrr", {0x00000001, 0x3f000000}, 0},  // half of the least subnormal is a tie
      {"mul.rp.f32", "rrr", {0x00000001, 0x3f000000}, 1},
      {"mul.rn.ftz.f32", "rrr", {0x007fffff, 0x40000000}, 0},           // a subnormal operand counts as zero
      {"mul.rn.ftz.f32", "rrr", {0x80800000, 0x3f000000}, kMinusZero},  // and so does a subnormal result
      {"add.rn.sat.f32", "rrr", {0x3f400000, 0x3f000000}, kOne},
      {"add.rn.sat.f32", "rrr", {kNan, kOne}, 0},
      {"add.rn.f32", "rrr", {kInfinity, 0xff800000}, 0x7fffffff},
      {"fma.rn.f32", "rrrr", {0x3f800001, 0x3f800001, 0xbf800002}, 0x28800000},  // 2^-46 is left
      {"fma.rm.f32", "rrrr", {kOne, kOne, 0xbf800000}, kMinusZero},
      {"div.rn.f32", "rrr", {kOne, 0x40400000}, 0x3eaaaaab},
      {"div.rz.f32", "rrr", {kOne, 0x40400000}, 0x3eaaaaaa},
      {"rcp.rp.f32", "rr", {0x40400000}, 0x3eaaaaab},
      {"sqrt.rn.f32", "rr", {0x40000000}, 0x3fb504f3},
      {"sqrt.rp.f32", "rr", {0x40000000}, 0x3fb504f4},
      {"sqrt.rn.f32", "rr", {kMinusZero}, kMinusZero},
      {"min.f32", "rrr", {kNan, kOne}, kOne},
      {"min.NaN.f32", "rrr", {kNan, kOne}, 0x7fffffff},
      {"min.f32", "rrr", {0, kMinusZero}, kMinusZero},
      {"max.xorsign.abs.f32", "rrr", {0xc0000000, kOne}, 0xc0000000},
      {"copysign.f32", "rrr", {0xbf800000, 0x40000000}, 0xc0000000},  // the sign of a, the rest of b
      {"abs.ftz.f32", "rr", {0x80000001}, 0},
  });
}

TEST(ValuesTest, DoublePrecisionRoundsAsItIsTold) {
  Expect({
      {"add.rn.f64", "ddd", {0x3ff0000000000000, 0x3ca0000000000000}, 0x3ff0000000000000},  // 1 + 2^-53
      {"add.rp.f64", "ddd", {0x3ff0000000000000, 0x3ca0000000000000}, 0x3ff0000000000001},
      {"add.rm.f64", "ddd", {0x3ff0000000000000, 0xbff0000000000000}, 0x8000000000000000},
      {"div.rz.f64", "ddd", {0x3ff0000000000000, 0x4008000000000000}, 0x3fd5555555555555},
      {"div.rp.f64", "ddd", {0x3ff0000000000000, 0x4008000000000000}, 0x3fd5555555555556},
      {"rcp.rp.f64", "dd", {0x4008000000000000}, 0x3fd5555555555556},
      {"sqrt.rm.f64", "dd", {0x4000000000000000}, 0x3ff6a09e667f3bcc},
      {"sqrt.rp.f64", "dd", {0x4000000000000000}, 0x3ff6a09e667f3bcd},
      {"mul.rz.f64", "ddd", {0x7fefffffffffffff, 0x4000000000000000}, 0x7fefffffffffffff},
      {"fma.rz.f64", "dddd", {0x3ff0000000000001, 0x3ff0000000000001, 0xbff0000000000002}, 0x3970000000000000},
  });
}

TEST(ValuesTest, HalvesKeepElevenBitsAndBfloatsEight) {
  Expect({
      {"add.rn.f16", "hhh", {0x3c00, 0x1000}, 0x3c00},  // 1 + 2^-11 is a tie
      {"add.rn.f16", "hhh", {0x3c01, 0x1000}, 0x3c02},
      {"mul.rn.f16", "hhh", {0x7bff, 0x4000}, 0x7c00},
      {"add.rn.sat.f16", "hhh", {0xbc00, 0x3800}, 0},
      {"add.rn.ftz.f16", "hhh", {0x0001, 0}, 0},
      {"fma.rn.relu.f16", "hhhh", {0xbc00, 0x3c00, 0x3800}, 0},
      {"add.rn.bf16", "hhh", {0x3f80, 0x3b80}, 0x3f80},  // 1 + 2^-8 is a tie
      {"fma.rn.bf16", "hhhh", {0x3f80, 0x3f81, 0x3b80}, 0x3f82},
      {"max.NaN.bf16", "hhh", {0x7fc0, 0x3f80}, 0x7fff},
      {"add.rn.f16x2", "rrr", {0x3c004000, 0x3c003c00}, 0x40004200},
  });
}

TEST(ValuesTest, ConversionsRoundClampAndSaturate) {
  Expect({
      {"cvt.rni.s32.f32", "rr", {0x40200000}, 2},           // 2.5 to even
      {"cvt.rni.s32.f32", "rr", {0x40600000}, 4},           // 3.5
      {"cvt.rmi.s32.f32", "rr", {0xbf8ccccd}, 0xfffffffe},  // -1.1 down
      {"cvt.rpi.s32.f32", "rr", {0xbff33333}, 0xffffffff},  // -1.9 up
      {"cvt.rzi.u8.f32", "hr", {0x43960000}, 255},          // 300
      {"cvt.rzi.u32.f32", "rr", {0xbf800000}, 0},
      {"cvt.rzi.s32.f32", "rr", {0x4f32d05e}, 0x7fffffff},  // 3e9
      {"cvt.rzi.s32.f32", "rr", {kNan}, 0},
      {"cvt.rn.f16.f32", "hr", {0x477ff000}, 0x7c00},  // 65520
      {"cvt.rz.f16.f32", "hr", {0x477ff000}, 0x7bff},
      {"cvt.rn.bf16.f32", "hr", {0x3f808000}, 0x3f80},  // a tie
      {"cvt.rn.bf16.f32", "hr", {0x3f818000}, 0x3f82},
      {"cvt.rna.tf32.f32", "rr", {0x3f801000}, 0x3f802000},  // a tie, away from zero
      {"cvt.rn.relu.f16.f32", "hr", {0xbf800000}, 0},
      {"cvt.rn.satfinite.e4m3x2.f32", "hrr", {0x43fa0000, kOne}, 0x7e38},        // 500 is 448 at most
      {"cvt.rn.satfinite.e5m2x2.f32", "hrr", {0x3f100000, 0xbf800000}, 0x38bc},  // 0.5625 is a tie
      {"cvt.rn.f16x2.e5m2x2", "rh", {0x3c40}, 0x3c004000},
      {"cvt.rn.f32.s32", "rr", {0x01000001}, 0x4b800000},  // 2^24 + 1 is a tie
      {"cvt.rp.f32.u32", "rr", {0xffffffff}, 0x4f800000},
      {"cvt.sat.u8.s32", "hr", {0xffffffff}, 0},
      {"cvt.sat.s8.s32", "hr", {1000}, 127},
      {"cvt.s64.s8", "dh", {0x80}, 0xffffffffffffff80},
      {"cvt.pack.sat.s16.s32", "rrr", {70000, 0xfffffffe}, 0x7ffffffe},
      {"cvt.pack.sat.u8.s32.b32", "rrrr", {300, 7, 0xaabbccdd}, 0xccddff07},
  });
}

TEST(ValuesTest, IntegersAndBits) {
  Expect({
      {"add.sat.s32", "rrr", {0x7fffffff, 1}, 0x7fffffff},
      {"mul.hi.s32", "rrr", {0xffffffff, 2}, 0xffffffff},
      {"mul24.hi.s32", "rrr", {0x00800000, 0x00800000}, 0x40000000},
      {"mad24.hi.sat.s32", "rrrr", {0x007fffff, 0x007fffff, 0x7fffffff}, 0x7fffffff},
      {"mad.hi.sat.s32", "rrrr", {0x7fffffff, 0x7fffffff, 0x7fffffff}, 0x7fffffff},
      {"sad.s32", "rrrr", {0xfffffffe, 3, 10}, 15},
      {"dp4a.s32.u32", "rrrr", {0xff010203, 0x02010101, 5}, 9},      // 3 + 2 + 1 - 2 + 5
      {"dp2a.hi.u32.u32", "rrrr", {0x00020003, 0x05070000, 1}, 32},  // 3 * 7 + 2 * 5 + 1
      {"min.relu.s16x2", "rrr", {0x0005fffe, 0x00070003}, 0x00050000},
      {"shl.b32", "rrr", {1, 40}, 0},
      {"shr.s32", "rrr", {kMinusZero, 40}, 0xffffffff},
      {"shf.l.wrap.b32", "rrrr", {kMinusZero, 1, 33}, 3},
      {"shf.l.clamp.b32", "rrrr", {kMinusZero, 1, 40}, kMinusZero},
      {"bfe.s32", "rrrr", {0xf0, 4, 4}, 0xffffffff},
      {"bfe.u32", "rrrr", {0xf0, 4, 0}, 0},
      {"bfe.s32", "rrrr", {kMinusZero, 40, 3}, 0xffffffff},
      {"bfi.b32", "rrrrr", {0xab, 0, 8, 4}, 0xb00},
      {"prmt.b32", "rrrr", {0x33221100, 0x77665544, 0x7531}, 0x77553311},
      {"prmt.b32", "rrrr", {0x00008000, 0, 0x9999}, 0xffffffff},  // the sign of byte 1
      {"prmt.b32.rc16", "rrrr", {0x33221100, 0, 1}, 0x33223322},
      {"lop3.b32", "rrrr", {0xff, 0x0f, 0x33}, 0xc3, ", 0x96"},  // exclusive or of three
      {"brev.b32", "rr", {1}, kMinusZero},
      {"clz.b32", "rr", {0}, 32},
      {"bfind.u32", "rr", {0}, 0xffffffff},
      {"bfind.shiftamt.u32", "rr", {0x100}, 23},
      {"bfind.s32", "rr", {0xfffffff0}, 3},
      {"fns.b32", "rrrr", {0x0000a0a0, 0, 2}, 7},
      {"bmsk.clamp.b32", "rrr", {4, 8}, 0xff0},
      {"szext.clamp.s32", "rrr", {0x8f, 8}, 0xffffff8f},
      {"slct.b32.s32", "rrrr", {1, 2, 0xffffffff}, 2},
      {"slct.ftz.b32.f32", "rrrr", {1, 2, 0x80000001}, 1},  // minus the least subnormal counts as zero
      {"vabsdiff4.u32.u32.u32.add", "rrrr", {0x01020304, 0x04030201, 10}, 18},
      {"set.gt.u32.s32", "rrr", {1, 0xffffffff}, 0xffffffff},
      {"setp.ne.f32", "prr", {kNan, kOne}, 0},  // ordered
      {"setp.neu.f32", "prr", {kNan, kOne}, 1},
      {"setp.hi.u32", "prr", {0xffffffff, 1}, 1},
      {"setp.eq.ftz.f16", "phh", {0x0001, 0x8000}, 1},
      {"testp.subnormal.f32", "pr", {0x00000001}, 1},
      {"div.s32", "rrr", {0xfffffff9, 2}, 0xfffffffd},  // towards zero
      {"rem.s32", "rrr", {0xfffffff9, 2}, 0xffffffff},
  });
}

}  // namespace
}  // namespace sassay::emulator
