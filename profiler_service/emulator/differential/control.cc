// Branches, loops, tables of branches and calls that depend on data, with what lanes of a warp do together inside of
// them.
#include "profiler_service/emulator/differential/draft.h"

namespace sassay::emulator {
namespace {

class Controller {
 public:
  explicit Controller(uint64_t seed) : draft_(seed, "control", 32) {}

  Case Draw() {
    for (int i = 0; i < 6; ++i) integers_.push_back(draft_.Input("i32"));
    for (int i = 0; i < 2; ++i) numbers_.push_back(draft_.Input("moderate"));
    // What is assigned must be no register that the input may share with others: copies, kept apart.
    for (std::string& name : integers_) name = Copy(name);
    for (std::string& name : numbers_) name = Copy(name);
    DefineFunction();
    Block(4 + random().Below(4), 3, "-1");
    for (const std::string& name : integers_) draft_.Keep("i32", name, "variable " + name, false);
    for (const std::string& name : numbers_) draft_.Keep("f32", name, "variable " + name, false);
    return std::move(draft_).Finish();
  }

 private:
  Random& random() { return draft_.random(); }
  std::string Copy(const std::string& name) {
    const std::string copy = draft_.Register("i32");
    draft_.Add("mov.b32 " + copy + ", " + name + ";");
    return copy;
  }
  const std::string& Integer() { return integers_[random().Below(integers_.size())]; }
  const std::string& Real() { return numbers_[random().Below(numbers_.size())]; }

  void DefineFunction() {
    draft_.Before(".func (.param .b32 result) f" + draft_.kernel() +
                  "(.param .b32 x, .param .b32 y)\n{\n.reg .b32 %a<3>;\n.reg .pred %q;\nld.param.b32 %a0, [x];\n"
                  "ld.param.b32 %a1, [y];\nsetp.lt.s32 %q, %a0, %a1;\n@%q bra less;\nsub.s32 %a2, %a0, %a1;\n"
                  "bra.uni out;\nless:\nmad.lo.s32 %a2, %a0, 3, %a1;\nout:\nst.param.b32 [result], %a2;\nret;\n}");
  }

  void Block(size_t statements, int depth, const std::string& members) {
    for (size_t i = 0; i < statements; ++i) Statement(depth, members);
  }

  void Statement(int depth, const std::string& members) {
    switch (random().Below(depth > 0 ? 12 : 6)) {
      case 6:
      case 7:
        return Branch(depth - 1, members);
      case 8:
      case 9:
        return Loop(depth - 1, members);
      case 10:
        return Table(depth - 1, members);
      case 11:
        return Call();
      case 5:
        return Together(members);
      default:
        return Assign();
    }
  }

  void Assign() {
    static constexpr const char* kOperations[] = {"add.s32", "sub.s32", "mul.lo.s32", "xor.b32", "min.s32",
                                                  "max.u32", "shl.b32", "shr.s32",    "and.b32", "mul.hi.u32"};
    static constexpr const char* kReal[] = {"add.rn.f32", "sub.rz.f32", "mul.rn.ftz.f32", "max.f32", "min.NaN.f32"};
    std::string guard;
    if (random().OneIn(3)) guard = "@" + Condition() + " ";
    if (random().OneIn(4)) {
      const std::string &d = Real(), &a = Real(), &b = Real();
      draft_.Add(guard + random().Of(kReal) + " " + d + ", " + a + ", " + b + ";");
      return;
    }
    const std::string &d = Integer(), &a = Integer(), &b = Integer();
    draft_.Add(guard + random().Of(kOperations) + " " + d + ", " + a + ", " + b + ";");
  }

  std::string Condition() {
    static constexpr const char* kRelations[] = {"lt.s32", "gt.u32", "eq.s32", "ge.s32", "lo.u32"};
    const std::string condition = draft_.Register("p");
    if (random().OneIn(5)) {
      const std::string &a = Real(), &b = Real();
      draft_.Add("setp.gtu.f32 " + condition + ", " + a + ", " + b + ";");
    } else if (random().OneIn(2)) {
      const std::string bit = draft_.Register("i32");
      const std::string& a = Integer();
      draft_.Add("and.b32 " + bit + ", " + a + ", " + std::to_string(1u << random().Below(8)) + ";");
      draft_.Add("setp.ne.u32 " + condition + ", " + bit + ", 0;");
    } else {
      const std::string &a = Integer(), &b = Integer();
      draft_.Add(std::string("setp.") + random().Of(kRelations) + " " + condition + ", " + a + ", " + b + ";");
    }
    return condition;
  }

  // Whoever is here takes part: `members` is exactly them.
  void Together(const std::string& members) {
    static constexpr const char* kOperations[] = {"redux.sync.add.s32", "redux.sync.max.u32", "redux.sync.xor.b32",
                                                  "match.any.sync.b32"};
    if (random().OneIn(3)) {
      const std::string condition = Condition();
      draft_.Add("vote.sync.ballot.b32 " + Integer() + ", " + condition + ", " + members + ";");
      return;
    }
    const std::string &d = Integer(), &a = Integer();
    draft_.Add(std::string(random().Of(kOperations)) + " " + d + ", " + a + ", " + members + ";");
  }

  void Branch(int depth, const std::string& members) {
    const std::string condition = Condition(), other = draft_.Label(), end = draft_.Label();
    const std::string here = draft_.Register("i32"), there = draft_.Register("i32");
    draft_.Add("vote.sync.ballot.b32 " + here + ", " + condition + ", " + members + ";");
    draft_.Add("xor.b32 " + there + ", " + here + ", " + members + ";");
    draft_.Add("@!" + condition + " bra " + other + ";");
    Block(1 + random().Below(3), depth, here);
    const bool two = random().OneIn(2);
    if (two) draft_.Add("bra " + end + ";");
    draft_.Add(other + ":");
    if (two) {
      Block(1 + random().Below(3), depth, there);
      draft_.Add(end + ":");
    }
    draft_.Add("bar.warp.sync " + members + ";");
  }

  void Loop(int depth, const std::string& members) {
    const std::string count = draft_.Register("i32"), here = draft_.Register("i32"), again = draft_.Register("p");
    const std::string begin = draft_.Label();
    draft_.Add("and.b32 " + count + ", " + Integer() + ", 3;");
    draft_.Add("mov.b32 " + here + ", " + members + ";");
    draft_.Add(begin + ":");
    Block(1 + random().Below(2), depth, here);
    draft_.Add("setp.ne.u32 " + again + ", " + count + ", 0;");
    draft_.Add("vote.sync.ballot.b32 " + here + ", " + again + ", " + here + ";");
    draft_.Add("sub.u32 " + count + ", " + count + ", 1;");
    draft_.Add("@" + again + " bra " + begin + ";");
    draft_.Add("bar.warp.sync " + members + ";");
  }

  void Table(int depth, const std::string& members) {
    const std::string index = draft_.Register("i32"), end = draft_.Label(), table = draft_.Label();
    draft_.Add("and.b32 " + index + ", " + Integer() + ", 3;");
    std::string arms[4], list, masks[4];
    for (int i = 0; i < 4; ++i) {
      arms[i] = draft_.Label();
      list += (i > 0 ? ", " : "") + arms[i];
      masks[i] = draft_.Register("i32");
      const std::string mine = draft_.Register("p");
      draft_.Add("setp.eq.u32 " + mine + ", " + index + ", " + std::to_string(i) + ";");
      draft_.Add("vote.sync.ballot.b32 " + masks[i] + ", " + mine + ", " + members + ";");
    }
    draft_.Add(table + ": .branchtargets " + list + ";");
    draft_.Add("brx.idx " + index + ", " + table + ";");
    for (int i = 0; i < 4; ++i) {
      draft_.Add(arms[i] + ":");
      Block(1, depth > 1 ? 1 : 0, masks[i]);
      draft_.Add("bra " + end + ";");
    }
    draft_.Add(end + ":");
    draft_.Add("bar.warp.sync " + members + ";");
  }

  void Call() {
    const std::string &d = Integer(), &a = Integer(), &b = Integer();
    draft_.Add("{\n.param .b32 a;\n.param .b32 b;\n.param .b32 c;\nst.param.b32 [a], " + a + ";\nst.param.b32 [b], " +
               b + ";\ncall (c), f" + draft_.kernel() + ", (a, b);\nld.param.b32 " + d + ", [c];\n}");
  }

  Draft draft_;
  std::vector<std::string> integers_, numbers_;
};

}  // namespace

Case DrawControl(uint64_t seed) { return Controller(seed).Draw(); }

}  // namespace sassay::emulator
