// Loads, stores and atomics: every width, every space, addresses that depend on the thread. Nothing depends on which
// thread comes first.
#include "profiler_service/emulator/differential/draft.h"

namespace sassay::emulator {
namespace {

constexpr uint32_t kThreads = 64, kCell = 16;  // bytes of shared memory that a thread owns

class Memory {
 public:
  explicit Memory(uint64_t seed) : draft_(seed, "memory", kThreads) {}

  Case Draw() {
    draft_.Declare(".shared .align 16 .b8 s[" + std::to_string(kThreads * kCell) + "];");
    draft_.Declare(".reg .b64 %s64, %l64; .reg .b32 %s, %x, %y, %z, %w, %o<4>; .reg .b64 %e<2>; .reg .b16 %q<2>;");
    draft_.Declare(".local .align 16 .b8 l[64];");
    draft_.Add("mov.u32 %s, s;\ncvta.shared.u64 %s64, 0;\nmov.u64 %s64, s;\ncvta.shared.u64 %s64, %s64;");
    draft_.Add("mov.u64 %l64, l;");
    const size_t rounds = 3 + random().Below(4);
    for (size_t i = 0; i < rounds; ++i) {
      switch (random().Below(6)) {
        case 0:
        case 1:
          Exchange();
          break;
        case 2:
          OwnCell();
          break;
        case 3:
          Together();
          break;
        case 4:
          Private();
          break;
        default:
          AsyncCopy();
          break;
      }
      draft_.Add("bar.sync 0;");
    }
    return std::move(draft_).Finish();
  }

 private:
  Random& random() { return draft_.random(); }

  // %x: the address of the cell of thread (odd * tid + shift) mod 64, which is a permutation.
  void Cell(const std::string& into) {
    const size_t odd = 2 * random().Below(32) + 1, shift = random().Below(kThreads);
    draft_.Add("mad.lo.u32 " + into + ", %tx, " + std::to_string(odd) + ", " + std::to_string(shift) + ";\nand.b32 " +
               into + ", " + into + ", 63;\nmad.lo.u32 " + into + ", " + into + ", 16, %s;");
  }
  void Fill() {
    Cell("%x");
    std::string values;
    for (int i = 0; i < 4; ++i) {
      const std::string value = draft_.Source("i32");
      values += (i > 0 ? ", " : "") + value;
    }
    draft_.Add("st.shared.v4.b32 [%x], {" + values + "};\nbar.sync 0;");
  }

  // Loads of any width and sign from one's own or another's cell.
  void Exchange() {
    Fill();
    if (random().OneIn(2)) Narrow();
    Cell("%y");
    const bool generic = random().OneIn(3);
    if (generic) draft_.Add("sub.u32 %z, %y, %s;\ncvt.u64.u32 %e0, %z;\nadd.u64 %e0, %s64, %e0;");
    const std::string base = generic ? "%e0" : "%y", space = generic             ? ""
                                                             : random().OneIn(4) ? ".volatile.shared"
                                                                                 : ".shared";
    static constexpr struct {
      const char *type, *flavour;
      int bytes;
    } kTypes[] = {{"u8", "i32", 1},  {"s8", "i32", 1},  {"b8", "i16", 1},  {"u16", "i16", 2}, {"s16", "i32", 2},
                  {"b16", "i16", 2}, {"b32", "i32", 4}, {"s32", "i64", 4}, {"u32", "i64", 4}, {"b64", "i64", 8}};
    const size_t count = 2 + random().Below(3);
    for (size_t i = 0; i < count; ++i) {
      const auto& type = random().Of(kTypes);
      const std::string at = std::to_string(type.bytes * static_cast<int>(random().Below(kCell / type.bytes)));
      const std::string value = draft_.Register(type.flavour);
      const std::string text = "ld" + space + "." + type.type + " " + value + ", [" + base + "+" + at + "];";
      draft_.Add(text);
      draft_.Keep(type.flavour, value, text);
    }
    static constexpr struct {
      const char *type, *flavour;
      int count;
    } kVectors[] = {{"v2.b32", "i32", 2}, {"v4.b32", "i32", 4}, {"v2.b64", "i64", 2}, {"v4.u8", "i32", 4},
                    {"v2.s16", "i32", 2}, {"v4.u16", "i16", 4}, {"v2.u8", "i16", 2}};
    const auto& vector = random().Of(kVectors);
    std::vector<std::string> elements;
    std::string list;
    for (int i = 0; i < vector.count; ++i) {
      elements.push_back(draft_.Register(vector.flavour));
      list += (i > 0 ? ", " : "") + elements.back();
    }
    const std::string text = "ld" + space + "." + vector.type + " {" + list + "}, [" + base + "];";
    draft_.Add(text);
    for (const std::string& element : elements) draft_.Keep(vector.flavour, element, text);
  }

  // A narrow store into one's own cell, between two barriers.
  void Narrow() {
    static constexpr struct {
      const char *type, *flavour;
      int bytes;
    } kTypes[] = {{"b8", "i32", 1},  {"u8", "i16", 1},  {"b16", "i16", 2}, {"s16", "i32", 2},
                  {"b32", "i32", 4}, {"u32", "i64", 4}, {"b64", "i64", 8}};
    const auto& type = random().Of(kTypes);
    const std::string value = draft_.Source(type.flavour);
    const std::string at = std::to_string(type.bytes * static_cast<int>(random().Below(kCell / type.bytes)));
    draft_.Add("st.shared." + std::string(type.type) + " [%x+" + at + "], " + value + ";\nbar.sync 0;");
  }

  struct Atomic {
    const char *name, *flavour;
  };

  // Atomics that return what was there: each thread in its own cell, so that the order does not matter.
  void OwnCell() {
    Fill();
    static constexpr Atomic kAtomics[] = {
        {"add.u32", "i32"},       {"add.s32", "i32"},         {"add.u64", "i64"},        {"add.f32", "f32"},
        {"add.f64", "f64"},       {"min.s32", "i32"},         {"max.u32", "i32"},        {"min.u64", "i64"},
        {"max.s64", "i64"},       {"and.b32", "i32"},         {"or.b64", "i64"},         {"xor.b32", "i32"},
        {"exch.b32", "i32"},      {"exch.b64", "i64"},        {"inc.u32", "n32"},        {"dec.u32", "n32"},
        {"cas.b32", "few"},       {"cas.b64", "i64"},         {"cas.b16", "i16"},        {"add.noftz.f16x2", "h2"},
        {"add.noftz.f16", "f16"}, {"add.noftz.bf16x2", "b2"}, {"add.noftz.bf16", "bf16"}};
    const size_t count = 2 + random().Below(3);
    for (size_t i = 0; i < count; ++i) {
      const Atomic& atomic = random().Of(kAtomics);
      const std::string name = atomic.name;
      const std::string old = draft_.Register(atomic.flavour), value = draft_.Source(atomic.flavour);
      const std::string at = random().OneIn(2) ? "8" : "0";
      std::string operands = value;
      if (name.rfind("cas", 0) == 0) {
        // Half of the time what is compared is what is there.
        const std::string there = draft_.Register(atomic.flavour);
        const std::string bits = std::to_string(8 * BytesOf(atomic.flavour));
        draft_.Add("ld.shared.b" + bits + " " + there + ", [%x+" + at + "];");
        operands = (random().OneIn(2) ? there : draft_.Source(atomic.flavour)) + ", " + value;
      }
      const std::string text = "atom.shared." + name + " " + old + ", [%x+" + at + "], " + operands + ";";
      draft_.Add(text);
      draft_.Keep(atomic.flavour == std::string("n32") || atomic.flavour == std::string("few") ? "i32" : atomic.flavour,
                  old, text);
      const std::string now = draft_.Register(atomic.flavour);
      draft_.Add("ld.shared.b" + std::to_string(8 * BytesOf(atomic.flavour)) + " " + now + ", [%x+" + at + "];");
      draft_.Keep(BytesOf(atomic.flavour) == 8   ? "i64"
                  : BytesOf(atomic.flavour) == 2 ? "i16"
                                                 : "i32",
                  now, "after " + text);
    }
  }

  // Atomics of many threads on few words, whose order does not matter; what is left is kept.
  void Together() {
    Fill();
    static constexpr Atomic kAtomics[] = {
        {"add.u32", "i32"}, {"min.s32", "i32"}, {"max.u32", "i32"}, {"and.b32", "i32"}, {"or.b32", "i32"},
        {"xor.b32", "i32"}, {"max.s64", "i64"}, {"min.u64", "i64"}, {"add.u64", "i64"}, {"xor.b64", "i64"}};
    const Atomic& atomic = random().Of(kAtomics);
    const std::string value = draft_.Source(atomic.flavour), now = draft_.Register(atomic.flavour);
    const std::string stride = random().OneIn(2) ? "112" : "0";
    const std::string opcode = std::string(random().OneIn(2) ? "red" : "atom") + ".shared." + atomic.name;
    const std::string destination = opcode[0] == 'a' ? "_, " : "";
    draft_.Add("and.b32 %w, %tx, " + stride + ";\nadd.u32 %w, %w, %s;");
    const std::string text = opcode + " " + destination + "[%w], " + value + ";";
    draft_.Add(text + "\nbar.sync 0;\nld.shared.b" + std::to_string(8 * BytesOf(atomic.flavour)) + " " + now +
               ", [%w];");
    draft_.Keep(atomic.flavour, now, "after " + text);
  }

  // Local memory at an index that depends on the thread.
  void Private() {
    for (int i = 0; i < 4; ++i) {
      const std::string value = draft_.Source("i64");
      draft_.Add("st.local.b64 [l+" + std::to_string(16 * i) + "], " + value + ";");
      const std::string other = draft_.Source("i64");
      draft_.Add("st.local.b64 [l+" + std::to_string(16 * i + 8) + "], " + other + ";");
    }
    const std::string index = draft_.Source("i32"), value = draft_.Register("i32"), wide = draft_.Register("i64");
    draft_.Add("and.b32 %y, " + index + ", 56;\ncvt.u64.u32 %e0, %y;\nadd.u64 %e0, %l64, %e0;");
    const std::string byte = std::to_string(random().Below(8));
    const std::string text = "ld.local.s8 " + value + ", [%e0+" + byte + "];";
    draft_.Add(text + "\nld.local.b64 " + wide + ", [%e0];");
    draft_.Keep("i32", value, text);
    draft_.Keep("i64", wide, "ld.local.b64 " + wide + ", [%e0];");
  }

  // cp.async from the input: 4, 8 or 16 bytes, some of them zeros instead.
  void AsyncCopy() {
    draft_.Input("i32");
    draft_.Input("i32");
    static constexpr const char* kBytes[] = {"4", "8", "16"};
    const std::string bytes = random().Of(kBytes), level = bytes == "16" ? "cg" : "ca";
    const uint32_t row = (draft_.input_words() - 2) * 4 * kThreads;
    Cell("%x");
    // The kernel's address of the input lies 4 bytes a thread on: back to where rows begin.
    draft_.Add(
        "mul.wide.u32 %e0, %tx, 4;\nsub.u64 %e0, %in, %e0;\nand.b32 %y, %tx, 31;\nmul.wide.u32 %e1, %y, 16;\n"
        "add.u64 %e0, %e0, %e1;");
    draft_.Add("mov.b32 %z, 0;\nst.shared.v4.b32 [%x], {%z, %z, %z, %z};");
    const std::string real = random().OneIn(2) ? ", " + std::to_string(random().Below(std::stoul(bytes) + 1)) : "";
    const std::string text =
        "cp.async." + level + ".shared.global [%x], [%e0+" + std::to_string(row) + "], " + bytes + real + ";";
    draft_.Add(text + "\ncp.async.commit_group;\ncp.async.wait_group 0;");
    draft_.Add("ld.shared.v4.b32 {%o0, %o1, %o2, %o3}, [%x];");
    for (int i = 0; i < 4; ++i) {
      const std::string kept = draft_.Register("i32");
      draft_.Add("mov.b32 " + kept + ", %o" + std::to_string(i) + ";");
      draft_.Keep("i32", kept, text);
    }
  }

  Draft draft_;
};

}  // namespace

Case DrawMemory(uint64_t seed) { return Memory(seed).Draw(); }

}  // namespace sassay::emulator
