#include "agent/feedback/feedback.h"

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/feedback/advice.h"
#include "agent/feedback/composer.h"
#include "agent/feedback/excerpt.h"
#include "agent/feedback/fault_sections.h"
#include "agent/feedback/next_steps.h"
#include "agent/feedback/numerics_section.h"
#include "agent/feedback/quote.h"
#include "agent/feedback/speed_sections.h"
#include "agent/render/text.h"
#include "common/base/proto_json.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

constexpr size_t kReasonBytes = 900;
constexpr size_t kMostNotes = 6;

void Require(bool condition) {
  if (!condition) std::abort();
}

CandidateKind KindOf(const FeedbackInput& input) {
  const bool python = input.extracted != nullptr && absl::EndsWith(input.extracted->path(), ".py");
  return python ? CandidateKind::kPython : CandidateKind::kCuda;
}

const v1::Workload& WorkloadOf(const FeedbackInput& input) {
  return input.workload == nullptr ? v1::Workload::default_instance() : *input.workload;
}

std::string TurnText(const FeedbackInput& input) {
  if (input.turn_limit == 0) return absl::StrCat("Turn ", input.turn + 1);
  return absl::StrCat("Turn ", input.turn + 1, " of ", input.turn_limit);
}

// What a status means for the turn, in one sentence.
const char* StatusSentence(v1::VerdictStatus status) {
  switch (status) {
    case v1::VERDICT_STATUS_CORRECT:
      return "The outputs are right.";
    case v1::VERDICT_STATUS_COMPILE_ERROR:
      return "The source did not compile, so nothing was run.";
    case v1::VERDICT_STATUS_CAPTURE_ERROR:
      return "The host code of run() was refused before any kernel ran.";
    case v1::VERDICT_STATUS_REJECTED:
      return "The compiled candidate was refused before any kernel ran.";
    case v1::VERDICT_STATUS_SANITIZER_ERROR:
      return "A kernel misused memory or synchronisation.";
    case v1::VERDICT_STATUS_RUNTIME_ERROR:
      return "A kernel faulted.";
    case v1::VERDICT_STATUS_TIMEOUT:
      return "A kernel did not end.";
    case v1::VERDICT_STATUS_INCORRECT_NUMERICAL:
      return "The kernels ran to their end, and the outputs are wrong.";
    case v1::VERDICT_STATUS_CHEATING:
      return "The result cannot have been come by honestly; the turn does not count.";
    default:
      return "";
  }
}

std::string Headline(const FeedbackInput& input) {
  const v1::Verdict& verdict = *input.verdict;
  std::string line = absl::StrCat(TurnText(input), ": ", EnumName(verdict.status()));
  if (verdict.code() > v1::VERDICT_CODE_OK) absl::StrAppend(&line, " (", EnumName(verdict.code()), ")");
  return absl::StrCat(line, ". ", StatusSentence(verdict.status()), "\n");
}

// Whether a section says the same with more around it.
bool IsToldBelow(const v1::Verdict& verdict) {
  if (verdict.status() == v1::VERDICT_STATUS_COMPILE_ERROR) return !verdict.details().diagnostics().empty();
  const bool of_one_case = verdict.code() == v1::VERDICT_CODE_MISMATCH ||
                           verdict.code() == v1::VERDICT_CODE_NON_FINITE ||
                           verdict.code() == v1::VERDICT_CODE_UNWRITTEN_OUTPUT;
  return of_one_case && !verdict.numerics().outputs().empty();
}

std::string ReasonText(const v1::Verdict& verdict) {
  if (verdict.status() == v1::VERDICT_STATUS_CORRECT || verdict.reason().empty() || IsToldBelow(verdict)) return "";
  return absl::StrCat("Reason: ", InertLine(verdict.reason(), kReasonBytes), "\n");
}

std::string Closing(const FeedbackInput& input) {
  if (input.turn_limit > 0 && input.turn + 1 >= input.turn_limit) return "This was the last turn.\n";
  const char* language = KindOf(input) == CandidateKind::kPython ? "python" : "cuda";
  return absl::StrCat("Answer with the whole source again, complete, in one fenced ", language, " code block.\n");
}

void AddFailure(const FeedbackInput& input, const SourceExcerpts& excerpts, Composer& composer) {
  const v1::Verdict& verdict = *input.verdict;
  const v1::VerdictDetails& details = verdict.details();
  // What the details do not show is shown where the reason names it.
  if (details.diagnostics().empty() && details.findings().empty() && details.warps().empty())
    composer.Add(Rank::kCause, excerpts.AroundPlacesIn(verdict.reason().substr(0, kReasonBytes), 2));
  AddDiagnostics(details, excerpts, composer);
  AddFindings(details, excerpts, composer);
  AddWarps(details, excerpts, composer);
  AddNumerics(verdict.numerics(), WorkloadOf(input), composer);
  AddDeviceOutput(details, composer);
  AddAdvisoryFindings(verdict, excerpts, composer);
}

void AddRepair(const FeedbackInput& input, Composer& composer) {
  const v1::VerdictCode code = input.verdict->code();
  const std::string advice = AdviceFor(code, WorkloadOf(input), KindOf(input));
  composer.Section("What to do");
  if (!advice.empty()) composer.Add(Rank::kVital, absl::StrCat(advice, "\n"));
  const std::string causes = UsualCauses(code);
  if (!causes.empty()) composer.Add(Rank::kContext, absl::StrCat(causes, "\n"));
}

bool ConcernsTensors(v1::VerdictStatus status) {
  return status == v1::VERDICT_STATUS_SANITIZER_ERROR || status == v1::VERDICT_STATUS_RUNTIME_ERROR ||
         status == v1::VERDICT_STATUS_INCORRECT_NUMERICAL;
}

void AddNotes(const v1::Verdict& verdict, Composer& composer) {
  composer.Section("Notes");
  size_t count = 0;
  for (const auto* texts : {&verdict.details().notes(), &verdict.details().warnings()}) {
    for (const std::string& text : *texts)
      if (++count <= kMostNotes) composer.Add(Rank::kDetail, absl::StrCat(InertLine(text), "\n"));
  }
}

void AddSuccess(const FeedbackInput& input, const SourceExcerpts& excerpts, Composer& composer) {
  AddSpeed(input, composer);
  AddExecuted(input.verdict->evidence(), composer);
  AddResources(input, composer);
  AddProfile(*input.verdict, excerpts, composer);
  composer.Section("What would help next");
  Rank rank = Rank::kCause;
  for (const std::string& step : NextSteps(input)) {
    composer.Add(rank, absl::StrCat("- ", step, "\n"));
    rank = Rank::kHelp;
  }
}

std::string NoCandidateText(const FeedbackInput& input) {
  const char* language = KindOf(input) == CandidateKind::kPython ? "python" : "cuda";
  switch (input.extracted == nullptr ? v1::EXTRACTION_NO_CODE : input.extracted->extraction()) {
    case v1::EXTRACTION_AMBIGUOUS:
      return "Your answer holds several code blocks, and it is not clear which one is the candidate. Send exactly one "
             "code block that is the whole source.\n";
    case v1::EXTRACTION_CUT:
      return "Your answer ended before its code block was closed, so it was cut at the length limit. Think and explain "
             "less, and send the whole source in one code block that is closed.\n";
    case v1::EXTRACTION_UNUSABLE:
      return "The code block of your answer cannot be used: it is too large or is not text.\n";
    default:
      return absl::StrCat("Your answer holds no code block. Send the whole source between ``` fences marked ", language,
                          ".\n");
  }
}

std::string NoCandidate(const FeedbackInput& input, size_t max_bytes) {
  Composer composer;
  composer.Add(Rank::kVital, absl::StrCat(TurnText(input), ": no candidate. ", NoCandidateText(input)));
  if (input.extracted != nullptr && !input.extracted->reason().empty())
    composer.Add(Rank::kCause, absl::StrCat("Reason: ", InertLine(input.extracted->reason()), "\n"));
  composer.Section("The source must export");
  if (input.workload != nullptr)
    composer.Add(Rank::kHelp, absl::StrCat(ExpectedEntry(*input.workload, KindOf(input)), "\n"));
  composer.Section("");
  composer.Add(Rank::kVital, Closing(input));
  return composer.Text(max_bytes);
}

void RequireCandidatesFault(const v1::Verdict& verdict) {
  Require(verdict.status() != v1::VERDICT_STATUS_UNSPECIFIED && verdict.status() != v1::VERDICT_STATUS_INFRA_ERROR &&
          verdict.status() != v1::VERDICT_STATUS_CANCELLED && !verdict.has_excluded());
}

}  // namespace

std::string FeedbackText(const FeedbackInput& input, const FeedbackOptions& options) {
  if (input.verdict == nullptr) return NoCandidate(input, options.max_bytes);
  const v1::Verdict& verdict = *input.verdict;
  RequireCandidatesFault(verdict);
  const SourceExcerpts excerpts(input.source);
  Composer composer;
  composer.Add(Rank::kVital, absl::StrCat(Headline(input), ReasonText(verdict)));
  if (verdict.status() == v1::VERDICT_STATUS_CORRECT) {
    AddSuccess(input, excerpts, composer);
  } else {
    AddFailure(input, excerpts, composer);
    AddRepair(input, composer);
  }
  if (ConcernsTensors(verdict.status())) AddTensors(WorkloadOf(input), composer);
  AddNotes(verdict, composer);
  composer.Section("");
  composer.Add(Rank::kVital, Closing(input));
  return composer.Text(options.max_bytes);
}

}  // namespace sassay::agent
