// The instructions of PTX as data: one table from which the list of what the emulator runs is written
// (docs/emulator_instructions.md) and from which the differential test draws its kernels.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_FORMS_FORMS_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_FORMS_FORMS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sassay::emulator {

// One row of the table.
//
// `pattern` is an opcode with alternatives in braces: "add{.rn,.rz}{,.ftz}.f32" stands for four opcodes. Two opcodes
// that only make sense together are written "add.cc.u32; addc.u32", their operands likewise.
//
// `operands` is text in which words stand for operands, a leading "=" for one that is written:
//   p                               predicate
//   i16 i32 i64                     any bits
//   f32 f64 f16 bf16 h2 b2 tf32     numbers; h2 and b2 are pairs of f16 and of bf16
//   n32                             32 bits, mostly a small number: a shift or a position
//   lane few off                    0 to 31; one of four values; -5 to 5
//   e4 e5                           pairs of e4m3, of e5m2
//   #LOW..HIGH                      an immediate
// Everything else (brackets, names with a leading "@", numbers) stands for itself; "@x" is the variable x.
struct Form {
  const char* pattern;
  const char* operands;
  // What hardware promises of an approximation: the result is within `relative` of the true one, or within `absolute`
  // of it. Both zero: the result is exact, to the bit.
  double relative = 0, absolute = 0;
};

enum class FamilyKind {
  kLanes,  // each lane by itself: may stand anywhere in a kernel
  kWarp,   // lanes of a warp together, with the member mask -1
  kOther,  // needs more around it than registers
};

struct Family {
  const char* title;
  FamilyKind kind;
  const char* arch;  // the least that has it: "sm_90a" or "sm_100a"
  std::vector<Form> forms;
};

const std::vector<Family>& Families();

// Tables, one file each.
std::vector<Family> ArithmeticFamilies();
std::vector<Family> ConversionFamilies();
std::vector<Family> MemoryFamilies();
std::vector<Family> AsynchronousFamilies();
std::vector<Family> TensorFamilies();

// The opcodes that `pattern` stands for; `choose` picks one of so many alternatives.
std::vector<std::string> Expand(std::string_view pattern);
std::string Pick(std::string_view pattern, const std::function<size_t(size_t)>& choose);

// The text of `operands` with each word replaced by what `name` makes of it; names with "@" lose it.
std::string FillOperands(std::string_view operands, const std::function<std::string(std::string_view)>& name);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_FORMS_FORMS_H_
