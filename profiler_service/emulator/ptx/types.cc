#include "profiler_service/emulator/ptx/types.h"

#include <array>
#include <utility>

namespace sassay::emulator {
namespace {

struct TypeRow {
  absl::string_view name;
  Type type;
  uint32_t bytes;
};

constexpr TypeRow kTypes[] = {
    {"pred", Type::kPred, 1},     {"b8", Type::kB8, 1},       {"u8", Type::kU8, 1},       {"s8", Type::kS8, 1},
    {"e4m3", Type::kE4m3, 1},     {"e5m2", Type::kE5m2, 1},   {"b16", Type::kB16, 2},     {"u16", Type::kU16, 2},
    {"s16", Type::kS16, 2},       {"f16", Type::kF16, 2},     {"bf16", Type::kBf16, 2},   {"e4m3x2", Type::kE4m3x2, 2},
    {"e5m2x2", Type::kE5m2x2, 2}, {"b32", Type::kB32, 4},     {"u32", Type::kU32, 4},     {"s32", Type::kS32, 4},
    {"f32", Type::kF32, 4},       {"tf32", Type::kTf32, 4},   {"f16x2", Type::kF16x2, 4}, {"bf16x2", Type::kBf16x2, 4},
    {"u16x2", Type::kU16x2, 4},   {"s16x2", Type::kS16x2, 4}, {"b64", Type::kB64, 8},     {"u64", Type::kU64, 8},
    {"s64", Type::kS64, 8},       {"f64", Type::kF64, 8},     {"b128", Type::kB128, 16},
};

}  // namespace

Type ParseType(absl::string_view text) {
  if (!text.empty() && text[0] == '.') text.remove_prefix(1);
  for (const TypeRow& row : kTypes) {
    if (row.name == text) return row.type;
  }
  return Type::kNone;
}

uint32_t SizeOf(Type type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.bytes;
  }
  return 0;
}

bool IsSigned(Type type) {
  return type == Type::kS8 || type == Type::kS16 || type == Type::kS32 || type == Type::kS64 || type == Type::kS16x2;
}

bool IsFloat(Type type) {
  switch (type) {
    case Type::kF16:
    case Type::kBf16:
    case Type::kF32:
    case Type::kTf32:
    case Type::kF64:
    case Type::kF16x2:
    case Type::kBf16x2:
      return true;
    default:
      return false;
  }
}

}  // namespace sassay::emulator
