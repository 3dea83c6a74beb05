// Products of matrices by a warp, and the instructions that bring tiles into registers. Elements are small whole
// numbers and halves, so that every sum is exact whatever its order.
#include <bit>

#include "profiler_service/emulator/differential/draft.h"

namespace sassay::emulator {
namespace {

struct Product {
  const char* opcode;  // without the types of a and b, which follow
  const char* element;
  int d, a, b;           // registers
  const char *in, *out;  // flavours of the registers: "i32" or "f64"
};

constexpr Product kProducts[] = {
    {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "f16", 4, 2, 1, "i32", "i32"},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "f16", 4, 4, 2, "i32", "i32"},
    {"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", "f16", 2, 2, 1, "i32", "h2"},
    {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "f16", 2, 4, 2, "i32", "h2"},
    {"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "bf16", 4, 2, 1, "i32", "i32"},
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "bf16", 4, 4, 2, "i32", "i32"},
    {"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "tf32", 4, 2, 1, "i32", "i32"},
    {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "tf32", 4, 4, 2, "i32", "i32"},
    {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "e4m3", 4, 4, 2, "i32", "i32"},
    {"mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", "e5m2", 4, 4, 2, "i32", "i32"},
    {"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", "bits", 2, 1, 1, "i32", "i32"},
    {"mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32", "bits", 4, 2, 1, "i32", "i32"},
    {"mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", "bits", 4, 4, 2, "i32", "i32"},
    {"mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32", "bits", 4, 4, 2, "i32", "i32"},
    {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "f64", 2, 1, 1, "f64", "f64"},
    {"mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", "f64", 4, 2, 1, "f64", "f64"},
    {"mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", "f64", 4, 4, 2, "f64", "f64"},
    {"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", "f64", 4, 8, 4, "f64", "f64"},
};

// A whole number of halves between -4 and 4 in the format `element`, packed into 32 bits.
uint64_t Elements(std::string_view element, Random& random) {
  uint64_t bits = 0;
  auto value = [&] { return static_cast<float>(static_cast<int>(random.Below(17)) - 8) / 2; };
  if (element == "bits") return random.Bits() & 0xffffffff;
  if (element == "tf32") return std::bit_cast<uint32_t>(value());
  if (element == "bf16") {
    for (int i = 0; i < 2; ++i) bits = bits << 16 | std::bit_cast<uint32_t>(value()) >> 16;
    return bits;
  }
  // -2 -1 -0.5 0 0.5 1 1.5 2, by their bits.
  static constexpr uint64_t kHalf[] = {0xc000, 0xbc00, 0xb800, 0, 0x3800, 0x3c00, 0x3e00, 0x4000};
  static constexpr uint64_t kE4m3[] = {0xc0, 0xb8, 0xb0, 0, 0x30, 0x38, 0x3c, 0x40};
  static constexpr uint64_t kE5m2[] = {0xc0, 0xbc, 0xb8, 0, 0x38, 0x3c, 0x3e, 0x40};
  if (element == "f16") {
    for (int i = 0; i < 2; ++i) bits = bits << 16 | random.Of(kHalf);
    return bits;
  }
  for (int i = 0; i < 4; ++i) bits = bits << 8 | (element == "e4m3" ? random.Of(kE4m3) : random.Of(kE5m2));
  return bits;
}

// A register whose value in each lane is drawn here: constants by lane, from a table in constant memory.
class Matrices {
 public:
  explicit Matrices(uint64_t seed) : draft_(seed, "matrix", 32) {}

  Case Draw() {
    draft_.Declare(".shared .align 16 .b8 s[1024]; .reg .b32 %s, %x, %y; .reg .b64 %e, %f;");
    draft_.Add("mov.u32 %s, s;");
    for (int i = 0; i < 3; ++i) {
      if (random().OneIn(3)) {
        Tiles();
      } else {
        Multiply(random().Of(kProducts));
      }
    }
    return std::move(draft_).Finish();
  }

 private:
  Random& random() { return draft_.random(); }

  std::string Constants(std::string_view element, bool wide) {
    const std::string table = "t" + std::to_string(tables_++) + draft_.kernel(),
                      name = draft_.Register(wide ? "i64" : "i32");
    std::string list;
    for (uint32_t t = 0; t < 32; ++t) {
      const uint64_t bits =
          wide ? std::bit_cast<uint64_t>(static_cast<double>(random().Below(17)) - 8) : Elements(element, random());
      list += (t > 0 ? "," : "") + std::to_string(bits);
    }
    const std::string type = wide ? "b64" : "b32", size = wide ? "8" : "4";
    draft_.Before(".const ." + type + " " + table + "[32] = {" + list + "};");
    draft_.Add("mov.u64 %e, " + table + ";\nmul.wide.u32 %f, %tx, " + size + ";\nadd.u64 %e, %e, %f;\nld.const." +
               type + " " + name + ", [%e];");
    return name;
  }
  std::string Vector(int count, std::string_view element, bool wide) {
    std::string list;
    for (int i = 0; i < count; ++i) {
      const std::string name = Constants(element, wide);
      list += (i > 0 ? ", " : "{") + name;
    }
    return list + "}";
  }

  void Multiply(const Product& product) {
    const bool wide = product.in == std::string_view("f64");
    const std::string_view sum = wide                                          ? "f64"
                                 : product.out == std::string_view("h2")       ? "f16"
                                 : product.element == std::string_view("bits") ? "bits"
                                                                               : "tf32";
    const std::string a = Vector(product.a, product.element, wide), b = Vector(product.b, product.element, wide);
    const std::string c = Vector(product.d, sum, wide);
    std::vector<std::string> results;
    std::string list;
    for (int i = 0; i < product.d; ++i) {
      results.push_back(draft_.Register(product.out));
      list += (i > 0 ? ", " : "{") + results.back();
    }
    const std::string text = std::string(product.opcode) + " " + list + "}, " + a + ", " + b + ", " + c + ";";
    draft_.Add(text);
    for (const std::string& result : results) draft_.Keep(product.out, result, text, false);
  }

  void Tiles() {
    const std::string x = draft_.Source("i32"), y = draft_.Source("i32"), z = draft_.Source("i32"),
                      w = draft_.Source("i32");
    draft_.Add("bar.warp.sync -1;\nmad.lo.u32 %x, %tx, 16, %s;\nst.shared.v4.b32 [%x], {" + x + ", " + y + ", " + z +
               ", " + w + "};\nbar.warp.sync -1;");
    const int count = 1 << random().Below(3);
    const std::string trans = random().OneIn(2) ? ".trans" : "", x_count = ".x" + std::to_string(count);
    // Each lane gives the row of another lane.
    const size_t odd = 2 * random().Below(16) + 1, shift = random().Below(32);
    draft_.Add("mad.lo.u32 %y, %tx, " + std::to_string(odd) + ", " + std::to_string(shift) +
               ";\nand.b32 %y, %y, 31;\nmad.lo.u32 %y, %y, 16, %s;");
    std::vector<std::string> results;
    std::string list;
    for (int i = 0; i < count; ++i) {
      results.push_back(draft_.Register("i32"));
      list += (i > 0 ? ", " : "{") + results.back();
    }
    const std::string load = "ldmatrix.sync.aligned.m8n8" + x_count + trans + ".shared.b16 " + list + "}, [%y];";
    draft_.Add(load);
    for (const std::string& result : results) draft_.Keep("i32", result, load);
    const std::string back = random().OneIn(2) ? ".trans" : "";
    const std::string store = "stmatrix.sync.aligned.m8n8" + x_count + back + ".shared.b16 [%y], " + list + "};";
    const std::string value = draft_.Register("i32"), other = draft_.Register("i32");
    draft_.Add("bar.warp.sync -1;\n" + store + "\nbar.warp.sync -1;\nld.shared.b32 " + value +
               ", [%x+4];\nld.shared.b32 " + other + ", [%x+8];");
    draft_.Keep("i32", value, store);
    draft_.Keep("i32", other, store);
  }

  Draft draft_;
  int tables_ = 0;
};

}  // namespace

Case DrawMatrix(uint64_t seed) { return Matrices(seed).Draw(); }

}  // namespace sassay::emulator
