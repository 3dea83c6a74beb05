#include "profiler_service/emulator/descriptor/instruction.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sassay::emulator {
namespace {

uint32_t Bits(uint32_t word, int first, int count) { return word >> first & ((1u << count) - 1); }

template <class... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

std::optional<Element> ElementOf(uint32_t code, MmaKind kind) {
  constexpr Element kSmall[] = {Element::kE4m3, Element::kE5m2, Element::kE5m2,
                                Element::kE2m3, Element::kE3m2, Element::kE2m1};
  switch (kind) {
    case MmaKind::kF16:
      if (code <= 1) return code == 0 ? Element::kF16 : Element::kBf16;
      break;
    case MmaKind::kTf32:
      if (code == 2) return Element::kTf32;
      break;
    case MmaKind::kF8f6f4:
      if (code <= 5 && code != 2) return kSmall[code];
      break;
    case MmaKind::kI8:
      if (code <= 1) return code == 0 ? Element::kU8 : Element::kS8;
      break;
  }
  return std::nullopt;
}

std::optional<Accumulator> AccumulatorOf(uint32_t code, MmaKind kind) {
  if (kind == MmaKind::kI8) return code == 2 ? std::optional(Accumulator::kS32) : std::nullopt;
  if (code == 1) return Accumulator::kF32;
  return code == 0 && kind != MmaKind::kTf32 ? std::optional(Accumulator::kF16) : std::nullopt;
}

absl::Status CheckShape(const MmaShape& shape, MmaKind kind, uint32_t cta_group) {
  const uint32_t small = 64 * cta_group;
  if (shape.m != small && shape.m != 2 * small) {
    return Invalid("M is ", shape.m, "; with cta_group::", cta_group, " it is ", small, " or ", 2 * small);
  }
  uint32_t step = 8 * cta_group;
  if (kind == MmaKind::kI8) step = cta_group == 2 ? 32 : shape.n > 32 ? 16 : 8;
  if (shape.n == 0 || shape.n > 256 || shape.n % step != 0) {
    return Invalid("N is ", shape.n, "; it is a multiple of ", step, " up to 256");
  }
  if (ElementBytes(shape.b) == 1 && shape.b_mn_major && shape.n % (16 * cta_group) != 0) {
    return Invalid("N is ", shape.n, "; for a transposed B of 8-bit elements it is a multiple of ", 16 * cta_group);
  }
  return absl::OkStatus();
}

absl::Status CheckReserved(uint32_t word, MmaKind kind) {
  if (Bits(word, 6, 1) != 0 || Bits(word, 23, 1) != 0 || Bits(word, 29, 1) != 0) {
    return Invalid("one of the bits 6, 23 and 29 is set, which are reserved");
  }
  if (Bits(word, 30, 2) != 0) return Invalid("bits 30 and 31 (maximum shift) belong to tcgen05.mma.ws");
  if (kind != MmaKind::kI8 && Bits(word, 3, 1) != 0) return Invalid("bit 3 (saturate) belongs to kind::i8");
  if (kind == MmaKind::kI8 && Bits(word, 13, 2) != 0) return Invalid("bits 13 and 14 (negate) are not for kind::i8");
  return absl::OkStatus();
}

}  // namespace

absl::string_view KindName(MmaKind kind) {
  constexpr absl::string_view kNames[] = {"kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8"};
  return kNames[static_cast<int>(kind)];
}

uint32_t ElementBits(Element element) {
  switch (element) {
    case Element::kF16:
    case Element::kBf16:
      return 16;
    case Element::kTf32:
      return 32;
    case Element::kE2m3:
    case Element::kE3m2:
      return 6;
    case Element::kE2m1:
      return 4;
    default:
      return 8;
  }
}

uint32_t ElementBytes(Element element) { return (ElementBits(element) + 7) / 8; }

absl::StatusOr<MmaShape> DecodeInstruction(uint32_t word, MmaKind kind, uint32_t cta_group) {
  if (Bits(word, 2, 1) != 0) return absl::UnimplementedError("sparse products");
  RETURN_IF_ERROR(CheckReserved(word, kind));
  const auto d = AccumulatorOf(Bits(word, 4, 2), kind);
  const auto a = ElementOf(Bits(word, 7, 3), kind), b = ElementOf(Bits(word, 10, 3), kind);
  if (!d) return Invalid("bits 4 and 5 (type of D) are ", Bits(word, 4, 2), ", which ", KindName(kind), " lacks");
  if (!a) return Invalid("bits 7 to 9 (type of A) are ", Bits(word, 7, 3), ", which ", KindName(kind), " lacks");
  if (!b) return Invalid("bits 10 to 12 (type of B) are ", Bits(word, 10, 3), ", which ", KindName(kind), " lacks");
  MmaShape shape;
  shape.a = *a;
  shape.b = *b;
  shape.d = *d;
  shape.saturate = Bits(word, 3, 1) != 0;
  shape.negate_a = Bits(word, 13, 1) != 0;
  shape.negate_b = Bits(word, 14, 1) != 0;
  shape.a_mn_major = Bits(word, 15, 1) != 0;
  shape.b_mn_major = Bits(word, 16, 1) != 0;
  shape.n = Bits(word, 17, 6) << 3;
  shape.m = Bits(word, 24, 5) << 4;
  shape.ctas = cta_group;
  shape.k = 32 / ElementBytes(shape.a);
  if (kind == MmaKind::kF16 && shape.d == Accumulator::kF16 && (shape.a != Element::kF16 || shape.b != Element::kF16)) {
    return Invalid("D is f16, which wants A and B in f16");
  }
  RETURN_IF_ERROR(CheckShape(shape, kind, cta_group));
  return shape;
}

}  // namespace sassay::emulator
