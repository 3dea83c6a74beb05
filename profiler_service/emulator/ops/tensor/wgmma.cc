#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/descriptor/shared_matrix.h"
#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"
#include "profiler_service/emulator/ops/tensor/matrix.h"
#include "profiler_service/emulator/ops/tensor/product.h"
#include "profiler_service/emulator/ops/tensor/tile_layout.h"
#include "profiler_service/emulator/ops/tensor/wgmma_groups.h"

// wgmma.mma_async (PTX ISA 9.0, 9.7.15): four warps multiply 64 x K by K x N; each of them holds 16 rows of the result,
// and works them out by itself. Results are there at once (WgmmaGroups). Numerics: see product.h.
namespace sassay::emulator {
namespace {

constexpr uint32_t kRowsOfWarp = 16;
constexpr uint32_t kPiece = 16;  // bytes that lie together under any swizzle

struct Facts {
  uint32_t n = 0, k = 0;
  Type d = Type::kF32, a = Type::kF16, b = Type::kF16;
  uint32_t d_registers = 0;
  bool a_in_registers = false;
  bool negate_a = false, negate_b = false;
  bool a_mn_major = false, b_mn_major = false;
  bool saturate = false;
  uint32_t bytes() const { return static_cast<uint32_t>(MatrixElementBits(a)) / 8; }
};

// One warp's share of one instruction.
class Multiplication {
 public:
  Multiplication(Warp& warp, const Inst& inst, const Facts& facts)
      : warp_(warp), inst_(inst), facts_(facts), sources_(inst.o + inst.destinations) {}

  // False: the launch has ended.
  bool Run();

 private:
  const Operand& b_descriptor() const { return sources_[facts_.a_in_registers ? 4 : 1]; }
  const Operand& scale_d() const { return sources_[facts_.a_in_registers ? 5 : 2]; }
  uint64_t Uniform(const Operand& operand) const { return warp_.Lane(operand, std::countr_zero(warp_.mask())); }
  bool ReadB();
  bool ReadShared(char name, uint64_t descriptor, bool mn_major, uint32_t first, uint32_t count, bool negate,
                  float* floats, int32_t* exponents, int32_t* integers, uint32_t mn_stride, uint32_t k_stride);
  const uint8_t* Piece(uint32_t address);
  void ReadRegisters();
  void LoadAccumulators();
  void StoreAccumulators();
  void NoteRegisters();

  Warp& warp_;
  const Inst& inst_;
  const Facts& facts_;
  const Operand* sources_;
  TensorProduct& product_ = TensorProduct::OfThread();
  WgmmaGroups* groups_ = nullptr;  // checked launches
  bool notes_ = true;              // of the operand at hand: what all four warps read one of them notes
  std::vector<uint32_t> pieces_;   // checked launches: what the operand at hand is read from
};

const uint8_t* Multiplication::Piece(uint32_t address) {
  SharedMemory& shared = warp_.block().shared();
  const uint32_t offset = address - kSharedBase;
  if (address >= kSharedBase && offset + kPiece <= shared.size()) {
    if (groups_ != nullptr && notes_) groups_->NoteRead(warp_, inst_, offset), pieces_.push_back(offset);
    return shared.data() + offset;
  }
  static constexpr uint8_t kZeros[kPiece] = {};
  constexpr auto kCode = sassay::v1::VERDICT_CODE_OOB_SHARED;
  const std::string message = absl::StrCat("wgmma's descriptor leads to shared address 0x", absl::Hex(address),
                                           ", outside of the block's ", shared.size(), " bytes");
  if (!warp_.checked()) {
    warp_.Fault(kCode, inst_, message, 0);
    return nullptr;
  }
  if (warp_.launch().report.Wants(kCode, inst_.id, warp_.block().index())) {
    Misuse misuse;
    misuse.code = kCode;
    misuse.buffer = "shared";
    misuse.where = warp_.PlaceOf(inst_, 0);
    misuse.message = message;
    warp_.launch().report.Add(std::move(misuse));
  }
  return kZeros;
}

// Rows [first, first + count) along M or N of a matrix in shared memory; element (mn, k) goes to
// [mn * mn_stride + k * k_stride].
bool Multiplication::ReadShared(char name, uint64_t descriptor, bool mn_major, uint32_t first, uint32_t count,
                                bool negate, float* floats, int32_t* exponents, int32_t* integers, uint32_t mn_stride,
                                uint32_t k_stride) {
  const auto matrix = DecodeWgmmaDescriptor(descriptor, mn_major);
  if (!matrix.ok()) {
    warp_.Fault(sassay::v1::VERDICT_CODE_DESCRIPTOR_INVALID, inst_, std::string(matrix.status().message()), 0);
    return false;
  }
  const uint32_t per_piece = kPiece / facts_.bytes();
  const uint32_t mn_step = mn_major ? per_piece : 1, k_step = mn_major ? 1 : per_piece;
  const uint32_t stride = mn_major ? mn_stride : k_stride;
  for (uint32_t mn = 0; mn < count; mn += mn_step) {
    for (uint32_t k = 0; k < facts_.k; k += k_step) {
      const uint8_t* piece = Piece(matrix->Address(first + mn, k, facts_.bytes()));
      if (piece == nullptr) return false;
      const uint32_t at = mn * mn_stride + k * k_stride;
      product_.Convert(facts_.a, piece, per_piece, negate, floats == nullptr ? nullptr : floats + at,
                       exponents == nullptr ? nullptr : exponents + at, integers == nullptr ? nullptr : integers + at,
                       stride);
    }
  }
  if (groups_ != nullptr) {
    CheckTileLayout(warp_, inst_, 0, warp_.block(), pieces_, matrix->swizzle, std::string(1, name));
  }
  pieces_.clear();
  return true;
}

// B of floats: its pieces are looked at before they are converted (TensorProduct::SetB).
bool Multiplication::ReadB() {
  const auto matrix = DecodeWgmmaDescriptor(Uniform(b_descriptor()), facts_.b_mn_major);
  if (!matrix.ok()) {
    warp_.Fault(sassay::v1::VERDICT_CODE_DESCRIPTOR_INVALID, inst_, std::string(matrix.status().message()), 0);
    return false;
  }
  alignas(64) uint8_t pieces[TensorProduct::kOperandBytes];
  uint8_t* next = pieces;
  const uint32_t per_piece = kPiece / facts_.bytes();
  const uint32_t n_step = facts_.b_mn_major ? per_piece : 1, k_step = facts_.b_mn_major ? 1 : per_piece;
  for (uint32_t n = 0; n < facts_.n; n += n_step) {
    for (uint32_t k = 0; k < facts_.k; k += k_step, next += kPiece) {
      const uint8_t* piece = Piece(matrix->Address(n, k, facts_.bytes()));
      if (piece == nullptr) return false;
      std::memcpy(next, piece, kPiece);
    }
  }
  product_.SetB({facts_.b, facts_.n, facts_.k, facts_.b_mn_major, facts_.negate_b}, pieces);
  if (groups_ != nullptr) CheckTileLayout(warp_, inst_, 0, warp_.block(), pieces_, matrix->swizzle, "B");
  pieces_.clear();
  return true;
}

void Multiplication::ReadRegisters() {
  const int per = 32 / MatrixElementBits(facts_.a);
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int reg = 0; reg < 4; ++reg) {
      const uint32_t bits = warp_.In<uint32_t>(sources_[reg])[lane];
      for (int element = 0; element < per; ++element) {
        const Position at = PositionA(lane, reg, element, per);
        const double value = MatrixElement(bits, facts_.a, element) * (facts_.negate_a ? -1 : 1);
        product_.SetA(facts_.a, static_cast<uint32_t>(at.row), static_cast<uint32_t>(at.column), value);
      }
    }
  }
}

// Register and half of it that hold element `i` of a lane (of f16 two share one).
void Multiplication::LoadAccumulators() {
  const bool adds = (warp_.PredicateIn(scale_d()) >> std::countr_zero(warp_.mask()) & 1) != 0;
  if (!adds) return product_.Clear(facts_.n, facts_.d == Type::kS32);
  if (facts_.d == Type::kF32) {
    for (uint32_t column = 0; column < facts_.n; column += 8) {
      const Operand* o = inst_.o + column / 2;
      product_.LoadSums(column, {warp_.In<uint32_t>(o[0]), warp_.In<uint32_t>(o[1]), warp_.In<uint32_t>(o[2]),
                                 warp_.In<uint32_t>(o[3])});
    }
    return;
  }
  for (uint32_t i = 0; i < facts_.n / 2; ++i) {
    const uint32_t* bits = warp_.In<uint32_t>(inst_.o[facts_.d == Type::kF16 ? i / 2 : i]);
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint32_t row = static_cast<uint32_t>(lane) / 4 + 8 * (i / 2 % 2);
      const uint32_t column = i / 4 * 8 + static_cast<uint32_t>(lane) % 4 * 2 + i % 2;
      if (facts_.d == Type::kS32) {
        product_.integer_sums[row][column] = static_cast<int32_t>(bits[lane]);
      } else {
        product_.sums[row][column] = HalfToFloat(static_cast<uint16_t>(bits[lane] >> (16 * (i % 2))));
      }
    }
  }
}

void Multiplication::StoreAccumulators() {
  if (facts_.d == Type::kF32) {
    for (uint32_t column = 0; column < facts_.n; column += 8) {
      const Operand* o = inst_.o + column / 2;
      product_.StoreSums(column, {warp_.Out<uint32_t>(o[0]), warp_.Out<uint32_t>(o[1]), warp_.Out<uint32_t>(o[2]),
                                  warp_.Out<uint32_t>(o[3])});
    }
    return;
  }
  for (uint32_t i = 0; i < facts_.n / 2; ++i) {
    uint32_t* bits = warp_.Out<uint32_t>(inst_.o[facts_.d == Type::kF16 ? i / 2 : i]);
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint32_t row = static_cast<uint32_t>(lane) / 4 + 8 * (i / 2 % 2);
      const uint32_t column = i / 4 * 8 + static_cast<uint32_t>(lane) % 4 * 2 + i % 2;
      if (facts_.d == Type::kS32) {
        bits[lane] = static_cast<uint32_t>(product_.integer_sums[row][column]);
      } else {
        const uint32_t half = FloatToHalf(product_.sums[row][column]);
        bits[lane] = i % 2 == 0 ? (bits[lane] & 0xffff0000) | half : (bits[lane] & 0xffff) | half << 16;
      }
    }
  }
}

void Multiplication::NoteRegisters() {
  const uint32_t group = groups_->Open(warp_);
  for (int i = 0; i < inst_.destinations; ++i) {
    warp_.BeginRegister(inst_.o[i], AsyncUnit::kWgmma, group, inst_, true);
  }
  for (int i = 0; i < 4 && facts_.a_in_registers; ++i) {
    warp_.BeginRegister(sources_[i], AsyncUnit::kWgmma, group, inst_, false);
  }
}

bool Multiplication::Run() {
  if (warp_.checked()) groups_ = &warp_.block().Extension<WgmmaGroups>();
  if (groups_ != nullptr) groups_->CheckFence(warp_, inst_);
  const bool integer = facts_.d == Type::kS32;
  const uint32_t first_row = warp_.index() % 4 * kRowsOfWarp;
  if (facts_.a_in_registers) {
    ReadRegisters();
  } else if (!ReadShared('A', Uniform(sources_[0]), facts_.a_mn_major, first_row, kRowsOfWarp, facts_.negate_a,
                         integer ? nullptr : &product_.a[0][0], integer ? nullptr : &product_.a_exponents[0][0],
                         integer ? &product_.integer_a[0][0] : nullptr, TensorProduct::kMostK, 1)) {
    return false;
  }
  notes_ = groups_ != nullptr && groups_->AsksFirst(warp_);
  if (!integer) {
    if (!ReadB()) return false;
  } else if (!ReadShared('B', Uniform(b_descriptor()), facts_.b_mn_major, 0, facts_.n, facts_.negate_b, nullptr,
                         nullptr, &product_.integer_b[0][0], 1, TensorProduct::kMostN)) {
    return false;
  }
  LoadAccumulators();
  if (integer) {
    product_.MultiplyIntegers(facts_.n, facts_.k, facts_.saturate);
  } else {
    product_.Multiply(facts_.n, facts_.k, WgmmaRules(facts_.a, facts_.d));
  }
  StoreAccumulators();
  if (groups_ != nullptr) NoteRegisters();
  return true;
}

Flow Multiply(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  return Multiplication(warp, inst, facts).Run() ? Flow::kNext : Flow::kRedirected;
}

Flow Fence(Warp& warp, const Inst&) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  if (warp.checked()) warp.block().Extension<WgmmaGroups>().Fence(warp);
  return Flow::kNext;
}

Flow Commit(Warp& warp, const Inst&) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  warp.block().Extension<WgmmaGroups>().Commit(warp);
  return Flow::kNext;
}

Flow Wait(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  return warp.block().Extension<WgmmaGroups>().Wait(warp, inst.a) ? Flow::kNext : warp.WaitForUnit();
}

// ---- decoding ----

// "m64n128k16"
bool ParseShape(const Decoder& d, Facts& facts) {
  for (absl::string_view part : d.source().parts) {
    if (part.substr(0, 4) != "m64n") continue;
    const size_t k = part.find('k');
    return k != absl::string_view::npos && absl::SimpleAtoi(part.substr(4, k - 4), &facts.n) &&
           absl::SimpleAtoi(part.substr(k + 1), &facts.k) && facts.n >= 8 && facts.n <= TensorProduct::kMostN &&
           facts.n % 8 == 0;
  }
  return false;
}

bool KnownTypes(const Facts& facts) {
  const uint32_t k_bytes = facts.k * facts.bytes();
  if (MatrixElementBits(facts.a) == 0 || k_bytes != 32) return false;
  switch (facts.a) {
    case Type::kF16:
      return facts.b == facts.a && (facts.d == Type::kF32 || facts.d == Type::kF16);
    case Type::kBf16:
    case Type::kTf32:
      return facts.b == facts.a && facts.d == Type::kF32;
    case Type::kE4m3:
    case Type::kE5m2:
      return (facts.b == Type::kE4m3 || facts.b == Type::kE5m2) && (facts.d == Type::kF32 || facts.d == Type::kF16);
    default:
      return facts.b == facts.a && facts.d == Type::kS32;
  }
}

absl::StatusOr<bool> Negates(Decoder& d, size_t index) {
  const ptx::Operand& operand = d.operand(index);
  const int64_t value = static_cast<int64_t>(operand.bits);
  if (operand.kind != ptx::Operand::kInteger || (value != 1 && value != -1)) return d.Malformed("scales of 1 or -1");
  return value == -1;
}

absl::StatusOr<bool> Transposes(Decoder& d, size_t index) {
  const ptx::Operand& operand = d.operand(index);
  if (operand.kind != ptx::Operand::kInteger || operand.bits > 1) return d.Malformed("transpositions of 0 or 1");
  return operand.bits == 1;
}

// What follows scale-d: scales of floats, transpositions of 16-bit elements.
absl::Status ParseModifiers(Decoder& d, size_t at, Facts& facts) {
  if (facts.d == Type::kS32) return d.NeedOperands(at, at);
  const bool transposes = facts.bytes() == 2;
  const size_t all = at + 2 + (!transposes ? 0 : facts.a_in_registers ? 1 : 2);
  RETURN_IF_ERROR(d.NeedOperands(all, all));
  ASSIGN_OR_RETURN(facts.negate_a, Negates(d, at));
  ASSIGN_OR_RETURN(facts.negate_b, Negates(d, at + 1));
  if (!transposes) return absl::OkStatus();
  if (!facts.a_in_registers) {
    ASSIGN_OR_RETURN(facts.a_mn_major, Transposes(d, at + 2));
  }
  ASSIGN_OR_RETURN(facts.b_mn_major, Transposes(d, all - 1));
  return absl::OkStatus();
}

absl::Status DecodeMultiply(Decoder& d) {
  Facts facts;
  if (d.Has("sp") || d.types().size() != 3 || !ParseShape(d, facts)) return d.Lacks();
  facts.d = d.type(0);
  facts.a = d.type(1);
  facts.b = d.type(2);
  facts.saturate = d.Has("satfinite");
  if (!KnownTypes(facts)) return d.Lacks();
  RETURN_IF_ERROR(d.NeedOperands(4, 8));
  const auto accumulators = Decoder::Elements(d.operand(0));
  facts.d_registers = facts.n / (facts.d == Type::kF16 ? 4 : 2);
  if (accumulators.size() != facts.d_registers) {
    return d.Malformed(absl::StrCat(facts.d_registers, " registers of results"));
  }
  for (const ptx::Operand* accumulator : accumulators) RETURN_IF_ERROR(d.Destination(*accumulator, 4));
  facts.a_in_registers = d.operand(1).kind == ptx::Operand::kVector;
  const auto a = Decoder::Elements(d.operand(1));
  if (facts.a_in_registers && a.size() != 4) return d.Malformed("four registers of the first factor");
  for (const ptx::Operand* element : a)
    RETURN_IF_ERROR(d.Source(*element, facts.a_in_registers ? Type::kB32 : Type::kB64));
  RETURN_IF_ERROR(d.Source(d.operand(2), Type::kB64));
  RETURN_IF_ERROR(d.Predicate(d.operand(3)));
  RETURN_IF_ERROR(ParseModifiers(d, 4, facts));
  d.Attach(facts);
  return d.Set(Multiply, kSync | kTaintStops | kRegistersOwn);
}

absl::Status DecodeWgmma(Decoder& d) {
  if (d.Part(1) == "mma_async") return DecodeMultiply(d);
  if (d.Part(1) == "fence") return d.Set(Fence, kSync);
  if (d.Part(1) == "commit_group") return d.Set(Commit, kSync);
  if (d.Part(1) != "wait_group") return d.Lacks();
  if (d.operand(0).kind != ptx::Operand::kInteger) return d.Malformed("a constant");
  d.inst().a = static_cast<uint32_t>(d.operand(0).bits & 0xffff);
  return d.Set(Wait, kSync);
}

}  // namespace

void RegisterWgmma(OpTable& table) { table.Add("wgmma", DecodeWgmma); }

}  // namespace sassay::emulator
