// tcgen05.mma without block scaling (PTX ISA 9.0, 9.7.16.10.9.1).
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/emulator/ops/tcgen05/product.h"
#include "profiler_service/emulator/ops/tcgen05/tensor_unit.h"

namespace sassay::emulator {
namespace {

constexpr auto kBadDescriptor = sassay::v1::VERDICT_CODE_DESCRIPTOR_INVALID;

struct Facts {
  uint32_t group = 1;
  MmaKind kind = MmaKind::kF16;
  bool a_in_tensor_memory = false;
  int64_t a_displacement = 0;
  uint32_t mask_words = 0;
  int scale = 0;
};

// The sources in their order: D, A, B, the instruction descriptor, perhaps four masks for each block, the predicate.
enum { kD, kA, kB, kInstruction, kRest };

// A mistake: whose code and message the finding has.
struct Mistake {
  sassay::v1::VerdictCode code = sassay::v1::VERDICT_CODE_UNSPECIFIED;
  std::string message;
};

absl::StatusOr<SharedMatrix> Matrix(uint64_t word, Element element, bool mn_major) {
  ASSIGN_OR_RETURN(SharedMatrix matrix, DecodeTcgen05Descriptor(word, mn_major));
  // Table 52: which elements may be transposed under which swizzle.
  const bool wide_atoms = matrix.swizzle == Swizzle::k128Atom32;
  if (mn_major && ElementBytes(element) == 4 && !wide_atoms) {
    return absl::InvalidArgumentError("32-bit elements are transposed under swizzle mode 1 (32-byte atoms) only");
  }
  if (mn_major && ElementBytes(element) != 4 && wide_atoms) {
    return absl::InvalidArgumentError("swizzle mode 1 (32-byte atoms) transposes 32-bit elements only");
  }
  return matrix;
}

// Fills in an operand in shared memory.
bool PlaceOperand(Warp& warp, uint64_t word, Element element, uint32_t mn, uint32_t k, bool mn_major, char name,
                  SharedOperand& operand, Mistake& mistake) {
  auto matrix = Matrix(word, element, mn_major);
  if (!matrix.ok()) {
    mistake = {kBadDescriptor, absl::StrCat("tcgen05.mma: the shared-memory descriptor of ", std::string(1, name), ": ",
                                            matrix.status().message())};
    return false;
  }
  operand.matrix = *std::move(matrix);
  operand.element = element;
  operand.mn = mn;
  operand.k = k;
  if (operand.Place(warp.block().shared().size())) return true;
  mistake = {sassay::v1::VERDICT_CODE_OOB_SHARED,
             absl::StrCat("tcgen05.mma: the shared-memory descriptor of ", std::string(1, name), " (start ",
                          operand.matrix.start, ", strides ", operand.matrix.leading_bytes, " and ",
                          operand.matrix.stride_bytes, ") leads outside of the block's ", warp.block().shared().size(),
                          " bytes of shared memory")};
  return false;
}

// A matrix in tensor memory: aligned as its layout asks, and allocated in every block that takes part.
bool CheckRegion(Warp& warp, const MmaShape& shape, TensorAddress at, uint32_t columns, char name, Mistake& mistake) {
  const bool halves = shape.half_lanes();
  if (at.lane != 0 && !(halves && at.lane == 16)) {
    mistake = {sassay::v1::VERDICT_CODE_TENSOR_MEMORY_MISUSE,
               absl::StrCat("tcgen05.mma: ", std::string(1, name), " begins at lane ", at.lane, "; for M = ", shape.m,
                            halves ? " it is 0 or 16" : " it is 0")};
    return false;
  }
  for (Block* block : TensorUnit::Of(warp).Sides(warp.block(), shape.ctas)) {
    if (TensorUnit::Of(*block).memory().Allocated(at.column, columns)) continue;
    mistake = {sassay::v1::VERDICT_CODE_TENSOR_MEMORY_MISUSE,
               absl::StrCat("tcgen05.mma: ", std::string(1, name), " in ", Columns(at.column, columns),
                            " of tensor memory, which are not all allocated",
                            block == &warp.block() ? "" : " in the pair's other block")};
    return false;
  }
  return true;
}

bool MakeShape(Warp& warp, const Inst& inst, const Facts& facts, int lane, MmaShape& shape, Mistake& mistake) {
  const uint32_t word = warp.In<uint32_t>(inst.o[kInstruction])[lane];
  auto decoded = DecodeInstruction(word, facts.kind, facts.group);
  if (decoded.ok()) {
    shape = *decoded;
    return true;
  }
  if (decoded.status().code() == absl::StatusCode::kUnimplemented) {
    warp.Fail(absl::UnimplementedError(absl::StrCat("emulator lacks ", decoded.status().message(), " of tcgen05.mma")));
    return false;
  }
  mistake = {kBadDescriptor, absl::StrCat("tcgen05.mma.", KindName(facts.kind), ": the instruction descriptor 0x",
                                          absl::Hex(word), ": ", decoded.status().message())};
  return false;
}

bool MakeA(Warp& warp, const Inst& inst, const Facts& facts, int lane, Tcgen05Product& product, Mistake& mistake) {
  const MmaShape& shape = product.shape;
  product.a_in_tensor_memory = facts.a_in_tensor_memory;
  if (!facts.a_in_tensor_memory) {
    return PlaceOperand(warp, warp.In<uint64_t>(inst.o[kA])[lane], shape.a, shape.rows(), shape.k, shape.a_mn_major,
                        'A', product.a, mistake);
  }
  if (shape.a_mn_major || ElementBits(shape.a) < 8) {
    warp.Fail(absl::UnimplementedError(
        "emulator lacks tcgen05.mma with a transposed A, or one of 4- or 6-bit elements, in tensor memory"));
    return false;
  }
  product.a_at = TensorAddress::Of(warp.In<uint32_t>(inst.o[kA])[lane] + static_cast<uint32_t>(facts.a_displacement));
  if (!CheckRegion(warp, shape, product.a_at, product.AColumns(), 'A', mistake)) return false;
  if (product.a_at.lane == product.d_at.lane) return true;
  mistake = {sassay::v1::VERDICT_CODE_TENSOR_MEMORY_MISUSE, "tcgen05.mma: A and D begin at different lanes"};
  return false;
}

// The ISA does not say which of a pair's eight words belong to which block.
bool ReadMask(Warp& warp, const Inst& inst, const Facts& facts, int lane, Tcgen05Product& product) {
  uint32_t any = 0;
  for (uint32_t i = 0; i < facts.mask_words; ++i) {
    const uint32_t word = warp.In<uint32_t>(inst.o[kRest + i])[lane];
    any |= word;
    if (facts.group == 1) product.disabled_lanes[i] = word;
  }
  if (facts.group == 1 || any == 0) return true;
  warp.Fail(absl::UnimplementedError("emulator lacks tcgen05.mma.cta_group::2 with disabled lanes"));
  return false;
}

// False: `mistake` says why, or the launch has ended.
bool MakeProduct(Warp& warp, const Inst& inst, const Facts& facts, int lane, Tcgen05Product& product,
                 Mistake& mistake) {
  if (!MakeShape(warp, inst, facts, lane, product.shape, mistake)) return false;
  const MmaShape& shape = product.shape;
  product.d_at = TensorAddress::Of(warp.In<uint32_t>(inst.o[kD])[lane] + static_cast<uint32_t>(inst.immediate));
  if (!CheckRegion(warp, shape, product.d_at, shape.d_columns(), 'D', mistake)) return false;
  if (!MakeA(warp, inst, facts, lane, product, mistake)) return false;
  if (!PlaceOperand(warp, warp.In<uint64_t>(inst.o[kB])[lane], shape.b, shape.columns(), shape.k, shape.b_mn_major, 'B',
                    product.b, mistake)) {
    return false;
  }
  if (!ReadMask(warp, inst, facts, lane, product)) return false;
  product.accumulate = (warp.PredicateIn(inst.o[inst.sources - 1]) >> lane & 1) != 0;
  product.scale = facts.scale;
  return true;
}

// A product is made of cells that nobody has written: what an earlier block has left there.
void ReportUnwritten(Block& block, const Place& where, const Tcgen05Product& product) {
  constexpr auto kCode = sassay::v1::VERDICT_CODE_UNINITIALIZED_READ;
  const TensorMemory& memory = TensorUnit::Of(block).memory();
  const uint32_t d_columns = product.shape.d_columns();
  const auto written = [&](TensorAddress at, uint32_t columns) {
    const std::vector<TensorRegion> regions = product.Regions(at, columns);
    return std::all_of(regions.begin(), regions.end(), [&](auto& region) { return memory.AllWritten(region); });
  };
  const bool masked =
      std::any_of(product.disabled_lanes.begin(), product.disabled_lanes.end(), [](uint32_t w) { return w != 0; });
  const bool d = product.accumulate && !masked && !written(product.d_at, d_columns);
  const bool a = product.a_in_tensor_memory && !written(product.a_at, product.AColumns());
  if (!(a || d) || !block.launch().report.Wants(kCode, where.inst, block.index())) return;
  Misuse misuse;
  misuse.code = kCode;
  misuse.where = where;
  misuse.buffer = "tensor memory";
  misuse.message = d ? absl::StrCat("tcgen05.mma adds to ", Columns(product.d_at.column, d_columns),
                                    " of tensor memory, which nobody has written: the first product wants "
                                    "enable-input-d false")
                     : absl::StrCat("tcgen05.mma reads A from ", Columns(product.a_at.column, product.AColumns()),
                                    " of tensor memory, which nobody has written");
  block.launch().report.Add(std::move(misuse));
}

void Do(const Tcgen05Product& product, const Place& where, const std::vector<Block*>& blocks, bool checked) {
  std::vector<ProductSide> sides;
  for (Block* block : blocks) {
    if (checked) ReportUnwritten(*block, where, product);
    sides.push_back({block->shared().data(), &TensorUnit::Of(*block).memory()});
  }
  product.Compute(sides);
  for (Block* block : blocks) {
    if (checked) product.a.End(*block), product.b.End(*block);
  }
}

void BeginOperands(Warp& warp, const Inst& inst, int lane, const Tcgen05Product& product, Block& block) {
  product.a.CheckLayout(warp, inst, lane, block, "A");
  product.b.CheckLayout(warp, inst, lane, block, "B");
  product.a.Begin(warp, inst, lane, block);
  product.b.Begin(warp, inst, lane, block);
}

TensorOperation Operation(Warp& warp, const Inst& inst, int lane, std::shared_ptr<const Tcgen05Product> product) {
  TensorOperation operation;
  operation.name = "tcgen05.mma";
  operation.where = warp.PlaceOf(inst, lane);
  operation.of_pair = product->shape.ctas == 2;
  operation.writes = product->Regions(product->d_at, product->shape.d_columns());
  if (product->a_in_tensor_memory) operation.reads = product->Regions(product->a_at, product->AColumns());
  const std::vector<Block*> sides = TensorUnit::Of(warp).Sides(warp.block(), product->shape.ctas);
  for (Block* block : sides) {
    if (warp.checked()) BeginOperands(warp, inst, lane, *product, *block);
  }
  operation.run = [product = std::move(product), where = operation.where, sides, checked = warp.checked()] {
    Do(*product, where, sides, checked);
  };
  return operation;
}

// One thread asks for one product; several lanes ask for one each.
Flow Multiply(Warp& warp, const Inst& inst) {
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  const uint32_t lanes = warp.mask();
  Flow flow = Flow::kNext;
  if (!EnterGroup(warp, inst, facts.group, true, flow)) return flow;
  for (uint32_t rest = lanes; rest != 0 && flow == Flow::kNext; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    auto product = std::make_shared<Tcgen05Product>();
    Mistake mistake;
    warp.SetMask(1u << lane);
    if (MakeProduct(warp, inst, facts, lane, *product, mistake)) {
      TensorUnit::Of(warp).Issue(warp, inst, Operation(warp, inst, lane, std::move(product)));
    } else if (mistake.message.empty()) {
      flow = Flow::kRedirected;
    } else {
      flow = Reject(warp, inst, mistake.code, std::move(mistake.message));
    }
  }
  warp.SetMask(lanes);
  return flow;
}

bool ParseKind(const Decoder& d, MmaKind& kind) {
  for (const MmaKind known : {MmaKind::kF16, MmaKind::kTf32, MmaKind::kF8f6f4, MmaKind::kI8}) {
    if (d.Has(KindName(known))) {
      kind = known;
      return true;
    }
  }
  return false;
}

absl::Status DecodeOperands(Decoder& d, Facts& facts) {
  RETURN_IF_ERROR(d.Address(d.operand(0)));
  const int64_t displacement = d.inst().immediate;
  facts.a_in_tensor_memory = d.operand(1).kind == ptx::Operand::kAddress;
  RETURN_IF_ERROR(facts.a_in_tensor_memory ? d.Address(d.operand(1)) : d.Source(d.operand(1), Type::kB64));
  if (facts.a_in_tensor_memory) facts.a_displacement = std::exchange(d.inst().immediate, displacement);
  RETURN_IF_ERROR(d.Source(d.operand(2), Type::kB64));
  RETURN_IF_ERROR(d.Source(d.operand(3), Type::kB32));
  size_t at = 4;
  if (d.operand(at).kind == ptx::Operand::kVector) {
    const auto masks = Decoder::Elements(d.operand(at++));
    facts.mask_words = 4 * facts.group;
    if (masks.size() != facts.mask_words)
      return d.Malformed(absl::StrCat(facts.mask_words, " words that disable lanes"));
    for (const ptx::Operand* mask : masks) RETURN_IF_ERROR(d.Source(*mask, Type::kB32));
  }
  RETURN_IF_ERROR(d.Predicate(d.operand(at++)));
  if (at == d.operand_count()) return absl::OkStatus();
  if (d.operand(at).kind != ptx::Operand::kInteger || d.operand(at).bits > 15) return d.Malformed("a scale of 0 to 15");
  facts.scale = static_cast<int>(d.operand(at++).bits);
  return at == d.operand_count() ? absl::OkStatus() : d.Malformed("fewer operands");
}

}  // namespace

absl::Status DecodeMultiply(Decoder& d) {
  Facts facts;
  facts.group = CtaGroup(d);
  if (facts.group == 0 || !ParseKind(d, facts.kind) || d.Has("ws") || d.Has("sp") || d.Has("ashift") ||
      d.Has("block_scale")) {
    return d.Lacks();
  }
  RETURN_IF_ERROR(d.NeedOperands(5, 7));
  RETURN_IF_ERROR(DecodeOperands(d, facts));
  d.Attach(facts);
  return d.Set(Multiply);
}

}  // namespace sassay::emulator
