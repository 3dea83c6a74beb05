// Integer intrinsics of CUDA C++, compiled by nvcc, against what the host computes: a wrong one would be a wrong
// verdict.
#include <functional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/testing/intrinsics_fixture.h"

namespace sassay::emulator {
namespace {

uint32_t U(int64_t value) { return static_cast<uint32_t>(value); }
int32_t S(uint32_t value) { return static_cast<int32_t>(value); }
int64_t S24(uint32_t value) { return S(value << 8) >> 8; }
int32_t ByteS(uint32_t v, int k) { return static_cast<int8_t>(v >> (8 * k)); }
uint32_t ByteU(uint32_t v, int k) { return v >> (8 * k) & 255; }
int32_t HalfS(uint32_t v, int k) { return static_cast<int16_t>(v >> (16 * k)); }
uint32_t HalfU(uint32_t v, int k) { return v >> (16 * k) & 0xffff; }
template <class F>
uint32_t PerByte(F f) {
  uint32_t all = 0;
  for (int k = 0; k < 4; ++k) all |= (f(k) & 255u) << (8 * k);
  return all;
}
template <class F>
uint32_t PerHalf(F f) {
  return (f(0) & 0xffffu) | (f(1) & 0xffffu) << 16;
}
int64_t Clamp32(int64_t v) { return std::min<int64_t>(std::max<int64_t>(v, INT32_MIN), INT32_MAX); }
uint32_t Permute(uint32_t a, uint32_t b, uint32_t c) {
  const uint64_t both = uint64_t{b} << 32 | a;
  return PerByte([&](int k) {
    const uint32_t nibble = c >> (4 * k) & 15, byte = static_cast<uint32_t>(both >> (8 * (nibble & 7))) & 255;
    return nibble & 8 ? (byte & 128 ? 255u : 0u) : byte;
  });
}
uint32_t Mask(uint32_t first, uint32_t length) {
  uint32_t mask = 0;
  for (uint32_t i = first; i < 32 && i < first + length; ++i) mask |= 1u << i;
  return mask;
}

TEST_P(IntrinsicsTest, IntegersOf32Bits) {
  using V = uint32_t;
  auto dp4 = [](bool is_signed) {
    return [is_signed](V a, V b, V c) {
      for (int k = 0; k < 4; ++k) c += is_signed ? U(ByteS(a, k) * ByteS(b, k)) : ByteU(a, k) * ByteU(b, k);
      return c;
    };
  };
  const std::vector<Row<V>> rows = {
      {"dp4a.s", dp4(true)},
      {"dp4a.u", dp4(false)},
      {"dp2a.lo", [](V a, V b, V c) { return c + U(HalfS(a, 0) * ByteS(b, 0)) + U(HalfS(a, 1) * ByteS(b, 1)); }},
      {"dp2a.hi", [](V a, V b, V c) { return c + HalfU(a, 0) * ByteU(b, 2) + HalfU(a, 1) * ByteU(b, 3); }},
      {"byte_perm", [](V a, V b, V c) { return Permute(a, b, c & 0x7777); }},
      {"brev",
       [](V a, V, V) {
         V r = 0;
         for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
         return r;
       }},
      {"ffs", [](V a, V, V) { return a == 0 ? 0u : U(std::countr_zero(a) + 1); }},
      {"clz", [](V a, V, V) { return U(std::countl_zero(a)); }},
      {"popc", [](V a, V, V) { return U(std::popcount(a)); }},
      {"funnel l", [](V a, V b, V c) { return V((uint64_t{b} << 32 | a) << (c & 31) >> 32); }},
      {"funnel r", [](V a, V b, V c) { return V((uint64_t{b} << 32 | a) >> (c & 31)); }},
      {"funnel lc", [](V a, V b, V c) { return (c & 63) >= 32 ? a : V((uint64_t{b} << 32 | a) << (c & 63) >> 32); }},
      {"funnel rc", [](V a, V b, V c) { return (c & 63) >= 32 ? b : V((uint64_t{b} << 32 | a) >> (c & 63)); }},
      {"umul24", [](V a, V b, V) { return (a & 0xffffff) * (b & 0xffffff); }},
      {"mul24", [](V a, V b, V) { return U(S24(a) * S24(b)); }},
      {"sad", [](V a, V b, V c) { return c + U(std::abs(int64_t{S(a)} - S(b))); }},
      {"usad", [](V a, V b, V c) { return c + (a > b ? a - b : b - a); }},
      {"umulhi", [](V a, V b, V) { return V(uint64_t{a} * b >> 32); }},
      {"mulhi", [](V a, V b, V) { return U(int64_t{S(a)} * S(b) >> 32); }},
      {"hadd", [](V a, V b, V) { return U((int64_t{S(a)} + S(b)) >> 1); }},
      {"urhadd", [](V a, V b, V) { return V((uint64_t{a} + b + 1) >> 1); }},
      {"bfe.s32",
       [](V a, V b, V c) {
         const int first = b & 31, length = c & 31;
         if (length == 0) return 0u;
         const int last = std::min(31, first + length - 1);
         return U(S(a << (31 - last)) >> (31 - last + first));
       }},
      {"bfi",
       [](V a, V b, V c) {
         const V mask = Mask(c & 31, c >> 8 & 31);
         return (b & ~mask) | (a << (c & 31) & mask);
       }},
      {"szext.wrap.s", [](V a, V, V c) { return (c & 31) == 0 ? 0u : U(S(a << (32 - (c & 31))) >> (32 - (c & 31))); }},
      {"szext.clamp.u", [](V a, V, V c) { return (c & 63) >= 32 ? a : a & ((1u << (c & 63)) - 1); }},
      {"bmsk.clamp", [](V, V b, V c) { return Mask(b & 63, c & 63); }},
      {"bmsk.wrap", [](V, V b, V c) { return Mask(b & 31, c & 31); }},
      {"prmt.f4e",
       [](V a, V b, V c) {
         static constexpr V kSelectors[] = {0x3210, 0x4321, 0x5432, 0x6543};
         return Permute(a, b, kSelectors[c & 3]);
       }},
      {"prmt.rc16", [](V a, V b, V c) { return Permute(a, b, c & 1 ? 0x3232 : 0x1010); }},
      {"prmt", [](V a, V b, V c) { return Permute(a, b, c); }},
      {"bfind.u", [](V a, V, V) { return a == 0 ? ~0u : U(31 - std::countl_zero(a)); }},
      {"bfind.shiftamt.s",
       [](V a, V, V) {
         const V v = S(a) < 0 ? ~a : a;
         return v == 0 ? ~0u : U(std::countl_zero(v));
       }},
      {"fns",
       [](V a, V b, V c) {
         V left = (c & 3) + 1;
         for (V i = b & 31; i < 32; ++i) {
           if ((a >> i & 1) != 0 && --left == 0) return i;
         }
         return ~0u;
       }},
      {"lop3.and", [](V a, V b, V c) { return (a ^ b ^ (c & 1)) != 0 && (c & 1) ? a ^ b ^ (c & 1) : ~(a ^ b ^ (c & 1)); }},
      {"lop3.or",
       [](V a, V b, V c) {
         const V v = a & (b & 3) & (c & 1);
         return v != 0 || (c & 1) ? v : ~v;
       }},
      {"mad24.lo", [](V a, V b, V c) { return (a & 0xffffff) * (b & 0xffffff) + c; }},
      {"mul24.hi", [](V a, V b, V) { return U(S24(a) * S24(b) >> 16); }},
      {"add.sat", [](V a, V b, V) { return U(Clamp32(int64_t{S(a)} + S(b))); }},
      {"sub.sat", [](V a, V b, V) { return U(Clamp32(int64_t{S(a)} - S(b))); }},
      {"cnot", [](V, V, V c) { return (c & 1) == 0 ? 1u : 0u; }},
      {"vadd4", [](V a, V b, V) { return PerByte([&](int k) { return ByteU(a, k) + ByteU(b, k); }); }},
      {"vsub2", [](V a, V b, V) { return PerHalf([&](int k) { return HalfU(a, k) - HalfU(b, k); }); }},
      {"vabsdiffu4", [](V a, V b, V) { return PerByte([&](int k) { return U(std::abs(int(ByteU(a, k)) - int(ByteU(b, k)))); }); }},
      {"vmaxs2", [](V a, V b, V) { return PerHalf([&](int k) { return U(std::max(HalfS(a, k), HalfS(b, k))); }); }},
      {"vminu4", [](V a, V b, V) { return PerByte([&](int k) { return std::min(ByteU(a, k), ByteU(b, k)); }); }},
      {"vcmpgtu4", [](V a, V b, V) { return PerByte([&](int k) { return ByteU(a, k) > ByteU(b, k) ? 255u : 0u; }); }},
      {"vaddss2",
       [](V a, V b, V) {
         return PerHalf([&](int k) { return U(std::clamp(HalfS(a, k) + HalfS(b, k), -32768, 32767)); });
       }},
      {"viaddmax", [](V a, V b, V c) { return U(std::max(S(a + b), S(c))); }},
      {"vimax3", [](V a, V b, V c) { return U(std::max({S(a), S(b), S(c)})); }},
      {"vimin.relu", [](V a, V b, V) { return U(std::max(0, std::min(S(a), S(b)))); }},
      {"viaddmax.s16x2",
       [](V a, V b, V c) {
         return PerHalf([&](int k) { return U(std::max<int>(int16_t(HalfS(a, k) + HalfS(b, k)), HalfS(c, k))); });
       }},
      {"vimax3.u16x2",
       [](V a, V b, V c) { return PerHalf([&](int k) { return std::max({HalfU(a, k), HalfU(b, k), HalfU(c, k)}); }); }},
  };
  Check<V>("integer_bits", {Words(1), Words(2), Words(3)}, rows);
}

TEST_P(IntrinsicsTest, IntegersOf64Bits) {
  using V = int64_t;
  std::mt19937_64 random(5);
  std::vector<V> a(kThreads), b(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    a[i] = static_cast<V>(random() >> (i % 5 * 11));
    b[i] = static_cast<V>(random() >> (i % 7 * 9));
    if (i % 2) a[i] = -a[i];
    if (i % 3 == 0) b[i] = -b[i];
  }
  auto u = [](V v) { return static_cast<uint64_t>(v); };
  const std::vector<Row<V>> rows = {
      {"div", [](V x, V y, V) { return x / (y | 1); }},
      {"rem", [](V x, V y, V) { return x % (y | 1); }},
      {"udiv", [=](V x, V y, V) { return V(u(x) / (u(y) | 1)); }},
      {"urem", [=](V x, V y, V) { return V(u(x) % (u(y) | 1)); }},
      {"mulhi", [](V x, V y, V) { return V(static_cast<__int128>(x) * y >> 64); }},
      {"umulhi", [=](V x, V y, V) { return V(static_cast<unsigned __int128>(u(x)) * u(y) >> 64); }},
      {"brev",
       [=](V x, V, V) {
         uint64_t r = 0;
         for (int i = 0; i < 64; ++i) r |= (u(x) >> i & 1) << (63 - i);
         return V(r);
       }},
      {"clz", [=](V x, V, V) { return V(std::countl_zero(u(x))); }},
      {"ffs", [=](V x, V, V) { return x == 0 ? V{0} : V(std::countr_zero(u(x)) + 1); }},
      {"popc", [=](V x, V, V) { return V(std::popcount(u(x))); }},
      {"mul128", [](V x, V y, V) { return V(static_cast<__int128>(x) * y >> 37); }},
      {"div128", [=](V x, V y, V) { return V((static_cast<unsigned __int128>(u(x)) << 13) / (u(y) | 1)); }},
      {"shr", [](V x, V y, V) { return x >> (y & 63); }},
      {"max", [](V x, V y, V) { return std::max(x, y); }},
      {"abs", [](V x, V, V) { return x < 0 ? -x : x; }},
      {"bfe",
       [=](V x, V y, V) {
         const int first = int(y & 63), length = int(y >> 8 & 63);
         return V(u(x) >> first & ((uint64_t{1} << length) - 1));
       }},
      {"bfi",
       [=](V x, V y, V) {
         const int first = int(y & 63), length = int(y >> 8 & 63);
         const uint64_t mask = ((uint64_t{1} << length) - 1) << first;
         return V((u(y) & ~mask) | (u(x) << first & mask));
       }},
  };
  Check<V>("integer_wide", {a, b}, rows);
}

INSTANTIATE_TEST_SUITE_P(Modes, IntrinsicsTest,
                         testing::Values(sassay::worker::RUN_MODE_PLAIN, sassay::worker::RUN_MODE_CHECKED),
                         [](const auto& info) { return sassay::worker::RunMode_Name(info.param); });

}  // namespace
}  // namespace sassay::emulator
