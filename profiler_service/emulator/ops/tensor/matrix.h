// Small matrix products as mma.sync and wmma do them: fragments spread over a warp's lanes (PTX ISA 9.0, 9.7.14).
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_MATRIX_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_MATRIX_H_

#include <cstdint>

#include "profiler_service/emulator/ptx/types.h"

namespace sassay::emulator {

// Value of the element `index` of a 32-bit register that holds 32 / bits elements of `type`.
double MatrixElement(uint32_t bits, Type type, int index);
// Bits of an element; 0 for a type that no tensor core takes.
int MatrixElementBits(Type type);

// Where an operand of an m16n8kK product keeps its elements: for A (16 x K) and B (K x 8) by register and element
// within it, for C and D (16 x 8) by one of a lane's four elements.
struct Position {
  int row = 0, column = 0;
};
inline Position PositionA(int lane, int reg, int element, int per_register) {
  return {lane / 4 + 8 * (reg % 2), lane % 4 * per_register + reg / 2 * 4 * per_register + element};
}
inline Position PositionB(int lane, int reg, int element, int per_register) {
  return {lane % 4 * per_register + reg * 4 * per_register + element, lane / 4};
}
inline Position PositionC(int lane, int element) { return {lane / 4 + 8 * (element / 2), lane % 4 * 2 + element % 2}; }

// d[m][n] = sum over k of a[m][k] * b[k][n], plus c[m][n]: floats as tensor cores add them (sum.h), integers exactly.
inline constexpr int kMaxMatrix = 32;
struct MatrixProduct {
  int m = 0, n = 0, k = 0;
  Type factors = Type::kNone;
  bool to_f16 = false;  // accumulators and results are f16
  double a[kMaxMatrix][kMaxMatrix], b[kMaxMatrix][kMaxMatrix], c[kMaxMatrix][kMaxMatrix];
  void Multiply();

 private:
  void MultiplyFloats();
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_MATRIX_H_
