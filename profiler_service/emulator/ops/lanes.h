// The shape of most handlers: a function of one lane's operands, applied to 32 lanes so that the compiler vectorises
// it.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_LANES_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_LANES_H_

#include <cstdint>
#include <initializer_list>

#include "absl/status/status.h"
#include "common/base/status_macros.h"
#include "profiler_service/emulator/exec/decoder.h"
#include "profiler_service/emulator/exec/warp.h"

#if defined(__clang__)
#define SASSAY_LANE_LOOP 
#else
#define SASSAY_LANE_LOOP _Pragma("GCC ivdep")
#endif

namespace sassay::emulator {

// d[lane] = f(lane) for the lanes of the mask. A register may be both source and destination, lane by lane.
template <class D, class F>
inline void Map(Warp& warp, const Operand& destination, F f) {
  D* d = warp.Out<D>(destination);
  const uint32_t mask = warp.mask();
  if (mask == ~0u) {
    SASSAY_LANE_LOOP
    for (int lane = 0; lane < kLanes; ++lane) d[lane] = f(lane);
    return;
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    if (mask >> lane & 1) d[lane] = f(lane);
  }
}

// A predicate: bit = f(lane).
template <class F>
inline uint32_t Collect(F f) {
  uint32_t bits = 0;
  for (int lane = 0; lane < kLanes; ++lane) bits |= uint32_t{f(lane)} << lane;
  return bits;
}

// F: stateless functor on values.
template <class D, class S, class F>
Flow Unary(Warp& warp, const Inst& inst) {
  const S* a = warp.In<S>(inst.o[1]);
  Map<D>(warp, inst.o[0], [=](int i) { return static_cast<D>(F()(a[i])); });
  return Flow::kNext;
}
template <class D, class S, class F>
Flow Binary(Warp& warp, const Inst& inst) {
  const S* a = warp.In<S>(inst.o[1]);
  const S* b = warp.In<S>(inst.o[2]);
  Map<D>(warp, inst.o[0], [=](int i) { return static_cast<D>(F()(a[i], b[i])); });
  return Flow::kNext;
}
template <class D, class S, class F>
Flow Ternary(Warp& warp, const Inst& inst) {
  const S* a = warp.In<S>(inst.o[1]);
  const S* b = warp.In<S>(inst.o[2]);
  const S* c = warp.In<S>(inst.o[3]);
  Map<D>(warp, inst.o[0], [=](int i) { return static_cast<D>(F()(a[i], b[i], c[i])); });
  return Flow::kNext;
}

// Destination, then sources, by type; the count of operands must agree.
inline absl::Status Regular(Decoder& decoder, Handler handler, Type destination, std::initializer_list<Type> sources) {
  RETURN_IF_ERROR(decoder.NeedOperands(1 + sources.size(), 1 + sources.size()));
  if (destination == Type::kPred) {
    RETURN_IF_ERROR(decoder.Destination(decoder.operand(0), 0));
  } else {
    RETURN_IF_ERROR(decoder.Destination(decoder.operand(0), std::max<uint32_t>(SizeOf(destination), 2)));
  }
  size_t index = 1;
  for (const Type type : sources) RETURN_IF_ERROR(decoder.Source(decoder.operand(index++), type));
  return handler == nullptr ? decoder.Lacks() : decoder.Set(handler);
}

// Handlers of F<uint16_t|uint32_t|uint64_t> by the type's width; signed arithmetic casts inside the functor.
template <template <class> class F>
Handler UnaryByWidth(Type type) {
  switch (SizeOf(type)) {
    case 2:
      return Unary<uint16_t, uint16_t, F<uint16_t>>;
    case 4:
      return Unary<uint32_t, uint32_t, F<uint32_t>>;
    case 8:
      return Unary<uint64_t, uint64_t, F<uint64_t>>;
    default:
      return nullptr;
  }
}
template <template <class> class F>
Handler BinaryByWidth(Type type) {
  switch (SizeOf(type)) {
    case 2:
      return Binary<uint16_t, uint16_t, F<uint16_t>>;
    case 4:
      return Binary<uint32_t, uint32_t, F<uint32_t>>;
    case 8:
      return Binary<uint64_t, uint64_t, F<uint64_t>>;
    default:
      return nullptr;
  }
}
template <template <class> class F>
Handler TernaryByWidth(Type type) {
  switch (SizeOf(type)) {
    case 2:
      return Ternary<uint16_t, uint16_t, F<uint16_t>>;
    case 4:
      return Ternary<uint32_t, uint32_t, F<uint32_t>>;
    case 8:
      return Ternary<uint64_t, uint64_t, F<uint64_t>>;
    default:
      return nullptr;
  }
}

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_LANES_H_
