#include "agent/compile/messages/failure.h"

#include <signal.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/compile/messages/diagnostics.h"
#include "common/base/utf8.h"

namespace sassay {
namespace {

using sassay::v1::Verdict;
using sassay::v1::VerdictCode;

constexpr absl::string_view kOtherTarget[] = {"not supported on .target", "requires .target", "requires target",
                                              "cannot be compiled for architecture", "not supported for target"};
constexpr absl::string_view kExhausted[] = {
    "out of memory",   "memory exhausted",          "cannot allocate memory", "bad_alloc",     "no space left",
    "file size limit", "memory allocation failure", "insufficient memory",    "file too large"};
constexpr absl::string_view kVendorHeaders[] = {"cublas", "cudnn",    "cutensor", "cusparse",
                                                "cufft",  "curand.h", "cusolver", "nccl"};

template <size_t kCount>
bool MentionsOneOf(absl::string_view text, const absl::string_view (&words)[kCount]) {
  std::string lower = absl::AsciiStrToLower(text);
  return std::any_of(std::begin(words), std::end(words),
                     [&](absl::string_view word) { return absl::StrContains(lower, word); });
}

bool AnyError(const StepFailure& failure, bool (*matches)(absl::string_view)) {
  return std::any_of(failure.diagnostics.begin(), failure.diagnostics.end(),
                     [&](const auto& d) { return d.severity() == "error" && matches(d.message()); });
}

bool SaysOtherTarget(absl::string_view message) { return MentionsOneOf(message, kOtherTarget); }

bool MissesVendorHeader(absl::string_view message) {
  return absl::StrContains(message, "No such file") && MentionsOneOf(message, kVendorHeaders);
}

bool IsLocated(const sassay::v1::Diagnostic& diagnostic) { return diagnostic.line() != 0; }

// A message with a line speaks of the source, which may say "out of memory" itself; only a tool that broke off says it
// in its own first words.
bool LocatedErrorSaysExhausted(const StepFailure& failure) {
  return AnyError(failure, [](absl::string_view message) {
    const std::string lower = absl::AsciiStrToLower(message);
    if (absl::StartsWith(lower, "error while writing")) return MentionsOneOf(lower, kExhausted);
    return std::any_of(std::begin(kExhausted), std::end(kExhausted),
                       [&](absl::string_view word) { return absl::StartsWith(lower, word); });
  });
}

// Lines of the output that are neither about a line of the source nor an excerpt of it (those are indented).
bool ToolSaysExhausted(const StepFailure& failure) {
  const std::vector<absl::string_view> lines = absl::StrSplit(failure.text, '\n');
  return std::any_of(lines.begin(), lines.end(), [&](absl::string_view line) {
    if (line.empty() || absl::ascii_isspace(static_cast<unsigned char>(line[0]))) return false;
    const auto quotes = [&](const auto& d) { return IsLocated(d) && absl::StrContains(line, d.message()); };
    return MentionsOneOf(line, kExhausted) &&
           std::none_of(failure.diagnostics.begin(), failure.diagnostics.end(), quotes);
  });
}

bool SaysExhausted(const StepFailure& failure) {
  const auto located_error = [](const auto& d) { return IsLocated(d) && d.severity() == "error"; };
  const bool located = std::any_of(failure.diagnostics.begin(), failure.diagnostics.end(), located_error);
  return LocatedErrorSaysExhausted(failure) || (!located && ToolSaysExhausted(failure));
}

// Processor time and memory killers end in SIGKILL, file size in SIGXFSZ.
bool KilledByLimit(int status) { return status == 128 + SIGKILL || status == 128 + SIGXFSZ || status == 128 + SIGXCPU; }

VerdictCode CodeOfTool(NvccTool tool) {
  switch (tool) {
    case NvccTool::kPtxas:
      return sassay::v1::VERDICT_CODE_PTXAS_ERROR;
    case NvccTool::kHostCompiler:
      return sassay::v1::VERDICT_CODE_HOST_COMPILER_ERROR;
    case NvccTool::kLinker:
      return sassay::v1::VERDICT_CODE_LINK_ERROR;
    case NvccTool::kFrontEnd:
    case NvccTool::kFatbinary:
      break;
  }
  return sassay::v1::VERDICT_CODE_NVCC_ERROR;
}

std::string HowItEnded(const StepFailure& failure) {
  if (failure.status <= 128) return absl::StrCat("ended with status ", failure.status);
  return absl::StrCat("was ended by signal ", failure.status - 128, " (", strsignal(failure.status - 128), ")");
}

std::string LastLine(absl::string_view text) {
  constexpr size_t kMostBytes = 200;
  text = absl::StripAsciiWhitespace(text);
  return ToUtf8(text.substr(text.rfind('\n') + 1).substr(0, kMostBytes));  // npos + 1 is 0
}

std::string Reason(const StepFailure& failure, VerdictCode code) {
  if (code == sassay::v1::VERDICT_CODE_COMPILE_LIMIT) {
    return absl::StrCat(ToolName(failure.tool), " hit a limit of the compile sandbox: it ", HowItEnded(failure),
                        "; simplify the templates, constant expressions or unrolling, or allow more "
                        "(compile_deadline)");
  }
  for (const auto& diagnostic : failure.diagnostics) {
    if (diagnostic.severity() == "error") return DiagnosticLine(diagnostic);
  }
  const std::string last = LastLine(failure.text);
  return absl::StrCat(ToolName(failure.tool), " ", HowItEnded(failure), " and gave no message that names a line",
                      last.empty() ? "" : absl::StrCat("; it said: ", last));
}

Verdict NewVerdict(VerdictCode code, std::string reason, absl::Duration wall) {
  Verdict verdict;
  verdict.set_status(sassay::v1::VERDICT_STATUS_COMPILE_ERROR);
  verdict.set_stage(sassay::v1::STAGE_COMPILE);
  verdict.set_code(code);
  verdict.set_reason(reason);
  auto* report = verdict.add_stages();
  report->set_stage(sassay::v1::STAGE_COMPILE);
  report->set_outcome(sassay::v1::StageReport::FAILED);
  report->set_reason(std::move(reason));
  report->set_wall_ns(static_cast<uint64_t>(absl::ToInt64Nanoseconds(wall)));
  verdict.mutable_versions()->set_sassay(SASSAY_VERSION);
  return verdict;
}

}  // namespace

VerdictCode ClassifyFailure(const StepFailure& failure) {
  if (KilledByLimit(failure.status) || SaysExhausted(failure)) return sassay::v1::VERDICT_CODE_COMPILE_LIMIT;
  if (failure.tool == NvccTool::kPtxas && AnyError(failure, SaysOtherTarget))
    return sassay::v1::VERDICT_CODE_WRONG_ARCH_PTX;
  if (AnyError(failure, MissesVendorHeader)) return sassay::v1::VERDICT_CODE_FORBIDDEN_LIBRARY;
  return CodeOfTool(failure.tool);
}

std::vector<std::string> RepairNotes(const StepFailure& failure) {
  const auto outside = [](absl::string_view message) {
    return absl::StrContains(message, "../") && absl::StrContains(message, "No such file");
  };
  const auto twice = [](absl::string_view message) {
    return absl::StrContains(message, "has already been defined") || absl::StrContains(message, "redefinition of");
  };
  std::vector<std::string> notes;
  if (AnyError(failure, outside)) {
    notes.push_back(
        "files above the folder of the first source are no part of the candidate: name the folder that holds both "
        "instead of the file");
  }
  if (failure.compiled_files > 1 && AnyError(failure, twice)) {
    notes.push_back(
        "the files of a candidate are compiled as one translation unit, because it has one cubin: give static names "
        "of different files names of their own, or a namespace each");
  }
  return notes;
}

Verdict FailureVerdict(const StepFailure& failure, absl::Duration wall) {
  VerdictCode code = ClassifyFailure(failure);
  Verdict verdict = NewVerdict(code, Reason(failure, code), wall);
  for (const auto& diagnostic : failure.diagnostics) *verdict.mutable_details()->add_diagnostics() = diagnostic;
  for (std::string& note : RepairNotes(failure)) verdict.mutable_details()->add_notes(std::move(note));
  return verdict;
}

Verdict TimeoutVerdict(NvccTool tool, absl::Duration timeout, absl::Duration wall) {
  return NewVerdict(sassay::v1::VERDICT_CODE_COMPILE_TIMEOUT,
                    absl::StrCat("the compilation took longer than ", absl::FormatDuration(timeout), " (it was at ",
                                 ToolName(tool), "); simplify the templates, constant expressions or unrolling"),
                    wall);
}

}  // namespace sassay
