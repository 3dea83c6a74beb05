#include "agent/dataset/select.h"

#include <regex.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/dataset/normalise.h"
#include "common/base/foreign/chat_marks.h"
#include "common/base/proto_json.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "common/base/suggest.h"

namespace sassay::agent {
namespace {

// A POSIX extended pattern.
class Pattern {
 public:
  static absl::StatusOr<std::unique_ptr<Pattern>> Compile(const std::string& text) {
    auto pattern = std::unique_ptr<Pattern>(new Pattern);
    const int error = regcomp(&pattern->regex_, text.c_str(), REG_EXTENDED | REG_NOSUB);
    if (error == 0) return pattern;
    char message[200];
    regerror(error, &pattern->regex_, message, sizeof(message));
    pattern->compiled_ = false;
    return absl::InvalidArgumentError(
        absl::StrCat("--hold-out must be an extended regular expression, not \"", text, "\": ", message, "."));
  }
  ~Pattern() {
    if (compiled_) regfree(&regex_);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  bool Matches(const std::string& text) const { return regexec(&regex_, text.c_str(), 0, nullptr, 0) == 0; }

 private:
  Pattern() = default;
  regex_t regex_;
  bool compiled_ = true;
};

SourceLanguage LanguageOf(const Example& example) {
  return example.language == "triton" ? SourceLanguage::kPython : SourceLanguage::kCuda;
}

std::string DefinitionOf(const Example& example) { return example.workload.substr(0, example.workload.find('/')); }

std::string StratumPart(const Example& example, const std::string& name) {
  if (name == "code") return EnumName(example.failed_code);
  if (name == "status") return EnumName(example.failed_status);
  if (name == "turn") return absl::StrCat(example.turn);
  if (name == "workload") return example.workload;
  return name == "definition" ? DefinitionOf(example) : example.model;
}

std::string StratumOf(const Example& example, const DatasetOptions& options) {
  std::vector<std::string> parts;
  for (const std::string& name : options.strata) parts.push_back(StratumPart(example, name));
  return absl::StrJoin(parts, "\n");
}

// The same draw on every machine: an order that depends on the example and the seed alone.
std::string DrawKey(const Example& example, uint64_t seed) {
  return Sha256Hex(absl::StrCat(seed, "\n", example.run_id, "\n", PlaceOf(example), "\n", example.solution_turn));
}

bool MatchesError(const Example& example, const DatasetOptions& options) {
  if (options.errors.empty() || options.kind == DatasetKind::kKernelGen) return true;
  const auto is = [&](const std::string& name) {
    const std::string upper = absl::AsciiStrToUpper(name);
    return upper == EnumName(example.failed_code) || upper == EnumName(example.failed_status);
  };
  return std::any_of(options.errors.begin(), options.errors.end(), is);
}

bool InTurns(const Example& example, const DatasetOptions& options) {
  return example.turn >= options.first_turn.value_or(0) && example.turn <= options.last_turn.value_or(UINT32_MAX);
}

bool FastEnough(const Example& example, const DatasetOptions& options) {
  return options.min_speedup <= 0 || example.speedup.value_or(0) >= options.min_speedup;
}

// A tokenizer would take them for the end of a message: whoever trains on such a record trains on what its author wrote
// in the name of others.
bool BreaksMessages(const Example& example) {
  return HasChatMarks(example.failed_source) || HasChatMarks(example.solution);
}

// Keeps what `keep` answers true for, and says what went.
class Sieve {
 public:
  explicit Sieve(std::vector<Example> examples) : examples_(std::move(examples)) {}

  void Keep(const std::string& rule, const std::function<bool(const Example&)>& keep) {
    const size_t before = examples_.size();
    examples_.erase(std::remove_if(examples_.begin(), examples_.end(), [&](const Example& e) { return !keep(e); }),
                    examples_.end());
    left_out_.emplace_back(rule, before - examples_.size());
  }

  std::vector<Example>& examples() { return examples_; }
  std::vector<std::pair<std::string, uint64_t>>& left_out() { return left_out_; }

 private:
  std::vector<Example> examples_;
  std::vector<std::pair<std::string, uint64_t>> left_out_;
};

// The first of equal ones in order stays.
void DropDuplicates(Sieve& sieve) {
  std::set<std::string> seen;
  sieve.Keep("duplicate of an earlier example (normalised source)",
             [&](const Example& example) { return seen.insert(DuplicateKey(example)).second; });
}

std::set<std::string> Drawn(const std::vector<Example>& examples, const DatasetOptions& options) {
  std::map<std::string, std::vector<std::string>> strata;
  for (const Example& example : examples) strata[StratumOf(example, options)].push_back(DrawKey(example, options.seed));
  std::set<std::string> drawn;
  for (auto& [stratum, keys] : strata) {
    std::sort(keys.begin(), keys.end());
    drawn.insert(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(std::min<size_t>(keys.size(), options.cap)));
  }
  return drawn;
}

void ApplyCap(const DatasetOptions& options, Sieve& sieve) {
  if (options.cap == 0) return;
  const std::set<std::string> drawn = Drawn(sieve.examples(), options);
  sieve.Keep(absl::StrCat("more than ", options.cap, " of a stratum (", absl::StrJoin(options.strata, ", "), ")"),
             [&](const Example& example) { return drawn.count(DrawKey(example, options.seed)) > 0; });
}

void BalanceAndDeduplicate(const DatasetOptions& options, Sieve& sieve) {
  if (options.balance == Balance::kBeforeDeduplication) ApplyCap(options, sieve);
  DropDuplicates(sieve);
  if (options.balance == Balance::kAfterDeduplication) ApplyCap(options, sieve);
}

// Whoever is tested on a source must not have learnt it, be it as the failure or as the solution.
std::set<std::string> SourcesOf(const std::vector<Example>& examples) {
  std::set<std::string> sources;
  for (const Example& example : examples) {
    for (const std::string* source : {&example.failed_source, &example.solution})
      if (!source->empty()) sources.insert(NormalisedSource(*source, LanguageOf(example)));
  }
  return sources;
}

void DropHeldOutSources(const std::vector<Example>& held_out, Sieve& sieve) {
  const std::set<std::string> sources = SourcesOf(held_out);
  const auto is_held_out = [&](const std::string& source, const Example& example) {
    return !source.empty() && sources.count(NormalisedSource(source, LanguageOf(example))) > 0;
  };
  sieve.Keep("source that a held-out example has too", [&](const Example& example) {
    return !is_held_out(example.failed_source, example) && !is_held_out(example.solution, example);
  });
}

absl::Status SetHeldOutApart(const DatasetOptions& options, Sieve& sieve, Selection& selection) {
  if (options.hold_out.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<Pattern> pattern, Pattern::Compile(options.hold_out));
  for (const Example& example : sieve.examples())
    if (pattern->Matches(example.workload)) selection.held_out.push_back(example);
  sieve.Keep("held out (in the second file)",
             [&](const Example& example) { return !pattern->Matches(example.workload); });
  DropHeldOutSources(selection.held_out, sieve);
  return absl::OkStatus();
}

std::vector<std::string> ErrorNames() {
  std::vector<std::string> names;
  for (int i = 0; i < v1::VerdictCode_descriptor()->value_count(); ++i)
    names.push_back(EnumName(*v1::VerdictCode_descriptor(), v1::VerdictCode_descriptor()->value(i)->number()));
  for (int i = 0; i < v1::VerdictStatus_descriptor()->value_count(); ++i)
    names.push_back(EnumName(*v1::VerdictStatus_descriptor(), v1::VerdictStatus_descriptor()->value(i)->number()));
  return names;
}

absl::Status CheckWord(const char* flag, const std::string& word, const std::vector<std::string>& known,
                       const char* what) {
  if (std::find(known.begin(), known.end(), word) != known.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(flag, ": \"", word, "\" is no ", what, ".", DidYouMean(word, known)));
}

}  // namespace

absl::Status CheckOptions(const DatasetOptions& options) {
  const std::vector<std::string> errors = ErrorNames();
  for (const std::string& error : options.errors)
    RETURN_IF_ERROR(CheckWord("--errors", absl::AsciiStrToUpper(error), errors, "verdict status or code"));
  for (const std::string& stratum : options.strata)
    RETURN_IF_ERROR(
        CheckWord("--strata", stratum, {"code", "status", "turn", "workload", "definition", "model"}, "stratum"));
  return options.hold_out.empty() ? absl::OkStatus() : Pattern::Compile(options.hold_out).status();
}

std::string DuplicateKey(const Example& example) {
  const SourceLanguage language = LanguageOf(example);
  return Sha256Hex(absl::StrCat(Sha256Hex(NormalisedSource(example.failed_source, language)),
                                Sha256Hex(NormalisedSource(example.solution, language)), DefinitionOf(example)));
}

std::vector<Example> Filtered(std::vector<Example> examples, const DatasetOptions& options) {
  Sieve sieve(std::move(examples));
  sieve.Keep("", [&](const Example& example) { return MatchesError(example, options) && InTurns(example, options); });
  return std::move(sieve.examples());
}

absl::StatusOr<Selection> Select(std::vector<Example> examples, const DatasetOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  std::sort(examples.begin(), examples.end(), Before);
  Sieve sieve(std::move(examples));
  sieve.Keep("error not asked for", [&](const Example& e) { return MatchesError(e, options); });
  sieve.Keep("turn not asked for", [&](const Example& e) { return InTurns(e, options); });
  sieve.Keep("no verified solution", [](const Example& e) { return !e.solution.empty(); });
  sieve.Keep("solution equals the failure", [](const Example& e) { return e.failed_source != e.solution; });
  sieve.Keep("code with marks of chat templates", [](const Example& e) { return !BreaksMessages(e); });
  sieve.Keep("solution slower than asked for", [&](const Example& e) { return FastEnough(e, options); });
  sieve.Keep("solution without the target's instructions",
             [&](const Example& e) { return !options.require_target_instructions || e.has_target_instructions; });
  sieve.Keep("no reasoning", [&](const Example& e) {
    return !options.require_reasoning || !e.reasoning.empty() || !e.explanation.empty();
  });
  Selection selection;
  RETURN_IF_ERROR(SetHeldOutApart(options, sieve, selection));
  BalanceAndDeduplicate(options, sieve);
  Sieve held_out(std::move(selection.held_out));
  DropDuplicates(held_out);
  selection.train = std::move(sieve.examples());
  selection.held_out = std::move(held_out.examples());
  selection.left_out = std::move(sieve.left_out());
  return selection;
}

}  // namespace sassay::agent
