#include "profiler_service/emulator/forms/supported.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "profiler_service/emulator/exec/program.h"
#include "profiler_service/emulator/memory/global_memory.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ptx/parser.h"

namespace sassay::emulator {
namespace {

std::string RegisterFor(std::string_view word) {
  if (word[0] == '#') return std::string(word.substr(1, word.find('.') - 1));
  if (word[0] == '=') word.remove_prefix(1);
  if (word == "p") return "%p";
  if (word == "i128") return "%q";
  if (word == "i64" || word == "f64") return "%d";
  if (word == "i16" || word == "f16" || word == "bf16" || word == "e4" || word == "e5") return "%h";
  return "%r";
}

constexpr char kIntroduction[] =
    R"(# What PTX the emulator runs

Written by `emulator_instructions` from a table of forms (profiler_service/emulator/forms), each of which it has the emulator decode: a test fails when this page is
not what it would write. Braces hold alternatives: `add{.rn,.rz}{,.ftz}.f32` are four opcodes. Operands: `=` is written; `p` a predicate; `i16 i32 i64 i128` bits; `f16 bf16 f32 f64`
numbers; `h2 b2` pairs of f16, of bf16; `n32 lane few off angle moderate` 32 bits with values as the differential test draws them; `#a..b` an immediate; `%` a special register.

An instruction that the emulator lacks ends the kernel when it is reached, by its name and line: EMULATOR_LACKS. What is `approximate` is within the bound that NVIDIA documents for it, not the bits of
silicon; everything else in the first families is exact to the bit, which the differential test (tests/gpu/differential.sh) holds against an H200. sm_100a is held against nothing
([decision 15](decisions/0015-blackwell-by-the-isa-alone.md)).
)";

absl::StatusOr<std::string> Section(const Family& family) {
  std::string runs;
  std::vector<std::string> lacks;
  for (const Form& form : family.forms) {
    ASSIGN_OR_RETURN(const std::vector<Probed> opcodes, Probe(form));
    size_t refused = 0;
    for (const Probed& probed : opcodes) refused += probed.refusal.empty() ? 0 : 1;
    const bool approximate = form.relative != 0 || form.absolute != 0;
    if (refused < opcodes.size()) {
      absl::StrAppend(&runs, "    ", form.pattern, *form.operands == '\0' ? "" : "  ", form.operands,
                      approximate ? "  (approximate)" : "", "\n");
    }
    if (refused == opcodes.size()) {
      lacks.push_back(absl::StrCat("`", form.pattern, "`"));
      continue;
    }
    for (const Probed& probed : opcodes) {
      if (!probed.refusal.empty()) lacks.push_back(absl::StrCat("`", probed.opcode, "`"));
    }
  }
  std::string text = absl::StrCat("\n## ", family.title, "\n\n");
  if (std::string_view(family.arch) != "sm_90a") absl::StrAppend(&text, "From ", family.arch, " on.\n\n");
  absl::StrAppend(&text, runs);
  if (!lacks.empty()) absl::StrAppend(&text, "\nLacking: ", absl::StrJoin(lacks, ", "), ".\n");
  return text;
}

}  // namespace

absl::StatusOr<std::vector<Probed>> Probe(const Form& form) {
  std::vector<Probed> probed;
  std::string body;
  const std::vector<std::string> operands = absl::StrSplit(form.operands, ';');
  std::vector<size_t> counts;  // instructions of each opcode
  for (const std::string& opcode : Expand(form.pattern)) {
    const std::vector<std::string> instructions = absl::StrSplit(opcode, ';');
    for (size_t i = 0; i < instructions.size(); ++i) {
      absl::StrAppend(&body, absl::StripLeadingAsciiWhitespace(instructions[i]), " ",
                      FillOperands(operands[i], RegisterFor), ";\n");
    }
    probed.push_back({opcode, ""});
    counts.push_back(instructions.size());
  }
  ASSIGN_OR_RETURN(auto module,
                   ptx::Parse(absl::StrCat(".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k() {\n"
                                           ".reg .pred %p; .reg .b16 %h; .reg .b32 %r; .reg .b64 %d; .reg .b128 %q;\n"
                                           ".shared .align 16 .b8 s[16];\n",
                                           body, "end: ret;\n}\n")));
  GlobalMemory memory(false, uint64_t{1} << 20);
  ASSIGN_OR_RETURN(const auto program, LoadProgram(std::move(module), StandardOperations(), memory));
  size_t at = 0;
  for (size_t i = 0; i < probed.size(); ++i) {
    for (size_t k = 0; k < counts[i]; ++k) {
      const absl::Status* refusal = RefusalOf(*program->insts[at++].second);
      if (refusal != nullptr && probed[i].refusal.empty()) probed[i].refusal = std::string(refusal->message());
    }
  }
  return probed;
}

absl::StatusOr<std::string> InstructionsDocument() {
  std::string text = kIntroduction;
  for (const Family& family : Families()) {
    ASSIGN_OR_RETURN(const std::string section, Section(family));
    absl::StrAppend(&text, section);
  }
  return text;
}

}  // namespace sassay::emulator
