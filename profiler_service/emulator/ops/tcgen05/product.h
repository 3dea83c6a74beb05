// The arithmetic of tcgen05.mma, apart from who asks for it and when.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TCGEN05_PRODUCT_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TCGEN05_PRODUCT_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "profiler_service/emulator/descriptor/instruction.h"
#include "profiler_service/emulator/descriptor/shared_matrix.h"
#include "profiler_service/emulator/memory/tensor_memory.h"

namespace sassay::emulator {

class Block;
class Warp;
struct Inst;

// An operand in shared memory: where each of its 16-byte pieces lies, as offsets in the block's shared memory. K-major:
// piece (mn, k / elements); MN-major: piece (mn / elements, k); the second index runs faster.
struct SharedOperand {
  SharedMatrix matrix;
  Element element = Element::kF16;
  uint32_t mn = 0, k = 0;
  std::vector<uint32_t> pieces;

  uint32_t per_piece() const { return 16 / ElementBytes(element); }
  // Fills `pieces`; false if one of them lies outside of `shared_bytes` bytes of shared memory.
  bool Place(uint32_t shared_bytes);
  // Checked launches: the tensor core begins to read the pieces in the shared memory of `block` for a thread, and is
  // done with them.
  void Begin(Warp& warp, const Inst& inst, int lane, Block& block) const;
  // Reports a tile that was laid down in another way.
  void CheckLayout(Warp& warp, const Inst& inst, int lane, Block& block, absl::string_view name) const;
  void End(Block& block) const;
  // values[mn * k_extent + k].
  std::vector<double> Read(const uint8_t* shared) const;
};

// Where one block's part of a product lies.
struct ProductSide {
  const uint8_t* shared = nullptr;
  TensorMemory* memory = nullptr;
};

// One product, ready to be computed when its time has come. Of a pair of blocks each has the same descriptors and
// addresses, for its own memories.
struct Tcgen05Product {
  MmaShape shape;
  SharedOperand a, b;  // one block's part
  bool a_in_tensor_memory = false;
  TensorAddress a_at, d_at;
  bool accumulate = false;
  int scale = 0;                             // D's old value counts 2^-scale
  std::array<uint32_t, 4> disabled_lanes{};  // one bit per lane of tensor memory: these keep what they have

  // What `columns` columns from `at` on take in one block: all lanes, or four times sixteen where M is 64 (PTX ISA 9.0,
  // 9.7.16.10.5, layouts A, B, D and F).
  std::vector<TensorRegion> Regions(TensorAddress at, uint32_t columns) const;
  // Columns that A takes in tensor memory: its elements are packed.
  uint32_t AColumns() const { return shape.k * ElementBytes(shape.a) / 4; }

  // Products are exact. The sum over K and D's old value is made in double precision and rounded once, to nearest even.
  // Silicon adds the products of an instruction with fewer bits and truncates; how exactly is not documented. Results
  // may differ in the last bits of fp32; integer results agree.
  // `sides`: the block's own, or those of the pair's even and odd block.
  void Compute(absl::Span<const ProductSide> sides) const;

 private:
  // The part of D's columns [first, first + count) whose rows lie from lane `lane` on, and whose columns begin at D's.
  struct Part {
    uint32_t lane = 0, first = 0, count = 0;
  };
  // By K, then by N.
  std::vector<double> ReadB(absl::Span<const ProductSide> sides) const;
  std::vector<double> ReadA(const ProductSide& side, uint32_t first_lane) const;
  void ComputePart(const ProductSide& side, const Part& part, const std::vector<double>& right) const;
};

// The value of an element's bit pattern.
double ElementValue(uint32_t bits, Element element);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TCGEN05_PRODUCT_H_
