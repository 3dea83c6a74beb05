#include "agent/compile/nvcc_plan.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace sassay {
namespace {

constexpr absl::string_view kPrefix = "#$ ";

// "NAME" of "NAME=VALUE"; empty for a command.
absl::string_view AssignedName(absl::string_view line) {
  size_t end = 0;
  while (end < line.size() && (absl::ascii_isalnum(static_cast<unsigned char>(line[end])) || line[end] == '_')) ++end;
  return end > 0 && end < line.size() && line[end] == '=' ? line.substr(0, end) : absl::string_view();
}

// Values come unquoted where they are a list of paths, and quoted as shell words where they are options.
std::string QuotedAssignment(absl::string_view line, absl::string_view name) {
  std::string value(line.substr(name.size() + 1));
  std::string escaped;
  for (char c : value) escaped += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return absl::StrCat("export ", name, "='", escaped, "'");
}

// The program of a command line, without folder and quotes.
std::string ProgramOf(absl::string_view command) {
  absl::string_view word = command;
  if (absl::ConsumePrefix(&word, "\"")) {
    word = word.substr(0, word.find('"'));
  } else {
    word = word.substr(0, word.find(' '));
  }
  return std::string(word.substr(word.rfind('/') == absl::string_view::npos ? 0 : word.rfind('/') + 1));
}

bool HasWord(absl::string_view command, absl::string_view word) {
  std::vector<absl::string_view> words = absl::StrSplit(command, ' ', absl::SkipEmpty());
  return std::find(words.begin(), words.end(), word) != words.end();
}

NvccTool Classify(absl::string_view command) {
  std::string program = ProgramOf(command);
  if (program == "ptxas") return NvccTool::kPtxas;
  if (program == "fatbinary") return NvccTool::kFatbinary;
  if (program == "cicc" || program == "cudafe++" || HasWord(command, "-E")) return NvccTool::kFrontEnd;
  return HasWord(command, "-c") ? NvccTool::kHostCompiler : NvccTool::kLinker;
}

// The last quoted words of `ptxas … "INPUT" -o "OUTPUT"`.
bool ReadPtxasFiles(absl::string_view command, NvccPlan& plan) {
  std::vector<std::string> pieces = absl::StrSplit(absl::StripTrailingAsciiWhitespace(command), '"');
  if (pieces.size() < 5) return false;
  plan.cubin_file = pieces[pieces.size() - 2];
  plan.ptx_file = pieces[pieces.size() - 4];
  return absl::EndsWith(plan.ptx_file, ".ptx") && absl::EndsWith(plan.cubin_file, ".cubin");
}

void AddStep(absl::string_view line, NvccPlan& plan, int& assemblies) {
  NvccStep step{Classify(line), std::string(line)};
  if (step.tool == NvccTool::kPtxas) {
    assemblies += ReadPtxasFiles(line, plan) ? 1 : 100;
  } else {
    (assemblies == 0 ? plan.before_ptxas : plan.after_ptxas).push_back(std::move(step));
  }
}

}  // namespace

const char* ToolName(NvccTool tool) {
  switch (tool) {
    case NvccTool::kPtxas:
      return "ptxas";
    case NvccTool::kHostCompiler:
      return "host compiler";
    case NvccTool::kLinker:
      return "linker";
    case NvccTool::kFrontEnd:
    case NvccTool::kFatbinary:
      break;
  }
  return "nvcc";
}

absl::StatusOr<NvccPlan> ParseNvccPlan(absl::string_view dryrun_output) {
  NvccPlan plan;
  int assemblies = 0;
  for (absl::string_view line : absl::StrSplit(dryrun_output, '\n')) {
    if (!absl::ConsumePrefix(&line, kPrefix)) continue;
    absl::string_view name = AssignedName(line);
    if (name.empty()) {
      AddStep(line, plan, assemblies);
    } else {
      plan.assignments.push_back(QuotedAssignment(line, name));
    }
  }
  if (assemblies != 1 || plan.before_ptxas.empty() || plan.after_ptxas.empty() ||
      plan.after_ptxas.back().tool != NvccTool::kLinker) {
    return absl::InternalError(
        absl::StrCat("nvcc --dryrun printed a plan that Sassay does not know (expected one ptxas step): ",
                     dryrun_output.substr(0, 2000)));
  }
  return plan;
}

std::string MakeScript(const NvccPlan& plan, const std::vector<NvccStep>& steps, absl::string_view marker) {
  std::string script;
  for (const auto& assignment : plan.assignments) absl::StrAppend(&script, assignment, "\n");
  for (size_t i = 0; i < steps.size(); ++i) {
    absl::StrAppend(&script, "printf '\\n%s\\n' '", marker, " ", i, "' >&2\n", steps[i].command, "\n",
                    "status=$?; if [ $status -ne 0 ]; then printf '\\n%s\\n' \"", marker, " ", i,
                    " $status\" >&2; exit 1; fi\n");
  }
  return script;
}

std::vector<StepOutput> SplitOutput(absl::string_view output, absl::string_view marker) {
  std::vector<StepOutput> outputs;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    absl::string_view rest = line;
    if (!absl::ConsumePrefix(&rest, marker)) {
      if (!outputs.empty()) absl::StrAppend(&outputs.back().text, line, "\n");
      continue;
    }
    std::vector<absl::string_view> words = absl::StrSplit(rest, ' ', absl::SkipEmpty());
    uint64_t step = 0;
    if (words.empty() || !absl::SimpleAtoi(words[0], &step)) continue;
    if (words.size() == 1) outputs.push_back({static_cast<size_t>(step), 0, ""});
    if (words.size() != 2) continue;
    // The step's beginning may be lost in a flood.
    if (outputs.empty() || outputs.back().step != step) outputs.push_back({static_cast<size_t>(step), 0, ""});
    (void)absl::SimpleAtoi(words[1], &outputs.back().status);
  }
  return outputs;
}

}  // namespace sassay
