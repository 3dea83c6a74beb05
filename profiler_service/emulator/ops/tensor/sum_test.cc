// Sums that an H200 made, kept with their operands, against what the emulator makes of them: by the scalar rule, by the
// vectorised product of wgmma, and by the matrix product of mma.sync.
#include "profiler_service/emulator/ops/tensor/sum.h"

#include <bit>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "common/base/files.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/ops/tensor/matrix.h"
#include "profiler_service/emulator/ops/tensor/product.h"

namespace sassay::emulator {
namespace {

struct Kept {
  std::string name;
  Type type = Type::kNone;
  std::vector<float> a, b;
  std::string b_bytes;  // as shared memory holds them
  uint32_t before = 0, after = 0;
  bool of_wgmma() const { return name[0] == 'w'; }
  bool to_f16() const { return name[1] == 'h'; }
  float Accumulator() const {
    return to_f16() ? HalfToFloat(static_cast<uint16_t>(before)) : std::bit_cast<float>(before);
  }
  // A result's bits.
  uint32_t Bits(float sum) const {
    return to_f16() ? uint32_t{FloatToHalf(sum)} : std::bit_cast<uint32_t>(Canonical(sum));
  }
};

Type TypeOf(const std::string& name) {
  return name == "bf16"   ? Type::kBf16
         : name == "f16"  ? Type::kF16
         : name == "tf32" ? Type::kTf32
         : name == "e4m3" ? Type::kE4m3
                          : Type::kE5m2;
}

std::vector<float> Factors(const std::string& digits, Type type) {
  const size_t width = static_cast<size_t>(MatrixElementBits(type)) / 4;
  std::vector<float> values;
  for (size_t at = 0; at < digits.size(); at += width) {
    const auto bits = static_cast<uint32_t>(std::stoul(digits.substr(at, width), nullptr, 16));
    values.push_back(static_cast<float>(MatrixElement(bits, type, 0)));
  }
  return values;
}

std::string BytesOf(const std::string& digits, Type type) {
  const size_t width = static_cast<size_t>(MatrixElementBits(type)) / 4;
  std::string bytes;
  for (size_t at = 0; at < digits.size(); at += width) {
    const auto bits = static_cast<uint32_t>(std::stoul(digits.substr(at, width), nullptr, 16));
    bytes.append(reinterpret_cast<const char*>(&bits), width / 2);
  }
  return bytes;
}

std::vector<Kept> AllKept() {
  const auto text = ReadFile(std::string(SASSAY_SOURCE_DIR) + "/profiler_service/emulator/ops/tensor/h200_sums.txt");
  EXPECT_TRUE(text.ok()) << text.status();
  std::vector<Kept> all;
  std::istringstream lines(text.ok() ? *text : "");
  for (std::string line; std::getline(lines, line);) {
    if (line[0] == '#') continue;
    std::istringstream words(line);
    Kept kept;
    std::string type, a, b;
    size_t count = 0;
    words >> kept.name >> type >> count >> std::hex >> kept.before >> a >> b >> kept.after;
    kept.type = TypeOf(type);
    kept.a = Factors(a, kept.type);
    kept.b = Factors(b, kept.type);
    kept.b_bytes = BytesOf(b, kept.type);
    EXPECT_FALSE(words.fail()) << line;
    all.push_back(std::move(kept));
  }
  EXPECT_GE(all.size(), 600u);
  return all;
}

TEST(TensorSumTest, WgmmaAddsAsAnH200) {
  for (const Kept& kept : AllKept()) {
    if (!kept.of_wgmma()) continue;
    const SumRules rules = WgmmaRules(kept.type, kept.to_f16() ? Type::kF16 : Type::kF32);
    std::vector<int32_t> a, b;
    for (const float value : kept.a) a.push_back(TensorExponent(value, kept.type));
    for (const float value : kept.b) b.push_back(TensorExponent(value, kept.type));
    const auto count = static_cast<uint32_t>(a.size());
    const float sum =
        TensorSum(kept.Accumulator(), {kept.a.data(), a.data(), kept.b.data(), b.data(), 1, count}, rules);
    EXPECT_EQ(kept.Bits(sum), kept.after) << kept.name << " onto " << std::hex << kept.before;
  }
}

// The same through the loops that are made for vector registers: one row and one column of it, the others zeros.
TEST(TensorSumTest, TheVectorisedProductDoesTheSame) {
  TensorProduct& product = TensorProduct::OfThread();
  for (const Kept& kept : AllKept()) {
    if (!kept.of_wgmma()) continue;
    constexpr uint32_t kN = 72, kRow = 5, kColumn = 66;  // 64 columns at once, then eight
    const auto k = static_cast<uint32_t>(kept.a.size());
    for (uint32_t row = 0; row < TensorProduct::kRows; ++row) {
      for (uint32_t i = 0; i < k; ++i) product.SetA(kept.type, row, i, row == kRow ? kept.a[i] : 0);
    }
    const SumRules rules = WgmmaRules(kept.type, kept.to_f16() ? Type::kF16 : Type::kF32);
    for (const uint32_t column : {kColumn, uint32_t{3}}) {
      std::vector<uint8_t> pieces(size_t{kN} * 32);
      std::memcpy(&pieces[column * 32], kept.b_bytes.data(), kept.b_bytes.size());
      product.SetB({kept.type, kN, k, false, false}, pieces.data());
      product.Clear(kN, false);
      product.sums[kRow][column] = kept.Accumulator();
      product.Multiply(kN, k, rules);
      EXPECT_EQ(kept.Bits(product.sums[kRow][column]), kept.after) << kept.name << " onto " << std::hex << kept.before;
    }
  }
}

TEST(TensorSumTest, MmaSyncAddsAsAnH200) {
  const auto product = std::make_unique<MatrixProduct>();
  for (const Kept& kept : AllKept()) {
    if (kept.of_wgmma()) continue;
    product->m = product->n = 1;
    product->k = static_cast<int>(kept.a.size());
    product->factors = kept.type;
    product->to_f16 = kept.to_f16();
    for (size_t i = 0; i < kept.a.size(); ++i) product->a[0][i] = kept.a[i], product->b[i][0] = kept.b[i];
    product->c[0][0] = kept.Accumulator();
    product->Multiply();
    EXPECT_EQ(kept.Bits(static_cast<float>(product->c[0][0])), kept.after)
        << kept.name << " onto " << std::hex << kept.before;
  }
}

}  // namespace
}  // namespace sassay::emulator
