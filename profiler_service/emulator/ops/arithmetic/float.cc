#include <cmath>

#include "profiler_service/emulator/ops/arithmetic/host_rounding.h"
#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"

namespace sassay::emulator {
namespace {

enum Operation : uint32_t { kAdd, kSub, kMul, kFma, kDiv, kMin, kMax };
constexpr uint32_t kFtz = 1, kSat = 2, kNan = 4, kXorSign = 8;

// ---- f32, round to nearest, nothing else: the common case ----

struct AddF32 {
  float operator()(float a, float b) const { return Canonical(a + b); }
};
struct SubF32 {
  float operator()(float a, float b) const { return Canonical(a - b); }
};
struct MulF32 {
  float operator()(float a, float b) const { return Canonical(a * b); }
};
struct DivF32 {
  float operator()(float a, float b) const { return Canonical(a / b); }
};

// Hosts with FMA units do in one instruction what libm does in a call. The result is the same.
__attribute__((target("avx2,fma"))) Flow FmaF32Fast(Warp& warp, const Inst& inst) {
  const float* a = warp.In<float>(inst.o[1]);
  const float* b = warp.In<float>(inst.o[2]);
  const float* c = warp.In<float>(inst.o[3]);
  float* d = warp.Out<float>(inst.o[0]);
  const uint32_t mask = warp.mask();
  float result[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const float value = __builtin_fmaf(a[i], b[i], c[i]);
    result[i] = value != value ? std::bit_cast<float>(0x7fffffffu) : value;
  }
  if (mask == ~0u) {
    __builtin_memcpy(d, result, sizeof(result));
    return Flow::kNext;
  }
  for (int i = 0; i < kLanes; ++i) d[i] = mask >> i & 1 ? result[i] : d[i];
  return Flow::kNext;
}

struct FmaF32 {
  float operator()(float a, float b, float c) const { return Canonical(std::fma(a, b, c)); }
};

Handler FmaHandler() {
  static const bool kFast = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  return kFast ? FmaF32Fast : Ternary<float, float, FmaF32>;
}

// ---- f32, every modifier ----

// The sum of opposite numbers is -0 where rounding goes down.
double SumOfOpposites(double sum, double a, double b, Rounding rounding) {
  return sum == 0 && rounding == Rounding::kDown && std::signbit(a) != std::signbit(b) ? -0.0 : sum;
}

float Exact(uint32_t operation, float a, float b, float c, Rounding rounding) {
  switch (operation) {
    case kAdd:
      return RoundDouble(SumOfOpposites(AddOdd(a, b), a, b, rounding), rounding);
    case kSub:
      return RoundDouble(SumOfOpposites(AddOdd(a, -double{b}), a, -double{b}, rounding), rounding);
    case kMul:
      return RoundDouble(double{a} * b, rounding);
    case kFma:
      if (rounding == Rounding::kNearest) return std::fma(a, b, c);
      return RoundDouble(SumOfOpposites(AddOdd(double{a} * b, c), double{a} * b, c, rounding), rounding);
    default: {
      // A quotient that is not exact is nudged by its remainder's sign, so that the rounding sees on which side it is.
      double quotient = double{a} / b;
      if (rounding == Rounding::kNearest) return a / b;
      const double rest = std::fma(-quotient, double{b}, double{a});
      if (rest != 0 && std::isfinite(rest) && std::isfinite(quotient)) {
        quotient = std::nextafter(quotient, (rest > 0) == (b > 0) ? HUGE_VAL : -HUGE_VAL);
      }
      return RoundDouble(quotient, rounding);
    }
  }
}

float MinMaxF32(uint32_t operation, float a, float b, uint32_t flags) {
  float result;
  if ((flags & kXorSign) != 0) {
    const bool negative = std::signbit(a) != std::signbit(b);
    result = operation == kMin ? MinOf(std::fabs(a), std::fabs(b), (flags & kNan) != 0)
                               : MaxOf(std::fabs(a), std::fabs(b), (flags & kNan) != 0);
    return negative ? -result : result;
  }
  return operation == kMin ? MinOf(a, b, (flags & kNan) != 0) : MaxOf(a, b, (flags & kNan) != 0);
}

// `a`: operation, `b`: rounding, `c`: flags.
Flow ArithmeticF32(Warp& warp, const Inst& inst) {
  const float* x = warp.In<float>(inst.o[1]);
  const float* y = warp.In<float>(inst.o[2]);
  const float* z = warp.In<float>(inst.o[inst.sources > 2 ? 3 : 2]);
  const Rounding rounding = static_cast<Rounding>(inst.b);
  const bool flush = (inst.c & kFtz) != 0, min_max = inst.a == kMin || inst.a == kMax;
  Map<float>(warp, inst.o[0], [&](int i) {
    const float a = flush ? FlushFloat(x[i]) : x[i], b = flush ? FlushFloat(y[i]) : y[i];
    const float c = flush ? FlushFloat(z[i]) : z[i];
    float result;
    if (min_max) {
      result = MinMaxF32(inst.a, a, b, inst.c);
      if (inst.sources > 2) result = MinMaxF32(inst.a, result, c, inst.c);
    } else {
      result = Exact(inst.a, a, b, c, rounding);
    }
    if (flush) result = FlushFloat(result);
    if ((inst.c & kSat) != 0) result = Saturate(result);
    return Canonical(result);
  });
  return Flow::kNext;
}

template <bool kMinimum>
struct MinMaxPlainF32 {
  float operator()(float a, float b) const { return kMinimum ? MinOf(a, b, false) : MaxOf(a, b, false); }
};

// ---- f64 ----

// `b`: the rounding.
double ArithmeticOneF64(uint32_t operation, double a, double b, double c) {
  switch (operation) {
    case kAdd:
      return a + b;
    case kSub:
      return a - b;
    case kMul:
      return a * b;
    case kFma:
      return std::fma(a, b, c);
    case kDiv:
      return a / b;
    case kMin:
      return std::isnan(a) && std::isnan(b) ? Quiet(b) : MinOf(a, b, false);
    default:
      return std::isnan(a) && std::isnan(b) ? Quiet(b) : MaxOf(a, b, false);
  }
}

// Of several operands that are no numbers the host hands on one, a GPU perhaps another: ptxas orders operands as it
// likes. Nothing here counts on which.
Flow ArithmeticF64(Warp& warp, const Inst& inst) {
  const double* x = warp.In<double>(inst.o[1]);
  const double* y = warp.In<double>(inst.o[2]);
  const double* z = warp.In<double>(inst.o[inst.sources > 2 ? 3 : 2]);
  const HostRounding host(static_cast<Rounding>(inst.b));
  Map<double>(warp, inst.o[0],
              [&](int i) { return Held(ArithmeticOneF64(inst.a, Held(x[i]), Held(y[i]), Held(z[i]))); });
  return Flow::kNext;
}

__attribute__((target("avx2,fma"))) Flow FmaF64Fast(Warp& warp, const Inst& inst) {
  const double* a = warp.In<double>(inst.o[1]);
  const double* b = warp.In<double>(inst.o[2]);
  const double* c = warp.In<double>(inst.o[3]);
  double* d = warp.Out<double>(inst.o[0]);
  for (int i = 0; i < kLanes; ++i) {
    if (warp.mask() >> i & 1) d[i] = __builtin_fma(a[i], b[i], c[i]);
  }
  return Flow::kNext;
}

// ---- decoding ----

Rounding RoundingOf(const Decoder& d) {
  if (d.Has("rz")) return Rounding::kZero;
  if (d.Has("rm")) return Rounding::kDown;
  if (d.Has("rp")) return Rounding::kUp;
  return Rounding::kNearest;
}

Handler FastHandler(Operation operation) {
  switch (operation) {
    case kAdd:
      return Binary<float, float, AddF32>;
    case kSub:
      return Binary<float, float, SubF32>;
    case kMul:
      return Binary<float, float, MulF32>;
    case kFma:
      return FmaHandler();
    case kDiv:
      return Binary<float, float, DivF32>;
    case kMin:
      return Binary<float, float, MinMaxPlainF32<true>>;
    case kMax:
      return Binary<float, float, MinMaxPlainF32<false>>;
  }
  return nullptr;
}

absl::Status DecodeOperation(Decoder& d, Operation operation) {
  const Type type = d.type();
  d.inst().a = operation;
  d.inst().b = static_cast<uint32_t>(RoundingOf(d));
  d.inst().c = (d.Has("ftz") ? kFtz : 0) | (d.Has("sat") ? kSat : 0) | (d.Has("NaN") ? kNan : 0) |
               (d.Has("xorsign") ? kXorSign : 0);
  const bool plain = d.inst().b == 0 && d.inst().c == 0;
  const bool three = operation == kFma || d.operand_count() == 4;
  Handler handler = type == Type::kF64 ? ArithmeticF64 : ArithmeticF32;
  if (plain && type == Type::kF32 && !(three && operation != kFma)) handler = FastHandler(operation);
  if (plain && type == Type::kF64 && operation == kFma && FmaHandler() == FmaF32Fast) handler = FmaF64Fast;
  if (three) return Regular(d, handler, type, {type, type, type});
  return Regular(d, handler, type, {type, type});
}

template <bool kFlush, class T, int kKind>  // 0 neg, 1 abs
struct SignOp {
  T operator()(T a) const {
    if constexpr (kFlush) a = FlushFloat(a);
    if constexpr (sizeof(T) == 4) return Canonical(kKind == 0 ? -a : std::fabs(a));
    return a != a ? Quiet(a) : kKind == 0 ? -a : std::fabs(a);
  }
};

absl::Status DecodeSign(Decoder& d, bool absolute) {
  const Type type = d.type();
  Handler handler;
  if (type == Type::kF64) {
    handler =
        absolute ? Unary<double, double, SignOp<false, double, 1>> : Unary<double, double, SignOp<false, double, 0>>;
  } else if (d.Has("ftz")) {
    handler = absolute ? Unary<float, float, SignOp<true, float, 1>> : Unary<float, float, SignOp<true, float, 0>>;
  } else {
    handler = absolute ? Unary<float, float, SignOp<false, float, 1>> : Unary<float, float, SignOp<false, float, 0>>;
  }
  return Regular(d, handler, type, {type});
}

template <class T>
struct CopySign {
  T operator()(T a, T b) const { return std::copysign(b, a); }
};

absl::Status DecodeCopySign(Decoder& d) {
  const Type type = d.type();
  return Regular(d,
                 type == Type::kF64 ? Binary<double, double, CopySign<double>> : Binary<float, float, CopySign<float>>,
                 type, {type, type});
}

}  // namespace

absl::Status DecodeFloatArithmetic(Decoder& d) {
  const absl::string_view root = d.Part(0);
  if (d.types().size() > 1) return d.Lacks();  // mixed precision: add.f32.bf16
  if (root == "neg" || root == "abs") return DecodeSign(d, root == "abs");
  static constexpr struct {
    absl::string_view root;
    Operation operation;
  } kOperations[] = {{"add", kAdd}, {"sub", kSub}, {"mul", kMul}, {"fma", kFma},
                     {"mad", kFma}, {"div", kDiv}, {"min", kMin}, {"max", kMax}};
  for (const auto& row : kOperations) {
    if (row.root == root) return DecodeOperation(d, row.operation);
  }
  return d.Lacks();
}

void RegisterFloat(OpTable& table) { table.Add("copysign", DecodeCopySign); }

}  // namespace sassay::emulator
