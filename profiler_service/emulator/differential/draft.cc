// Whatever draws twice does so in two statements: the order inside of one is the compiler's.
#include "profiler_service/emulator/differential/draft.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace sassay::emulator {
namespace {

// A binary format: bits of the exponent and of the mantissa.
struct Shape {
  int exponent, mantissa;
};

// A number at an edge of its format, or anywhere.
uint64_t NumberValue(Shape shape, Random& random) {
  const int width = 1 + shape.exponent + shape.mantissa;
  const uint64_t sign = (random.Bits() & 1) << (width - 1), one = 1;
  const uint64_t mantissa = random.Bits() & ((one << shape.mantissa) - 1);
  const uint64_t top = (one << shape.exponent) - 1, bias = top >> 1;
  auto with = [&](uint64_t exponent, uint64_t fraction) { return sign | exponent << shape.mantissa | fraction; };
  switch (random.Below(20)) {
    case 0:
      return with(0, 0);
    case 1:
      return with(top, 0);  // infinity
    case 2:
      return with(top, mantissa | 1);  // no number
    case 3:
      return with(0, mantissa);  // subnormal
    case 4:
      return with(0, random.OneIn(2) ? 1 : (one << shape.mantissa) - 1);
    case 5: {
      const uint64_t exponent = random.OneIn(2) ? 1 : top - 1;
      return with(exponent, random.OneIn(2) ? 0 : (one << shape.mantissa) - 1);
    }
    case 6:
      return with(bias, 0);
    case 7: {  // n + 1/2
      const uint64_t exponent = random.Below(static_cast<size_t>(shape.mantissa > 6 ? 6 : shape.mantissa));
      const uint64_t half = one << (shape.mantissa - static_cast<int>(exponent) - 1);
      return with(bias + exponent, (mantissa & ~(2 * half - 1)) | half);
    }
    case 8:
    case 9:
    case 10:
      return random.Bits() & ((one << (width - 1)) | ((one << (width - 1)) - 1));
    default: {  // moderate: within a few binades of one, sometimes with few bits
      const uint64_t spread = random.Below(static_cast<size_t>(bias / 4 + 2));
      const uint64_t exponent = random.OneIn(2) ? bias + spread : bias - spread;
      return with(exponent, random.OneIn(3) ? mantissa >> (shape.mantissa / 2) << (shape.mantissa / 2) : mantissa);
    }
  }
}

uint64_t IntegerValue(int bits, Random& random) {
  const uint64_t one = 1, mask = bits == 64 ? ~uint64_t{0} : (one << bits) - 1;
  switch (random.Below(8)) {
    case 0:
      return (random.Below(17) - 8) & mask;
    case 1: {
      const uint64_t power = one << random.Below(static_cast<size_t>(bits));
      return (power + random.Below(3) - 1) & mask;
    }
    case 2: {
      const uint64_t most = random.OneIn(2) ? mask : mask >> 1;
      return most - random.Below(2);
    }
    case 3:
      return ((one << (bits - 1)) + random.Below(2)) & mask;
    default:
      return random.Bits() & mask;
  }
}

uint64_t FloatBits(double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }

constexpr Shape kF64{11, 52}, kF32{8, 23}, kF16{5, 10}, kBf16{8, 7};

}  // namespace

uint32_t BytesOf(std::string_view flavour) {
  if (flavour == "p") return 0;
  if (flavour == "i64" || flavour == "f64") return 8;
  if (flavour == "i16" || flavour == "f16" || flavour == "bf16" || flavour == "e4" || flavour == "e5") return 2;
  return 4;
}

uint64_t Value(std::string_view flavour, Random& random) {
  if (flavour == "i16" || flavour == "e4" || flavour == "e5") return IntegerValue(16, random);
  if (flavour == "i64") return IntegerValue(64, random);
  if (flavour == "f64") return NumberValue(kF64, random);
  if (flavour == "f32" || flavour == "tf32") return NumberValue(kF32, random);
  if (flavour == "f16") return NumberValue(kF16, random);
  if (flavour == "bf16") return NumberValue(kBf16, random);
  if (flavour == "h2" || flavour == "b2") {
    const uint64_t low = NumberValue(flavour == "h2" ? kF16 : kBf16, random);
    return NumberValue(flavour == "h2" ? kF16 : kBf16, random) << 16 | low;
  }
  if (flavour == "n32") return random.OneIn(8) ? random.Bits() & 0xffffffff : random.Below(72);
  if (flavour == "lane") return random.Below(32);
  if (flavour == "few" || flavour == "p") return random.Below(4);
  if (flavour == "off") return (random.Below(11) - 5) & 0xffffffff;
  if (flavour == "angle") return FloatBits((static_cast<double>(random.Below(1 << 24)) / (1 << 23) - 1) * 3.14159265);
  if (flavour == "moderate") {
    const double mantissa = 1 + static_cast<double>(random.Below(1 << 23)) / (1 << 23);
    const int exponent = static_cast<int>(random.Below(60)) - 30;
    return FloatBits(std::ldexp(random.OneIn(2) ? mantissa : -mantissa, exponent));
  }
  return IntegerValue(32, random);
}

Draft::Draft(uint64_t seed, std::string kind, uint32_t threads) : random_(seed) {
  case_.seed = seed;
  case_.kind = std::move(kind);
  case_.kernel = "k" + std::to_string(seed);
  case_.threads = threads;
}

std::string Draft::Register(std::string_view flavour) {
  const uint32_t bytes = BytesOf(flavour);
  const std::string prefix = bytes == 0 ? "%p" : bytes == 2 ? "%h" : bytes == 4 ? "%r" : "%d";
  return prefix + std::to_string(counts_[prefix]++);
}

void Draft::Add(std::string_view line) { body_ += std::string(line) + "\n"; }

std::string Draft::Input(std::string_view flavour) {
  const uint32_t bytes = BytesOf(flavour), words = bytes == 8 ? 2 : 1;
  const std::string name = Register(flavour);
  std::vector<uint64_t> values;
  for (uint32_t t = 0; t < case_.threads; ++t) values.push_back(Value(flavour, random_));
  std::string loaded[2];
  for (uint32_t w = 0; w < words; ++w) {
    for (const uint64_t value : values) case_.input.push_back(static_cast<uint32_t>(value >> (32 * w)));
    loaded[w] = words == 1 && bytes == 4 ? name : Register("i32");
    Add("ld.global.b32 " + loaded[w] + ", [%in+" + std::to_string(4 * case_.threads * input_words_++) + "];");
  }
  if (bytes == 0) Add("setp.ge.u32 " + name + ", " + loaded[0] + ", 2;");
  if (bytes == 2) Add("cvt.u16.u32 " + name + ", " + loaded[0] + ";");
  if (bytes == 8) Add("mov.b64 " + name + ", {" + loaded[0] + ", " + loaded[1] + "};");
  return name;
}

std::string Draft::Source(std::string_view flavour) {
  auto& pool = pools_[std::string(flavour)];
  const bool narrow = flavour != "i16" && flavour != "i32" && flavour != "i64" && flavour != "f32" &&
                      flavour != "f64" && flavour != "p" && flavour != "h2" && flavour != "b2" && flavour != "f16" &&
                      flavour != "bf16";
  if (pool.empty() || (pool.size() < 6 && random_.OneIn(3)) || (narrow && pool.size() < 2)) {
    pool.push_back(Input(flavour));
    return pool.back();
  }
  return pool[random_.Below(pool.size())];
}

Slot& Draft::Keep(std::string_view flavour, const std::string& name, std::string text, bool reuse) {
  const uint32_t bytes = BytesOf(flavour);
  std::string words[2] = {name, ""};
  if (bytes == 0) {
    words[0] = Register("i32");
    Add("selp.b32 " + words[0] + ", 1, 0, " + name + ";");
  } else if (bytes == 2) {
    // Not by cvt.u32.u16, which ptxas 13.0 leaves out behind set.f16 and set.bf16 though the upper half is not zero.
    words[0] = Register("i32");
    Add("mov.b32 " + words[0] + ", {" + name + ", %zero};");
  } else if (bytes == 8) {
    for (std::string& word : words) word = Register("i32");
    Add("mov.b64 {" + words[0] + ", " + words[1] + "}, " + name + ";");
  }
  Slot slot;
  slot.text = std::move(text);
  slot.words = bytes == 8 ? 2 : 1;
  slot.number = flavour == "f32"    ? Number::kFloat
                : flavour == "f64"  ? Number::kDouble
                : flavour == "f16"  ? Number::kHalf
                : flavour == "h2"   ? Number::kHalfPair
                : flavour == "bf16" ? Number::kBf16
                : flavour == "b2"   ? Number::kBf16Pair
                                    : Number::kBits;
  slot.any_nan = flavour == "f64";
  for (uint32_t w = 0; w < slot.words; ++w) {
    Add("st.global.b32 [%out+" + std::to_string(4 * case_.threads * output_words_++) + "], " + words[w] + ";");
  }
  case_.slots.push_back(std::move(slot));
  if (reuse) pools_[std::string(flavour)].push_back(name);
  return case_.slots.back();
}

Case Draft::Finish() && {
  std::string registers;
  for (const auto& [prefix, count] : counts_) {
    const std::string type = prefix == "%p" ? "pred" : prefix == "%h" ? "b16" : prefix == "%r" ? "b32" : "b64";
    registers += ".reg ." + type + " " + prefix + "<" + std::to_string(count) + ">;\n";
  }
  case_.ptx = before_ + ".visible .entry " + case_.kernel + "(.param .u64 input, .param .u64 output)\n.maxntid " +
              std::to_string(case_.threads) + ", 1, 1\n{\n.reg .b64 %in, %out;\n.reg .b32 %tx;\n.reg .b16 %zero;\n" +
              registers + declarations_ +
              "mov.b16 %zero, 0;\nmov.u32 %tx, %tid.x;\nld.param.u64 %in, [input];\nld.param.u64 %out, [output];\n"
              "mad.wide.u32 %in, %tx, 4, %in;\nmad.wide.u32 %out, %tx, 4, %out;\n" +
              body_ + "ret;\n}\n";
  return std::move(case_);
}

}  // namespace sassay::emulator
