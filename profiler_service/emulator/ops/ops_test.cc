// One instruction at a time against host-computed values: operands come from memory, one case per lane.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {
namespace {

using ::testing::HasSubstr;

const char* TypeName(size_t bytes) { return bytes == 2 ? "b16" : bytes == 4 ? "b32" : "b64"; }

// Runs `text` for 32 lanes; in it %a, %b, %c are sources of the types A, B, C and %d the destination.
template <class D, class A, class B = A, class C = A>
std::vector<D> Evaluate(const std::string& text, const std::vector<A>& a, const std::vector<B>& b = {},
                        const std::vector<C>& c = {}) {
  const std::string body = absl::StrCat(
      ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {\n.reg .pred %p, %q;\n.reg .",
      TypeName(sizeof(A)), " %a; .reg .", TypeName(sizeof(B)), " %b; .reg .", TypeName(sizeof(C)), " %c; .reg .",
      TypeName(sizeof(D)), " %d;\n.reg .b64 %x<8>; .reg .b32 %t;\nmov.u32 %t, %tid.x;\n",
      "ld.param.u64 %x0, [pa]; mul.wide.u32 %x4, %t, ", sizeof(A), "; add.u64 %x0, %x0, %x4; ld.global.",
      TypeName(sizeof(A)), " %a, [%x0];\nld.param.u64 %x0, [pb]; mul.wide.u32 %x4, %t, ", sizeof(B),
      "; add.u64 %x0, %x0, %x4; ld.global.", TypeName(sizeof(B)),
      " %b, [%x0];\nld.param.u64 %x0, [pc]; mul.wide.u32 %x4, %t, ", sizeof(C), "; add.u64 %x0, %x0, %x4; ld.global.",
      TypeName(sizeof(C)), " %c, [%x0];\n", text, "\nld.param.u64 %x0, [pd]; mul.wide.u32 %x4, %t, ", sizeof(D),
      "; add.u64 %x0, %x0, %x4; st.global.", TypeName(sizeof(D)), " [%x0], %d;\nret;\n}\n");
  Emulated emulated(TextBundle(body), sassay::worker::RUN_MODE_PLAIN);
  auto padded = [](auto values) {
    values.resize(32);
    return values;
  };
  const uint64_t pa = emulated.Upload(padded(a)), pb = emulated.Upload(padded(b)), pc = emulated.Upload(padded(c));
  const uint64_t pd = emulated.Allocate(32 * sizeof(D));
  const auto execution = emulated.Run("k", {1, 1, 1}, {32, 1, 1}, {Bytes(pa), Bytes(pb), Bytes(pc), Bytes(pd)});
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << text << ": " << execution.message;
  auto result = emulated.Download<D>(pd, 32);
  result.resize(a.size());
  return result;
}

template <class T>
std::vector<T> Interesting() {
  std::vector<T> values = {0,
                           1,
                           2,
                           7,
                           static_cast<T>(-1),
                           static_cast<T>(-2),
                           std::numeric_limits<T>::max(),
                           std::numeric_limits<T>::min(),
                           static_cast<T>(0x55),
                           static_cast<T>(~T{0} / 3)};
  std::mt19937_64 engine(17);
  while (values.size() < 32) values.push_back(static_cast<T>(engine() >> (engine() % (8 * sizeof(T)))));
  return values;
}

template <class T>
std::vector<T> Shuffled(std::vector<T> values) {
  std::shuffle(values.begin(), values.end(), std::mt19937(3));
  return values;
}

// d = f(a, b) for integers of one type.
template <class T, class F>
void CheckBinary(const std::string& opcode, F f) {
  const auto a = Interesting<T>(), b = Shuffled(a);
  const auto d = Evaluate<T, T>(absl::StrCat(opcode, " %d, %a, %b;"), a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(d[i], static_cast<T>(f(a[i], b[i]))) << opcode << " " << +a[i] << " " << +b[i];
  }
}

TEST(IntegerOpsTest, ArithmeticAgreesWithTheHost) {
  CheckBinary<uint32_t>("add.u32", [](uint32_t a, uint32_t b) { return a + b; });
  CheckBinary<uint64_t>("sub.s64", [](uint64_t a, uint64_t b) { return a - b; });
  CheckBinary<uint16_t>("mul.lo.u16", [](uint16_t a, uint16_t b) { return uint32_t{a} * b; });
  CheckBinary<uint32_t>("mul.hi.u32", [](uint64_t a, uint64_t b) { return a * b >> 32; });
  CheckBinary<int32_t>("mul.hi.s32", [](int64_t a, int64_t b) { return a * b >> 32; });
  CheckBinary<uint64_t>("mul.hi.u64", [](unsigned __int128 a, unsigned __int128 b) { return a * b >> 64; });
  CheckBinary<int64_t>("mul.hi.s64", [](__int128 a, __int128 b) { return a * b >> 64; });
  CheckBinary<uint32_t>("div.u32", [](uint32_t a, uint32_t b) { return b == 0 ? ~0u : a / b; });
  CheckBinary<int32_t>("div.s32", [](int64_t a, int64_t b) { return b == 0 ? -1 : a / b; });
  CheckBinary<int32_t>("rem.s32", [](int64_t a, int64_t b) { return b == 0 ? -1 : a % b; });  // as on an H200
  CheckBinary<int16_t>("mul.hi.s16", [](int32_t a, int32_t b) { return a * b >> 16; });
  CheckBinary<int32_t>("min.s32", [](int32_t a, int32_t b) { return std::min(a, b); });
  CheckBinary<uint32_t>("max.u32", [](uint32_t a, uint32_t b) { return std::max(a, b); });
  CheckBinary<int16_t>("max.s16", [](int16_t a, int16_t b) { return std::max(a, b); });
  CheckBinary<int32_t>("add.sat.s32",
                       [](int64_t a, int64_t b) { return std::clamp<int64_t>(a + b, INT32_MIN, INT32_MAX); });
  CheckBinary<uint32_t>("mul24.lo.u32", [](uint32_t a, uint32_t b) { return uint64_t{a & 0xffffff} * (b & 0xffffff); });
}

TEST(IntegerOpsTest, WideAndFusedProductsKeepAllBits) {
  const auto a = Interesting<int32_t>(), b = Shuffled(a);
  const auto c = Interesting<int64_t>();
  const auto wide = Evaluate<int64_t, int32_t>("mul.wide.s32 %d, %a, %b;", a, b);
  const auto mad = Evaluate<int64_t, int32_t, int32_t, int64_t>("mad.wide.s32 %d, %a, %b, %c;", a, b, c);
  const auto sad = Evaluate<uint32_t, int32_t>("sad.s32 %d, %a, %b, %a;", a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(wide[i], int64_t{a[i]} * b[i]);
    EXPECT_EQ(static_cast<uint64_t>(mad[i]), static_cast<uint64_t>(int64_t{a[i]} * b[i]) + static_cast<uint64_t>(c[i]));
    EXPECT_EQ(sad[i], static_cast<uint32_t>(std::abs(int64_t{a[i]} - b[i]) + a[i]));
  }
}

TEST(IntegerOpsTest, CarriesTravelBetweenInstructions) {
  const auto a = Interesting<uint32_t>(), b = Shuffled(a);
  const auto d = Evaluate<uint32_t, uint32_t>("add.cc.u32 %d, %a, %b; addc.u32 %d, %a, %b;", a, b);
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(d[i], a[i] + b[i] + static_cast<uint32_t>((uint64_t{a[i]} + b[i]) >> 32));
}

TEST(IntegerOpsTest, DotProductsOfBytes) {
  const std::vector<uint32_t> a = {0x01020304, 0xff807f01}, b = {0x04030201, 0x02020202};
  EXPECT_THAT(Evaluate<int32_t>("dp4a.s32.s32 %d, %a, %b, 10;", a, b),
              testing::ElementsAre(30, 2 * (-1 - 128 + 127 + 1) + 10));
  EXPECT_THAT(Evaluate<int32_t>("dp4a.u32.u32 %d, %a, %b, 10;", a, b),
              testing::ElementsAre(30, 2 * (255 + 128 + 127 + 1) + 10));
}

TEST(BitOpsTest, LogicAndShiftsAgreeWithTheHost) {
  CheckBinary<uint32_t>("xor.b32", [](uint32_t a, uint32_t b) { return a ^ b; });
  CheckBinary<uint32_t>("shl.b32", [](uint32_t a, uint32_t b) { return b > 31 ? 0 : a << b; });
  CheckBinary<uint32_t>("shr.u32", [](uint32_t a, uint32_t b) { return b > 31 ? 0 : a >> b; });
  CheckBinary<int32_t>("shr.s32", [](int32_t a, int32_t b) { return a >> (static_cast<uint32_t>(b) > 31 ? 31 : b); });
  const auto a = Interesting<uint32_t>(), b = Shuffled(a);
  const auto lop = Evaluate<uint32_t>("lop3.b32 %d, %a, %b, %c, 0x96;", a, b, Shuffled(b));
  const auto brev = Evaluate<uint32_t>("brev.b32 %d, %a;", a), popc = Evaluate<uint32_t>("popc.b32 %d, %a;", a);
  const auto clz = Evaluate<uint32_t>("clz.b32 %d, %a;", a);
  const auto c = Shuffled(b);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(lop[i], a[i] ^ b[i] ^ c[i]);
    EXPECT_EQ(popc[i], static_cast<uint32_t>(std::popcount(a[i])));
    EXPECT_EQ(clz[i], static_cast<uint32_t>(std::countl_zero(a[i])));
    EXPECT_EQ(brev[i] >> 31, a[i] & 1);
  }
}

TEST(BitOpsTest, HandCheckedFieldsAndPermutations) {
  const std::vector<uint32_t> a = {0x12345678}, b = {0x9abcdef0};
  EXPECT_THAT(Evaluate<uint32_t>("bfe.u32 %d, %a, 8, 8;", a), testing::ElementsAre(0x56u));
  EXPECT_THAT(Evaluate<uint32_t>("bfe.s32 %d, %b, 24, 8;", a, b), testing::ElementsAre(0xffffff9au));
  EXPECT_THAT(Evaluate<uint32_t>("bfe.s32 %d, %b, 40, 8;", a, b), testing::ElementsAre(0xffffffffu));
  EXPECT_THAT(Evaluate<uint32_t>("bfi.b32 %d, %b, %a, 4, 8;", a, b), testing::ElementsAre(0x12345f08u));
  EXPECT_THAT(Evaluate<uint32_t>("prmt.b32 %d, %a, %b, 0x7531;", a, b), testing::ElementsAre(0x9ade1256u));
  EXPECT_THAT(Evaluate<uint32_t>("prmt.b32 %d, %a, %b, 0x000f;", a, b), testing::ElementsAre(0x787878ffu));
  EXPECT_THAT(Evaluate<uint32_t>("shf.l.wrap.b32 %d, %a, %b, 8;", a, b), testing::ElementsAre(0xbcdef012u));
  EXPECT_THAT(Evaluate<uint32_t>("shf.r.clamp.b32 %d, %a, %b, 8;", a, b), testing::ElementsAre(0xf0123456u));
  EXPECT_THAT(Evaluate<uint32_t>("bfind.u32 %d, %a;", a), testing::ElementsAre(28u));
}

std::vector<float> InterestingFloats() {
  std::vector<float> values = {0.0f,  -0.0f,  1.0f,     -1.5f,     3.1415927f, 1e-40f, -1e-39f,  65504.0f,
                               1e38f, -1e38f, INFINITY, -INFINITY, NAN,        0.1f,   1.0f / 3, 1e-8f};
  std::mt19937 engine(5);
  std::normal_distribution<float> normal(0, 100);
  while (values.size() < 32) values.push_back(normal(engine));
  return values;
}

template <class F>
void CheckFloat(const std::string& opcode, F f) {
  const auto a = InterestingFloats(), b = Shuffled(a), c = Shuffled(b);
  const auto d = Evaluate<float, float>(absl::StrCat(opcode, "; "), a, b, c);
  for (size_t i = 0; i < a.size(); ++i) {
    const float expected = f(a[i], b[i], c[i]);
    if (std::isnan(expected)) {
      EXPECT_EQ(std::bit_cast<uint32_t>(d[i]), 0x7fffffffu) << opcode << " " << a[i] << " " << b[i];
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(d[i]), std::bit_cast<uint32_t>(expected))
          << opcode << " " << a[i] << " " << b[i];
    }
  }
}

TEST(FloatOpsTest, RoundToNearestIsTheHosts) {
  CheckFloat("add.f32 %d, %a, %b", [](float a, float b, float) { return a + b; });
  CheckFloat("sub.rn.f32 %d, %a, %b", [](float a, float b, float) { return a - b; });
  CheckFloat("mul.f32 %d, %a, %b", [](float a, float b, float) { return a * b; });
  CheckFloat("fma.rn.f32 %d, %a, %b, %c", [](float a, float b, float c) { return std::fma(a, b, c); });
  CheckFloat("div.rn.f32 %d, %a, %b", [](float a, float b, float) { return a / b; });
  CheckFloat("sqrt.rn.f32 %d, %a", [](float a, float, float) { return std::sqrt(a); });
  CheckFloat("min.f32 %d, %a, %b", [](float a, float b, float) { return MinOf(a, b, false); });
  CheckFloat("max.NaN.f32 %d, %a, %b", [](float a, float b, float) { return MaxOf(a, b, true); });
}

TEST(FloatOpsTest, DirectedRoundingBracketsTheExactValue) {
  std::vector<float> a, b;
  std::mt19937 engine(9);
  std::uniform_real_distribution<float> uniform(-2, 2);
  for (int i = 0; i < 32; ++i) a.push_back(uniform(engine)), b.push_back(uniform(engine) * 1e-3f);
  for (const char* opcode : {"add", "mul", "div"}) {
    const auto down = Evaluate<float, float>(absl::StrCat(opcode, ".rm.f32 %d, %a, %b;"), a, b);
    const auto up = Evaluate<float, float>(absl::StrCat(opcode, ".rp.f32 %d, %a, %b;"), a, b);
    const auto zero = Evaluate<float, float>(absl::StrCat(opcode, ".rz.f32 %d, %a, %b;"), a, b);
    for (int i = 0; i < 32; ++i) {
      const long double x = a[i], y = b[i];
      const long double exact = opcode[0] == 'a' ? x + y : opcode[0] == 'm' ? x * y : x / y;
      EXPECT_LE(down[i], exact);
      EXPECT_GE(up[i], exact);
      EXPECT_LE(std::nextafter(down[i], INFINITY), std::nextafter(up[i], INFINITY));
      EXPECT_EQ(zero[i], exact > 0 ? down[i] : up[i]) << opcode;
      if (down[i] == up[i]) continue;
      EXPECT_EQ(std::nextafter(down[i], INFINITY), up[i]) << opcode << " " << a[i] << " " << b[i];
    }
  }
}

TEST(FloatOpsTest, FlushAndSaturate) {
  EXPECT_THAT(Evaluate<float>("add.ftz.f32 %d, %a, %b;", std::vector<float>{1e-40f}, std::vector<float>{1e-40f}),
              testing::ElementsAre(0.0f));
  EXPECT_THAT(Evaluate<float>("fma.rn.sat.f32 %d, %a, %b, %c;", std::vector<float>{2, -2, NAN},
                              std::vector<float>{2, 2, 2}, std::vector<float>{0, 0, 0}),
              testing::ElementsAre(1.0f, 0.0f, 0.0f));
}

TEST(HalfOpsTest, EveryHalfSurvivesAConversionRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    const float value = HalfToFloat(half);
    if (std::isnan(value)) continue;
    ASSERT_EQ(FloatToHalf(value), half);
    ASSERT_EQ(Encode(value, kHalfFormat, Rounding::kNearest), half);
    ASSERT_EQ(Decode(half, kHalfFormat), value);
  }
}

TEST(HalfOpsTest, FastAndGeneralRoundingAgree) {
  std::mt19937 engine(11);
  for (int i = 0; i < 200000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(engine()));
    if (std::isnan(value)) continue;
    ASSERT_EQ(FloatToHalf(value), Encode(value, kHalfFormat, Rounding::kNearest)) << value;
    ASSERT_EQ(FloatToBf16(value), Encode(value, kBf16Format, Rounding::kNearest)) << value;
    ASSERT_EQ(std::bit_cast<uint32_t>(value), Encode(value, kFloatFormat, Rounding::kZero)) << value;
  }
}

TEST(HalfOpsTest, FusedProductsRoundOnce) {
  // 1 + 2^-10 squared is 1 + 2^-9 + 2^-20; the last term breaks the tie that rounding twice would lose.
  const uint16_t x = FloatToHalf(1.0f + 0x1p-10f), c = FloatToHalf(0x1p-11f);
  const auto d = Evaluate<uint16_t>("fma.rn.f16 %d, %a, %a, %b;", std::vector<uint16_t>{x}, std::vector<uint16_t>{c});
  EXPECT_EQ(HalfToFloat(d[0]), 1.0f + 0x1p-9f + 0x1p-10f);
}

// Expected values as an H200 gives them.
TEST(ConvertOpsTest, PackingClampsEachAndKeepsWhatFitsOfTheThird) {
  const std::vector<int32_t> a = {1, -1, 300, -40000}, b = {2, 100, -300, 70000};
  const std::vector<uint32_t> c = {0x12345678, 0xffffffff, 0, 0x80000001};
  const auto pack = [&](const std::string& opcode) {
    return Evaluate<uint32_t, int32_t, int32_t, uint32_t>(opcode, a, b, c);
  };
  EXPECT_THAT(pack("cvt.pack.sat.u16.s32 %d, %a, %b;"),
              testing::ElementsAre(0x00010002u, 0x00000064u, 0x012c0000u, 0x0000ffffu));
  EXPECT_THAT(pack("cvt.pack.sat.s16.s32 %d, %a, %b;"),
              testing::ElementsAre(0x00010002u, 0xffff0064u, 0x012cfed4u, 0x80007fffu));
  EXPECT_THAT(pack("cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c;"),
              testing::ElementsAre(0x56780102u, 0xffff0064u, 0x0000ff00u, 0x000100ffu));
  EXPECT_THAT(pack("cvt.pack.sat.s8.s32.b32 %d, %a, %b, %c;"),
              testing::ElementsAre(0x56780102u, 0xffffff64u, 0x00007f80u, 0x0001807fu));
  EXPECT_THAT(pack("cvt.pack.sat.u4.s32.b32 %d, %a, %b, %c;"),
              testing::ElementsAre(0x34567812u, 0xffffff0fu, 0x000000f0u, 0x0000010fu));
  EXPECT_THAT(pack("cvt.pack.sat.s2.s32.b32 %d, %a, %b, %c;"),
              testing::ElementsAre(0x23456785u, 0xfffffffdu, 0x00000006u, 0x00000019u));
}

TEST(ConvertOpsTest, FloatToIntegerClampsAndRounds) {
  const std::vector<float> a = {1.5f, 2.5f, -1.5f, 3e9f, -3e9f, NAN, 0.49f, -0.51f};
  EXPECT_THAT(Evaluate<int32_t>("cvt.rni.s32.f32 %d, %a;", a),
              testing::ElementsAre(2, 2, -2, INT32_MAX, INT32_MIN, 0, 0, -1));
  EXPECT_THAT(Evaluate<int32_t>("cvt.rzi.s32.f32 %d, %a;", a),
              testing::ElementsAre(1, 2, -1, INT32_MAX, INT32_MIN, 0, 0, 0));
  EXPECT_THAT(Evaluate<int32_t>("cvt.rmi.s32.f32 %d, %a;", a),
              testing::ElementsAre(1, 2, -2, INT32_MAX, INT32_MIN, 0, 0, -1));
  EXPECT_THAT(Evaluate<uint32_t>("cvt.rzi.u32.f32 %d, %a;", a),
              testing::ElementsAre(1u, 2u, 0u, 3000000000u, 0u, 0u, 0u, 0u));
}

TEST(ConvertOpsTest, IntegersExtendTruncateAndSaturate) {
  const std::vector<int32_t> a = {-1, 300, -300, 127, 0x12345};
  EXPECT_THAT(Evaluate<int32_t>("cvt.s32.s8 %d, %a;", a), testing::ElementsAre(-1, 44, -44, 127, 0x45));
  EXPECT_THAT(Evaluate<int32_t>("cvt.u32.u8 %d, %a;", a), testing::ElementsAre(255, 44, 212, 127, 0x45));
  EXPECT_THAT(Evaluate<int32_t>("cvt.sat.s8.s32 %d, %a;", a), testing::ElementsAre(-1, 127, -128, 127, 127));
  EXPECT_THAT((Evaluate<int64_t, int32_t>("cvt.s64.s32 %d, %a;", a)),
              testing::ElementsAre(-1, 300, -300, 127, 0x12345));
  EXPECT_THAT((Evaluate<float, int64_t>("cvt.rn.f32.s64 %d, %a;", std::vector<int64_t>{(int64_t{1} << 40) + 1, -5})),
              testing::ElementsAre(0x1p40f, -5.0f));
  EXPECT_THAT((Evaluate<float, uint64_t>("cvt.rp.f32.u64 %d, %a;", std::vector<uint64_t>{(uint64_t{1} << 40) + 1, 5})),
              testing::ElementsAre(0x1p40f + 0x1p17f, 5.0f));
}

TEST(ConvertOpsTest, PairsPutTheFirstOperandOnTop) {
  EXPECT_THAT(Evaluate<uint32_t>("cvt.rn.bf16x2.f32 %d, %a, %b;", std::vector<float>{1.0f}, std::vector<float>{2.0f}),
              testing::ElementsAre(0x3f804000u));
  EXPECT_THAT(Evaluate<uint32_t>("cvt.rn.f16x2.f32 %d, %a, %b;", std::vector<float>{1.0f}, std::vector<float>{-2.0f}),
              testing::ElementsAre(0x3c00c000u));
  EXPECT_THAT((Evaluate<uint16_t, float>("cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;", std::vector<float>{1.0f, 1e9f},
                                         std::vector<float>{-2.0f, 0.0f})),
              testing::ElementsAre(0x38c0, 0x7e00));
}

TEST(CompareOpsTest, OrderedAndUnorderedRelationsTreatNanAsTheyShould) {
  const std::vector<float> a = {1, 2, NAN, 2}, b = {2, 1, 1, 2};
  auto run = [&](const char* relation) {
    return Evaluate<uint32_t, float>(absl::StrCat("setp.", relation, ".f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;"), a, b);
  };
  EXPECT_THAT(run("lt"), testing::ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(run("ltu"), testing::ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(run("ne"), testing::ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(run("neu"), testing::ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(run("geu"), testing::ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(run("num"), testing::ElementsAre(1, 1, 0, 1));
  EXPECT_THAT((Evaluate<uint32_t, uint32_t>("setp.lo.u32 %p|%q, %a, %b; selp.b32 %d, 1, 0, %q;",
                                            std::vector<uint32_t>{1, ~0u}, std::vector<uint32_t>{2, 1})),
              testing::ElementsAre(0, 1));
}

TEST(ApproximationTest, AreCloseToTheTrueFunctions) {
  const std::vector<float> a = {0.1f, 0.5f, 1.0f, 2.0f, 7.5f};
  const auto ex2 = Evaluate<float>("ex2.approx.ftz.f32 %d, %a;", a), lg2 = Evaluate<float>("lg2.approx.f32 %d, %a;", a);
  const auto rcp = Evaluate<float>("rcp.approx.f32 %d, %a;", a), tanh = Evaluate<float>("tanh.approx.f32 %d, %a;", a);
  const auto rsqrt = Evaluate<float>("rsqrt.approx.f32 %d, %a;", a), sin = Evaluate<float>("sin.approx.f32 %d, %a;", a);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(ex2[i], std::exp2(a[i]), 1e-6 * std::exp2(a[i]));
    EXPECT_NEAR(lg2[i], std::log2(a[i]), 1e-6);
    EXPECT_NEAR(rcp[i], 1 / a[i], 1e-6 / a[i]);
    EXPECT_NEAR(tanh[i], std::tanh(a[i]), 1e-6);
    EXPECT_NEAR(rsqrt[i], 1 / std::sqrt(a[i]), 1e-6);
    EXPECT_NEAR(sin[i], std::sin(a[i]), 1e-6);
  }
}

TEST(UnknownOpsTest, AreNamedWithTheirLineOnlyWhenReached) {
  Emulated emulated(TextBundle(".visible .entry k() {\nret;\ntensormap.replace.tile.rank.global.b1024.b32 [0], "
                               "1;\n}\n.visible .entry l() {\n"
                               "tensormap.replace.tile.rank.global.b1024.b32 [0], 1;\nret;\n}\n"),
                    sassay::worker::RUN_MODE_PLAIN);
  EXPECT_EQ(emulated.Run("k", {1, 1, 1}, {32, 1, 1}, {}).outcome, sassay::worker::RUN_OUTCOME_OK);
  EXPECT_THAT(emulated.Run("l", {1, 1, 1}, {32, 1, 1}, {}).message,
              HasSubstr("UNIMPLEMENTED: emulator lacks tensormap.replace.tile.rank.global.b1024.b32 (PTX line 9)"));
}

}  // namespace
}  // namespace sassay::emulator
