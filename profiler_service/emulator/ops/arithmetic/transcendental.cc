#include <cmath>

#include "profiler_service/emulator/ops/arithmetic/host_rounding.h"
#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"

// The approximate functions are computed to float precision, which is at least what hardware promises; their last bits
// differ from silicon's.
namespace sassay::emulator {
namespace {

struct Rcp {
  template <class T>
  static T Of(T x) {
    return T{1} / x;
  }
};
struct Sqrt {
  template <class T>
  static T Of(T x) {
    return std::sqrt(x);
  }
};
struct Rsqrt {
  template <class T>
  static T Of(T x) {
    return T{1} / std::sqrt(x);
  }
};
struct Sin {
  template <class T>
  static T Of(T x) {
    return std::sin(x);
  }
};
struct Cos {
  template <class T>
  static T Of(T x) {
    return std::cos(x);
  }
};
struct Lg2 {
  template <class T>
  static T Of(T x) {
    return std::log2(x);
  }
};
struct Ex2 {
  template <class T>
  static T Of(T x) {
    return std::exp2(x);
  }
};
struct Tanh {
  template <class T>
  static T Of(T x) {
    return std::tanh(x);
  }
};

// `a`: 1 flushes subnormals; `b`: rounding.
template <class F>
Flow FunctionF32(Warp& warp, const Inst& inst) {
  const float* x = warp.In<float>(inst.o[1]);
  const bool flush = inst.a != 0;
  const Rounding rounding = static_cast<Rounding>(inst.b);
  Map<float>(warp, inst.o[0], [&](int i) {
    const float input = flush ? FlushFloat(x[i]) : x[i];
    const float result = rounding == Rounding::kNearest ? F::Of(input) : RoundDouble(F::Of(double{input}), rounding);
    return Canonical(flush ? FlushFloat(result) : result);
  });
  return Flow::kNext;
}

template <class F>
Flow FunctionF64(Warp& warp, const Inst& inst) {
  const double* x = warp.In<double>(inst.o[1]);
  const HostRounding host(static_cast<Rounding>(inst.b));
  Map<double>(warp, inst.o[0], [&](int i) { return Held(F::Of(Held(x[i]))); });
  return Flow::kNext;
}

double FlushDouble(double value) {
  return std::fabs(value) < std::numeric_limits<double>::min() ? std::copysign(0.0, value) : value;
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: only the upper 32 bits count; the lower come out zero. rsqrt.approx.f64
// is what nvcc makes of rsqrt(), which is right to one unit in the last place.
template <class F>
Flow FunctionHighF64(Warp& warp, const Inst& inst) {
  const double* x = warp.In<double>(inst.o[1]);
  Map<double>(warp, inst.o[0], [&](int i) {
    const double input = std::bit_cast<double>(std::bit_cast<uint64_t>(FlushDouble(x[i])) & ~uint64_t{0xffffffff});
    return std::bit_cast<double>(std::bit_cast<uint64_t>(FlushDouble(F::Of(input))) & ~uint64_t{0xffffffff});
  });
  return Flow::kNext;
}

template <class F, bool kBf16>
uint16_t FunctionOne(uint16_t bits, bool flush) {
  float input = kBf16 ? Bf16ToFloat(bits) : HalfToFloat(bits);
  if (flush && !kBf16 && (bits & 0x7c00) == 0) input = std::copysign(0.0f, input);
  if (flush && kBf16) input = FlushFloat(input);
  const float result = F::Of(input);
  return kBf16 ? FloatToBf16(result) : FloatToHalf(result);
}

template <class F, bool kBf16>
Flow FunctionHalf(Warp& warp, const Inst& inst) {
  const uint16_t* x = warp.In<uint16_t>(inst.o[1]);
  Map<uint16_t>(warp, inst.o[0], [&](int i) { return FunctionOne<F, kBf16>(x[i], inst.a != 0); });
  return Flow::kNext;
}

template <class F, bool kBf16>
Flow FunctionPair(Warp& warp, const Inst& inst) {
  const uint32_t* x = warp.In<uint32_t>(inst.o[1]);
  Map<uint32_t>(warp, inst.o[0], [&](int i) {
    const uint32_t low = FunctionOne<F, kBf16>(static_cast<uint16_t>(x[i]), inst.a != 0);
    const uint32_t high = FunctionOne<F, kBf16>(static_cast<uint16_t>(x[i] >> 16), inst.a != 0);
    return high << 16 | low;
  });
  return Flow::kNext;
}

template <class F>
absl::Status DecodeTranscendental(Decoder& d) {
  const Type type = d.type();
  d.inst().a = d.Has("ftz");
  d.inst().b = static_cast<uint32_t>(d.Has("rz")   ? Rounding::kZero
                                     : d.Has("rm") ? Rounding::kDown
                                     : d.Has("rp") ? Rounding::kUp
                                                   : Rounding::kNearest);
  switch (type) {
    case Type::kF32:
      return Regular(d, FunctionF32<F>, type, {type});
    case Type::kF64:
      return Regular(d, d.Has("ftz") ? FunctionHighF64<F> : FunctionF64<F>, type, {type});
    case Type::kF16:
      return Regular(d, FunctionHalf<F, false>, type, {type});
    case Type::kBf16:
      return Regular(d, FunctionHalf<F, true>, type, {type});
    case Type::kF16x2:
      return Regular(d, FunctionPair<F, false>, type, {type});
    case Type::kBf16x2:
      return Regular(d, FunctionPair<F, true>, type, {type});
    default:
      return d.Lacks();
  }
}

}  // namespace

void RegisterTranscendental(OpTable& table) {
  table.Add("rcp", DecodeTranscendental<Rcp>);
  table.Add("sqrt", DecodeTranscendental<Sqrt>);
  table.Add("rsqrt", DecodeTranscendental<Rsqrt>);
  table.Add("sin", DecodeTranscendental<Sin>);
  table.Add("cos", DecodeTranscendental<Cos>);
  table.Add("lg2", DecodeTranscendental<Lg2>);
  table.Add("ex2", DecodeTranscendental<Ex2>);
  table.Add("tanh", DecodeTranscendental<Tanh>);
}

}  // namespace sassay::emulator
