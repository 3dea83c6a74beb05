// Floating-point intrinsics of CUDA C++ and conversions, compiled by nvcc, against what the host computes.
#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/testing/intrinsics_fixture.h"

namespace sassay::emulator {
namespace {

uint32_t U(int64_t value) { return static_cast<uint32_t>(value); }

// The host's own directed rounding; volatile keeps the operation after the change of mode.
template <class T, class F>
T Rounded(int mode, F f, T x, T y, T z = 0) {
  volatile T a = x, b = y, c = z;
  std::fesetround(mode);
  volatile T result = f(T(a), T(b), T(c));
  std::fesetround(FE_TONEAREST);
  return result;
}

float XorSign(float value, float a, float b) { return std::signbit(a) != std::signbit(b) ? -value : value; }

TEST_P(IntrinsicsTest, SinglePrecisionRoundsAsAsked) {
  using V = float;
  auto add = [](V a, V b, V) { return a + b; };
  auto mul = [](V a, V b, V) { return a * b; };
  auto div = [](V a, V b, V) { return a / b; };
  auto fma = [](V a, V b, V c) { return std::fma(a, b, c); };
  auto root = [](V a, V, V) { return std::sqrt(std::fabs(a)); };
  auto one = [](V a, V, V) { return 1.0f / a; };
  auto mode = [](int m, auto f) { return [=](V a, V b, V c) { return Rounded<V>(m, f, a, b, c); }; };
  const std::vector<Row<V>> rows = {
      {"add.rz", mode(FE_TOWARDZERO, add)},
      {"add.ru", mode(FE_UPWARD, add)},
      {"add.rd", mode(FE_DOWNWARD, add)},
      {"mul.rz", mode(FE_TOWARDZERO, mul)},
      {"mul.ru", mode(FE_UPWARD, mul)},
      {"fma.rn", mode(FE_TONEAREST, fma)},
      {"fma.rz", mode(FE_TOWARDZERO, fma)},
      {"fma.ru", mode(FE_UPWARD, fma)},
      {"fma.rd", mode(FE_DOWNWARD, fma)},
      {"div.rn", mode(FE_TONEAREST, div)},
      {"div.rz", mode(FE_TOWARDZERO, div)},
      {"rcp.rn", mode(FE_TONEAREST, one)},
      {"rcp.ru", mode(FE_UPWARD, one)},
      {"sqrt.rn", mode(FE_TONEAREST, root)},
      {"sqrt.rd", mode(FE_DOWNWARD, root)},
      {"rsqrt.rn", [](V a, V, V) { return V(1.0 / std::sqrt(double{std::fabs(a)})); }},
      {"fmin", [](V a, V b, V) { return MinOf(a, b, false); }},
      {"fmax", [](V a, V b, V) { return MaxOf(a, b, false); }},
      {"copysign", [](V a, V b, V) { return std::copysign(a, b); }},
      {"floor", [](V a, V, V) { return std::floor(a); }},
      {"ceil", [](V a, V, V) { return std::ceil(a); }},
      {"trunc", [](V a, V, V) { return std::trunc(a); }},
      {"rint", [](V a, V, V) { return std::nearbyint(a); }},
      {"round", [](V a, V, V) { return std::round(a); }},
      {"fmod", [](V a, V b, V) { return std::fmod(a, b); }},
      {"remainder", [](V a, V b, V) { return std::remainder(a, b); }},
      {"saturate", [](V a, V, V) { return a > 0 ? std::min(a, 1.0f) : 0.0f; }},
      {"ldexp", [](V a, V, V) { return a * 8; }},
      {"min.NaN", [](V a, V b, V) { return MinOf(a, b, true); }},
      {"max.xorsign.abs", [](V a, V b, V) { return XorSign(std::max(std::fabs(a), std::fabs(b)), a, b); }},
      {"min.NaN.xorsign.abs", [](V a, V b, V) { return XorSign(std::min(std::fabs(a), std::fabs(b)), a, b); }},
      {"fma.sat",
       [](V a, V b, V c) {
         const V v = std::fma(a, b, c);
         return v > 0 ? std::min(v, 1.0f) : 0.0f;
       }},
      {"add.ftz",
       [](V a, V b, V) {
         volatile V x = a * 1e-38f, y = b * 1e-39f;
         return FlushFloat(FlushFloat(x) + FlushFloat(y));
       }},
      // PTX's copysign takes the sign of its first operand, the magnitude of its second.
      {"copysign.f32", [](V a, V b, V) { return std::copysign(b, a); }},
  };
  auto b = Floats(12, 3);
  for (float& value : b) value = value == 0 ? 0.75f : value;
  Check<V>("single", {Floats(11, 5), b, Floats(13, 2)}, rows);
}

template <class T>
Same<T> Near(double relative, double absolute) {
  return [=](T a, T b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (std::isinf(a) || std::isinf(b)) return a == b;
    return std::fabs(double(a) - double(b)) <= relative * std::fabs(double(b)) + absolute;
  };
}

TEST_P(IntrinsicsTest, ApproximationsAreClose) {
  using V = float;
  const std::vector<Row<V>> rows = {
      {"__expf", [](V a, V, V) { return std::exp(a); }},
      {"__logf", [](V a, V, V) { return std::log(std::fabs(a)); }},
      {"__sinf", [](V a, V, V) { return std::sin(a); }},
      {"__cosf", [](V a, V, V) { return std::cos(a); }},
      {"__tanf", [](V a, V, V) { return std::tan(a); }},
      {"__powf", [](V a, V, V) { return std::pow(std::fabs(a), 1.5f); }},
      {"__fdividef", [](V a, V, V) { return 1 / a; }},
      {"rsqrtf", [](V a, V, V) { return 1 / std::sqrt(std::fabs(a)); }},
      {"expf", [](V a, V, V) { return std::exp(a); }},
      {"logf", [](V a, V, V) { return std::log(std::fabs(a)); }},
      {"sinf", [](V a, V, V) { return std::sin(a); }},
      {"cosf", [](V a, V, V) { return std::cos(a); }},
      {"tanhf", [](V a, V, V) { return std::tanh(a); }},
      {"erff", [](V a, V, V) { return std::erf(a); }},
      {"powf", [](V a, V, V) { return std::pow(std::fabs(a), 2.25f); }},
      {"atan2f", [](V a, V, V) { return std::atan2(a, 2.0f); }},
      {"cbrtf", [](V a, V, V) { return std::cbrt(a); }},
      {"log1pf", [](V a, V, V) { return std::log1p(std::fabs(a)); }},
      {"expm1f", [](V a, V, V) { return std::expm1(a); }},
      {"exp2f", [](V a, V, V) { return std::exp2(a); }},
      {"log2f", [](V a, V, V) { return std::log2(std::fabs(a)); }},
      {"tanh.approx", [](V a, V, V) { return std::tanh(a); }},
      {"ex2.approx", [](V a, V, V) { return std::exp2(a); }},
      {"sqrt.approx", [](V a, V, V) { return std::sqrt(std::fabs(a)); }},
      {"rcp.approx", [](V a, V, V) { return 1 / a; }},
  };
  auto a = Floats(21, 1.2f);
  for (float& value : a) value = value == 0 ? 0.3f : value;
  Check<V>("approximations", {a}, rows, Near<V>(1e-3, 1e-5));
}

TEST_P(IntrinsicsTest, DoublePrecision) {
  using V = double;
  auto mode = [](int m, auto f) { return [=](V a, V b, V c) { return Rounded<V>(m, f, a, b, c); }; };
  const std::vector<Row<V>> rows = {
      {"div", [](V a, V b, V) { return a / b; }},
      {"sqrt", [](V a, V, V) { return std::sqrt(std::fabs(a)); }},
      {"fma", [](V a, V b, V) { return std::fma(a, b, a); }},
      {"add.rz", mode(FE_TOWARDZERO, [](V a, V b, V) { return a + b; })},
      {"mul.ru", mode(FE_UPWARD, [](V a, V b, V) { return a * b; })},
      {"div.rd", mode(FE_DOWNWARD, [](V a, V b, V) { return a / b; })},
      {"exp", [](V a, V, V) { return std::exp(a); }},
      {"log", [](V a, V, V) { return std::log(std::fabs(a)); }},
      {"sin", [](V a, V, V) { return std::sin(a); }},
      {"pow", [](V a, V, V) { return std::pow(std::fabs(a), 0.75); }},
      {"fmin", [](V a, V b, V) { return std::fmin(a, b); }},
      {"rint", [](V a, V, V) { return std::nearbyint(a); }},
      {"fmod", [](V a, V b, V) { return std::fmod(a, b); }},
      {"tanh", [](V a, V, V) { return std::tanh(a); }},
      {"rsqrt", [](V a, V, V) { return 1 / std::sqrt(std::fabs(a)); }},
      {"to float", [](V a, V, V) { return V(float(a)); }},
      {"to int64", [](V a, V, V) { return V(int64_t(a)); }},
      {"to uint32", [](V a, V, V) { return V(uint32_t(std::fabs(a))); }},
      {"erf", [](V a, V, V) { return std::erf(a); }},
      {"cbrt", [](V a, V, V) { return std::cbrt(a); }},
  };
  std::mt19937 random(31);
  std::normal_distribution<double> normal(0, 4);
  std::vector<V> a(kThreads), b(kThreads);
  for (int i = 0; i < kThreads; ++i) a[i] = normal(random), b[i] = normal(random) + (i % 2 ? 9 : -9);
  Check<V>("twice", {a, b}, rows, Near<V>(7e-16, 1e-300));
}

// ---- 16 bits ----

struct HalfNumber {
  static float Load(uint16_t bits) { return HalfToFloat(bits); }
  static uint16_t Store(double value, Rounding rounding = Rounding::kNearest) {
    return static_cast<uint16_t>(Encode(value, kHalfFormat, rounding));
  }
};
struct BrainNumber {
  static float Load(uint16_t bits) { return Bf16ToFloat(bits); }
  static uint16_t Store(double value, Rounding rounding = Rounding::kNearest) {
    return static_cast<uint16_t>(Encode(value, kBf16Format, rounding));
  }
};

// Lifts a function of doubles to 16-bit patterns.
template <class N, class F>
std::function<uint16_t(uint16_t, uint16_t, uint16_t)> Lift(F f, Rounding rounding = Rounding::kNearest) {
  return [=](uint16_t a, uint16_t b, uint16_t c) {
    return N::Store(f(double{N::Load(a)}, double{N::Load(b)}, double{N::Load(c)}), rounding);
  };
}
// Within `ulps` patterns; results that must be exact use 0.
template <class N>
Same<uint16_t> Close(int ulps) {
  return [=](uint16_t a, uint16_t b) {
    if (std::isnan(N::Load(a)) && std::isnan(N::Load(b))) return true;
    auto order = [](uint16_t v) { return v & 0x8000 ? -int(v & 0x7fff) : int(v); };
    return std::abs(order(a) - order(b)) <= ulps;
  };
}

template <class N>
std::vector<uint16_t> Sixteens(const std::vector<float>& values) {
  std::vector<uint16_t> bits;
  for (const float value : values) bits.push_back(N::Store(value));
  return bits;
}

TEST_P(IntrinsicsTest, HalfPrecision) {
  using N = HalfNumber;
  using D = double;
  auto f = [](auto g, Rounding rounding = Rounding::kNearest) { return Lift<N>(g, rounding); };
  auto fma = [](D a, D b, D c) { return a * b + c; };
  auto relu = [](D v) { return v > 0 ? v : 0.0; };
  auto sat = [](D v) { return v > 0 ? std::min(v, 1.0) : 0.0; };
  auto scaled = [](D a, D, D) { return D(float(a) * 1.00037f); };
  const std::vector<Row<uint16_t>> rows = {
      {"add", f([](D a, D b, D) { return a + b; })},
      {"sub", f([](D a, D b, D) { return a - b; })},
      {"mul", f([](D a, D b, D) { return a * b; })},
      {"fma", f(fma)},
      {"fma.relu", f([=](D a, D b, D c) { return relu(fma(a, b, c)); })},
      {"fma.sat", f([=](D a, D b, D c) { return sat(fma(a, b, c)); })},
      {"add.sat", f([=](D a, D b, D) { return sat(a + b); })},
      {"min", f([](D a, D b, D) { return MinOf(a, b, false); })},
      {"max.NaN", f([](D a, D b, D) { return MaxOf(a, b, true); })},
      {"abs", f([](D a, D, D) { return std::fabs(a); })},
      {"neg", f([](D a, D, D) { return -a; })},
      {"div", f([](D a, D b, D) { return a / b; })},
      {"sqrt", f([](D a, D, D) { return std::sqrt(std::fabs(a)); })},
      {"rcp", f([](D, D b, D) { return 1 / b; })},
      {"exp", f([](D a, D, D) { return std::exp(a); })},
      {"log", f([](D a, D, D) { return std::log(std::fabs(a)); })},
      {"floor", f([](D a, D, D) { return std::floor(a); })},
      {"rint", f([](D a, D, D) { return std::nearbyint(a); })},
      {"cvt.rz", f(scaled, Rounding::kZero)},
      {"cvt.ru", f(scaled, Rounding::kUp)},
      {"cvt.rd", f(scaled, Rounding::kDown)},
      {"from int", f([](D a, D, D) { return D(int(float(a) * 100)); })},
      {"from short", f([](D a, D, D) { return std::trunc(a) + 0.0; })},
      {"tanh", f([](D a, D, D) { return std::tanh(a); })},
      {"from double", f([](D a, D, D) { return a * 1.0003; })},
      {"gt", f([](D a, D b, D) { return a > b ? a : b; })},
      {"equ", f([](D a, D b, D) { return a == b ? a : b; })},
      {"fma2 low", f([=](D a, D, D c) { return fma(a, c, c); })},
      {"mul2 high", f([](D a, D b, D) { return b * a; })},
      {"max2 low", f([](D a, D, D c) { return MaxOf(a, c, false); })},
      {"fma2.relu high", f([=](D a, D b, D) { return relu(fma(b, a, b)); })},
      {"ex2 pair", f([](D a, D, D) { return std::exp2(a); })},
      {"beq2", f([](D a, D b, D c) { return a == c && b == a ? a : b; })},
      {"gt2 high", f([](D a, D b, D) { return b > a ? 1.0 : 0.0; })},
      {"tanh2 low", f([](D a, D, D) { return std::tanh(a); })},
      {"ex2 high", f([](D, D b, D) { return std::exp2(b); })},
      {"min.NaN.xorsign.abs", f([](D a, D, D c) {
         const D least = std::min(std::fabs(a), std::fabs(c));
         return std::signbit(a) != std::signbit(c) ? -least : least;
       })},
  };
  auto b = Floats(42, 1.5f);
  for (float& value : b) value = value == 0 ? 0.25f : value;
  auto a = Floats(41, 1.5f);
  for (float& value : a) value = value == 0 ? -0.5f : value;
  Check<uint16_t>("halves", {Sixteens<N>(a), Sixteens<N>(b), Sixteens<N>(Floats(43, 1.0f))}, rows, Close<N>(1));
}

TEST_P(IntrinsicsTest, BrainFloats) {
  using N = BrainNumber;
  using D = double;
  auto f = [](auto g, Rounding rounding = Rounding::kNearest) { return Lift<N>(g, rounding); };
  auto fma = [](D a, D b, D c) { return a * b + c; };
  auto scaled = [](D a, D, D) { return D(float(a) * 1.00037f); };
  const std::vector<Row<uint16_t>> rows = {
      {"add", f([](D a, D b, D) { return a + b; })},
      {"sub", f([](D a, D b, D) { return a - b; })},
      {"mul", f([](D a, D b, D) { return a * b; })},
      {"fma", f(fma)},
      {"fma.relu", f([=](D a, D b, D c) { return std::max(fma(a, b, c), 0.0); })},
      {"min", f([](D a, D b, D) { return MinOf(a, b, false); })},
      {"max.NaN", f([](D a, D b, D) { return MaxOf(a, b, true); })},
      {"abs", f([](D a, D, D) { return std::fabs(a); })},
      {"neg", f([](D a, D, D) { return -a; })},
      {"div", f([](D a, D b, D) { return a / b; })},
      {"ex2", f([](D a, D, D) { return std::exp2(a); })},
      {"cvt.rz", f(scaled, Rounding::kZero)},
      {"cvt.ru", f(scaled, Rounding::kUp)},
      {"from int", f([](D a, D, D) { return D(int(float(a) * 1000)); })},
      {"tanh", f([](D a, D, D) { return std::tanh(a); })},
      {"fma2 low", f([=](D a, D, D c) { return fma(a, c, c); })},
      {"mul2 high", f([](D a, D b, D) { return a * b; })},
      {"min2 low", f([](D a, D, D c) { return MinOf(a, c, false); })},
      {"ex2 pair", f([](D a, D, D) { return std::exp2(a); })},
      {"cvt pair high", f([](D, D b, D) { return D(float(b) * 1.7f); })},
      {"rsqrt", f([](D a, D, D) { return 1 / std::sqrt(std::fabs(a)); })},
  };
  auto a = Floats(51, 2), b = Floats(52, 2);
  for (int i = 0; i < kThreads; ++i) a[i] = a[i] == 0 ? 1.5f : a[i], b[i] = b[i] == 0 ? -1.25f : b[i];
  Check<uint16_t>("brains", {Sixteens<N>(a), Sixteens<N>(b), Sixteens<N>(Floats(53, 2))}, rows, Close<N>(1));
}

// ---- conversions ----

TEST_P(IntrinsicsTest, EightBitFloatsAndTensorFloats) {
  auto pair = [](float high, float low, Format format) {
    return Encode(high, format, Rounding::kNearest, true) << 8 | Encode(low, format, Rounding::kNearest, true);
  };
  auto halves = [](uint32_t bits, Format format) {
    auto one = [&](uint32_t v) { return uint32_t{FloatToHalf(static_cast<float>(Decode(v, format)))}; };
    return one(bits >> 8 & 255) << 16 | one(bits & 255);
  };
  auto half = [](float v) { return HalfToFloat(FloatToHalf(v)); };
  auto relu = [](float v) { return v > 0 ? v : 0.0f; };
  auto tf32 = [](float v, Rounding rounding) { return Encode(v, kTf32Format, rounding) << 13; };
  auto brain = [](float v) { return Bf16ToFloat(FloatToBf16(v)); };
  const std::vector<float> a = Floats(61, 60), b = Floats(62, 200);
  std::vector<std::string> arguments = {Bytes(emulated_.Upload(a)), Bytes(emulated_.Upload(b))};
  const uint64_t out = emulated_.Allocate(13 * kThreads * 4);
  arguments.push_back(Bytes(out));
  const auto execution = emulated_.Run("eighths", {1, 1, 1}, {kThreads, 1, 1}, arguments);
  ASSERT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
  const auto results = emulated_.Download<uint32_t>(out, 13 * kThreads);
  for (int i = 0; i < kThreads; ++i) {
    const float x = a[i], y = b[i];
    // float2.x is the low element.
    const uint32_t e4m3 = pair(y, x, kE4m3Format), e5m2 = pair(y, x, kE5m2Format);
    const uint32_t expected[] = {
        e4m3,
        e5m2,
        Encode(x, kE4m3Format, Rounding::kNearest, true),
        halves(e4m3, kE4m3Format),
        halves(e5m2, kE5m2Format),
        pair(half(y), half(x), kE4m3Format),
        pair(brain(y), brain(x), kE5m2Format),
        tf32(x, Rounding::kNearestAway),
        uint32_t{FloatToBf16(relu(x))} << 16 | FloatToBf16(relu(y)),
        Encode(x, kHalfFormat, Rounding::kZero) << 16 | Encode(y, kHalfFormat, Rounding::kZero),
        tf32(x, Rounding::kNearest),
        tf32(relu(x), Rounding::kZero),
        pair(relu(x), relu(y), kE4m3Format),
    };
    for (int row = 0; row < 13; ++row) {
      ASSERT_EQ(results[row * kThreads + i], expected[row]) << "row " << row << " of " << x << ", " << y;
    }
  }
}

TEST_P(IntrinsicsTest, ConversionsRoundAndClamp) {
  auto clamp = [](double v, double low, double high) { return std::min(std::max(v, low), high); };
  const std::vector<float> a = Floats(71, 300);
  const uint64_t out = emulated_.Allocate(16 * kThreads * 4);
  const auto execution =
      emulated_.Run("conversions", {1, 1, 1}, {kThreads, 1, 1}, {Bytes(emulated_.Upload(a)), Bytes(out)});
  ASSERT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
  const auto results = emulated_.Download<uint32_t>(out, 16 * kThreads);
  for (int i = 0; i < kThreads; ++i) {
    const float x = a[i];
    auto bits = [](double v, Rounding rounding) { return Encode(v, kFloatFormat, rounding); };
    const uint32_t expected[] = {
        U(std::llrint(x)),
        U(int64_t(x)),
        U(int64_t(std::ceil(x))),
        U(int64_t(std::floor(x))),
        U(int64_t(clamp(std::nearbyint(x), 0, 4294967295.0))),
        U(std::llrint(x * 1e6f)),
        x * 1e6f > 0 ? uint32_t(uint64_t(x * 1e6f) >> 8) : 0u,
        bits(int32_t(x * 12345.0f), Rounding::kZero),
        bits(uint32_t(std::fabs(x) * 123456.0f), Rounding::kUp),
        std::bit_cast<uint32_t>(float(int64_t(x * 1e12f))),
        bits(double(x) * 1.0000000123, Rounding::kDown),
        U(int8_t(int(x))),
        uint8_t(int(std::fabs(x))),
        U(int64_t(clamp(double(int(x)), -128, 127))),
        U(int64_t(clamp(std::nearbyint(x), 0, 255))),
        U(int16_t(clamp(std::trunc(x), -32768, 32767))),
    };
    for (int row = 0; row < 16; ++row) {
      ASSERT_EQ(results[row * kThreads + i], expected[row]) << "row " << row << " of " << x;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, IntrinsicsTest,
                         testing::Values(sassay::worker::RUN_MODE_PLAIN, sassay::worker::RUN_MODE_CHECKED),
                         [](const auto& info) { return sassay::worker::RunMode_Name(info.param); });

}  // namespace
}  // namespace sassay::emulator
