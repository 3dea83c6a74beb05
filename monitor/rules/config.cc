#include "monitor/rules/config.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/suggest.h"
#include "common/base/utf8.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "monitor/rules/signals.h"

extern "C" const char sassay_monitor_default_rules_begin[];
extern "C" const char sassay_monitor_default_rules_end[];

namespace sassay::monitor {
namespace {

using google::protobuf::TextFormat;

constexpr size_t kLargestFile = 1 << 20;
constexpr size_t kMostRules = 500;
constexpr double kLongest = 30 * 24 * 3600.0;

// The name of the rule that a line lies in, as far as the text tells.
std::string RuleAt(absl::string_view text, int line) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  int begin = std::min<int>(line, static_cast<int>(lines.size()) - 1);
  while (begin >= 0 && !absl::StartsWith(absl::StripLeadingAsciiWhitespace(lines[begin]), "rules")) --begin;
  for (size_t at = std::max(begin, 0); begin >= 0 && at < lines.size(); ++at) {
    absl::string_view rest = absl::StripLeadingAsciiWhitespace(lines[at]);
    const size_t name = rest.find("name:");
    if (name == absl::string_view::npos) continue;
    rest = absl::StripLeadingAsciiWhitespace(rest.substr(name + 5));
    if (!absl::ConsumePrefix(&rest, "\"")) return "";
    return std::string(rest.substr(0, rest.find('"')));
  }
  return "";
}

// The parser notices some errors one token late: the nearest line before it that has the word which it names.
int LineOf(absl::string_view text, int line, absl::string_view message) {
  const std::vector<absl::string_view> quoted = absl::StrSplit(message, '"');
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (quoted.size() < 3 || quoted[1].empty()) return line;
  for (int at = std::min<int>(line, static_cast<int>(lines.size()) - 1); at >= 0 && at > line - 5; --at) {
    if (absl::StrContains(lines[at], quoted[1])) return at;
  }
  return line;
}

std::string Place(absl::string_view file, int line, absl::string_view rule) {
  std::string place = absl::StrCat(file, ":", line + 1, ": ");
  if (!rule.empty()) absl::StrAppend(&place, "rule ", rule, ": ");
  return place;
}

// Keeps the first error only: those that follow are mostly its consequences.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (!message_.empty()) return;
    line_ = std::max(line, 0);
    message_ = message;
  }
  int line() const { return line_; }
  const std::string& message() const { return message_; }

 private:
  int line_ = 0;
  std::string message_;
};

absl::Status Expected(absl::string_view field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": expected ", what));
}

absl::Status CheckSeconds(absl::string_view field, double value) {
  if (std::isfinite(value) && value >= 0 && value <= kLongest) return absl::OkStatus();
  return Expected(field, absl::StrCat("0 to ", kLongest, " seconds, came ", value));
}

absl::Status CheckPositive(absl::string_view field, double value) {
  if (std::isfinite(value) && value > 0 && value <= kLongest) return absl::OkStatus();
  return Expected(field, absl::StrCat("more than 0 and at most ", kLongest, ", came ", value));
}

absl::Status CheckName(const std::string& name) {
  const bool good = !name.empty() && name.size() <= 60 && absl::ascii_islower(name[0]) &&
                    std::all_of(name.begin(), name.end(),
                                [](char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_'; });
  if (good) return absl::OkStatus();
  return Expected("name", absl::StrCat("lower-case words joined by \"_\", came \"", name.substr(0, 60), "\""));
}

absl::Status CheckSignal(absl::string_view field, absl::string_view name) {
  if (FindSignal(name) != nullptr) return absl::OkStatus();
  std::vector<std::string> names;
  for (const Signal& signal : Signals()) names.emplace_back(signal.name);
  return Expected(field, absl::StrCat("a signal of docs/monitor.md, came \"", name.substr(0, 60), "\".",
                                      DidYouMean(name.substr(0, 60), names)));
}

bool IsWindowed(const v1::Condition& condition) {
  return condition.aggregate() != v1::Condition::AGGREGATE_UNSPECIFIED && condition.aggregate() != v1::Condition::ANY;
}

absl::Status CheckWindow(const v1::Condition& condition) {
  RETURN_IF_ERROR(CheckSeconds("when.window_s", condition.window_s()));
  if (IsWindowed(condition) != (condition.window_s() > 0)) {
    return Expected("when.window_s", IsWindowed(condition) ? "a length, as `aggregate` looks at a window"
                                                           : "none, as ANY looks at each sample by itself");
  }
  if (condition.min_samples() > 1000) return Expected("when.min_samples", "at most 1000");
  return absl::OkStatus();
}

absl::Status CheckLimit(const v1::Condition& condition) {
  const bool count = condition.aggregate() == v1::Condition::COUNT;
  const bool codes = condition.codes_size() > 0;
  const int limits = condition.has_above() + condition.has_below() + condition.has_any_bit() + (codes && !count);
  if (limits != 1) return Expected("when", "exactly one limit of above, below, codes and any_bit");
  if (count && !condition.has_above()) return Expected("when.above", "the number that COUNT has to exceed");
  if (!count && IsWindowed(condition) && (codes || condition.has_any_bit())) {
    return Expected("when.aggregate", "ANY or COUNT, as codes and bits cannot be averaged");
  }
  for (const double limit : {condition.above(), condition.below(), condition.clear()}) {
    if (!std::isfinite(limit)) return Expected("when", "finite limits");
  }
  return absl::OkStatus();
}

absl::Status CheckClear(const v1::Condition& condition) {
  if (!condition.has_clear()) return absl::OkStatus();
  if (condition.has_above() && condition.clear() <= condition.above()) return absl::OkStatus();
  if (condition.has_below() && condition.clear() >= condition.below()) return absl::OkStatus();
  return Expected("when.clear", "a value at or beyond the limit on its good side (at most `above`, at least `below`)");
}

bool IsOfHost(absl::string_view signal) {
  return absl::StartsWith(signal, "host.") || absl::StartsWith(signal, "service.") ||
         absl::StartsWith(signal, "source.");
}

absl::Status CheckCondition(const v1::Condition& condition, v1::Rule::Scope scope) {
  RETURN_IF_ERROR(CheckSignal("when.signal", condition.signal()));
  if (scope == v1::Rule::GPU && IsOfHost(condition.signal())) {
    return Expected("scope", absl::StrCat("HOST, as ", condition.signal(), " belongs to no GPU"));
  }
  RETURN_IF_ERROR(CheckWindow(condition));
  RETURN_IF_ERROR(CheckLimit(condition));
  return CheckClear(condition);
}

bool Does(const v1::Rule& rule, v1::Rule::Action action) {
  return std::find(rule.actions().begin(), rule.actions().end(), action) != rule.actions().end();
}

absl::Status CheckHostActions(const v1::Rule& rule) {
  if (rule.state() != v1::Rule::TARGET_UNSPECIFIED) return Expected("state", "none, as the scope is HOST");
  for (const auto action : {v1::Rule::RUN_CANARY, v1::Rule::RESTART_WORKERS, v1::Rule::QUARANTINE}) {
    if (Does(rule, action)) return Expected("actions", "none that needs a GPU, as the scope is HOST");
  }
  if (rule.has_escalate()) return Expected("escalate", "nothing, as the scope is HOST");
  return absl::OkStatus();
}

absl::Status CheckActions(const v1::Rule& rule) {
  for (const int action : rule.actions()) {
    if (action == v1::Rule::ACTION_UNSPECIFIED) return Expected("actions", "no ACTION_UNSPECIFIED");
  }
  if (rule.scope() == v1::Rule::HOST) return CheckHostActions(rule);
  if (Does(rule, v1::Rule::RESTART_SERVICE)) return Expected("actions", "RESTART_SERVICE only where the scope is HOST");
  if (Does(rule, v1::Rule::QUARANTINE) && rule.state() != v1::Rule::QUARANTINED) {
    return Expected("state", "QUARANTINED, as QUARANTINE is among the actions");
  }
  return absl::OkStatus();
}

absl::Status CheckEscalation(const v1::Rule& rule) {
  if (!rule.has_escalate()) return absl::OkStatus();
  if (rule.escalate().times() < 2 || rule.escalate().times() > 100) return Expected("escalate.times", "2 to 100");
  return CheckPositive("escalate.within_s", rule.escalate().within_s());
}

bool IsEvent(const v1::Condition& condition) {
  return condition.codes_size() > 0 || condition.aggregate() == v1::Condition::COUNT;
}

absl::Status CheckExcuse(const v1::Rule& rule) {
  if (!rule.has_excuse()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckSignal("excuse.signal", rule.excuse().signal()));
  if (!std::all_of(rule.when().begin(), rule.when().end(), IsEvent)) {
    return Expected("excuse", "conditions with `codes` or COUNT only: a level cannot be excused");
  }
  if (rule.scope() != v1::Rule::GPU) return Expected("excuse", "nothing, unless the scope is GPU");
  return CheckPositive("excuse.within_s", rule.excuse().within_s());
}

absl::Status CheckCooling(const v1::CoolingPolicy& cooling) {
  RETURN_IF_ERROR(CheckSeconds("cooling.minimum_s", cooling.minimum_s()));
  RETURN_IF_ERROR(CheckPositive("cooling.canary_every_s", cooling.canary_every_s()));
  return CheckSeconds("cooling.give_up_after_s", cooling.give_up_after_s());
}

absl::Status CheckCanary(const v1::CanaryPolicy& canary) {
  RETURN_IF_ERROR(CheckSeconds("canary.period_s", canary.period_s()));
  RETURN_IF_ERROR(CheckPositive("canary.confirm_every_s", canary.confirm_every_s()));
  RETURN_IF_ERROR(CheckPositive("canary.timeout_s", canary.timeout_s()));
  if (canary.history() < 1 || canary.history() > 1000) return Expected("canary.history", "1 to 1000");
  if (canary.minimum_history() < 1 || canary.minimum_history() > canary.history()) {
    return Expected("canary.minimum_history", "1 to `history`");
  }
  if (canary.confirmations() > 99 || canary.confirmations() % 2 == 0) {
    return Expected("canary.confirmations", "an odd number up to 99");
  }
  if (!(canary.suspicion_ratio() > 1 && canary.suspicion_ratio() <= canary.certain_ratio() &&
        canary.certain_ratio() < 100)) {
    return Expected("canary.suspicion_ratio", "more than 1, and at most `certain_ratio`");
  }
  return absl::OkStatus();
}

absl::Status CheckRestarts(const v1::RestartPolicy& restarts) {
  RETURN_IF_ERROR(CheckPositive("restarts.first_delay_s", restarts.first_delay_s()));
  RETURN_IF_ERROR(CheckPositive("restarts.max_delay_s", restarts.max_delay_s()));
  RETURN_IF_ERROR(CheckPositive("restarts.forget_after_s", restarts.forget_after_s()));
  RETURN_IF_ERROR(CheckPositive("restarts.limit_within_s", restarts.limit_within_s()));
  if (!(restarts.factor() >= 1 && restarts.factor() <= 100)) return Expected("restarts.factor", "1 to 100");
  if (restarts.limit() < 1 || restarts.limit() > 100) return Expected("restarts.limit", "1 to 100");
  return absl::OkStatus();
}

absl::Status CheckWatermark(const v1::WatermarkPolicy& watermark) {
  for (const std::string& signal : watermark.signals()) RETURN_IF_ERROR(CheckSignal("watermark.signals", signal));
  for (const std::string& signal : watermark.proofs()) RETURN_IF_ERROR(CheckSignal("watermark.proofs", signal));
  if (watermark.signals().empty()) return Expected("watermark.signals", "one at least");
  RETURN_IF_ERROR(CheckPositive("watermark.fresh_s", watermark.fresh_s()));
  return CheckSeconds("watermark.unwatched_exclusion_s", watermark.unwatched_exclusion_s());
}

absl::Status CheckNames(const v1::MonitorConfig& config, const TextFormat::ParseInfoTree& places,
                        absl::string_view file) {
  const auto* field = v1::MonitorConfig::descriptor()->FindFieldByName("rules");
  std::set<std::string> names;
  for (int i = 0; i < config.rules_size(); ++i) {
    const v1::Rule& rule = config.rules(i);
    absl::Status status = CheckRule(rule);
    if (status.ok() && !names.insert(rule.name()).second) status = Expected("name", "one that no rule before it has");
    if (!status.ok()) {
      const int line = std::max(places.GetLocation(field, i).line, 0);
      return absl::InvalidArgumentError(absl::StrCat(Place(file, line, rule.name()), status.message()));
    }
  }
  return absl::OkStatus();
}

// The line of the message that an error's field lies in.
int PolicyLine(const TextFormat::ParseInfoTree& places, absl::string_view error) {
  const std::string policy(error.substr(0, error.find_first_of(".:")));
  const auto* field = v1::MonitorConfig::descriptor()->FindFieldByName(policy);
  return field == nullptr ? 0 : std::max(places.GetLocation(field, field->is_repeated() ? 0 : -1).line, 0);
}

void FillPolicies(const v1::MonitorConfig& from, v1::MonitorConfig& config) {
  if (!config.has_cooling()) *config.mutable_cooling() = from.cooling();
  if (!config.has_quarantine()) *config.mutable_quarantine() = from.quarantine();
  if (!config.has_canary()) *config.mutable_canary() = from.canary();
  if (!config.has_restarts()) *config.mutable_restarts() = from.restarts();
  if (!config.has_watermark()) *config.mutable_watermark() = from.watermark();
}

absl::StatusOr<v1::MonitorConfig> Parse(absl::string_view text, absl::string_view file,
                                        const v1::MonitorConfig* defaults) {
  if (text.size() > kLargestFile) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": expected at most ", kLargestFile, " bytes of rules"));
  }
  v1::MonitorConfig config;
  FirstError error;
  TextFormat::ParseInfoTree places;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.WriteLocationsTo(&places);
  parser.SetRecursionLimit(16);
  if (!parser.ParseFromString(std::string(text), &config)) {
    const int line = LineOf(text, error.line(), error.message());
    return absl::InvalidArgumentError(absl::StrCat(Place(file, line, RuleAt(text, line)), error.message()));
  }
  if (defaults != nullptr) FillPolicies(*defaults, config);
  if (static_cast<size_t>(config.rules_size()) > kMostRules) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": expected at most ", kMostRules, " rules"));
  }
  RETURN_IF_ERROR(CheckNames(config, places, file));
  if (absl::Status status = CheckPolicies(config); !status.ok()) {
    const int line = PolicyLine(places, status.message());
    return absl::InvalidArgumentError(absl::StrCat(Place(file, line, ""), status.message()));
  }
  return config;
}

}  // namespace

absl::Status CheckRule(const v1::Rule& rule) {
  RETURN_IF_ERROR(CheckName(rule.name()));
  if (rule.reason().empty() || rule.reason().size() > 300) return Expected("reason", "one line for people");
  if (FirstInvalidUtf8(rule.reason()) != absl::string_view::npos) return Expected("reason", "UTF-8");
  if (rule.scope() == v1::Rule::SCOPE_UNSPECIFIED) return Expected("scope", "GPU or HOST");
  if (rule.severity() == v1::Rule::SEVERITY_UNSPECIFIED) return Expected("severity", "INFO, WARNING or CRITICAL");
  if (rule.when().empty() || rule.when_size() > 20) return Expected("when", "1 to 20 conditions");
  for (const v1::Condition& condition : rule.when()) RETURN_IF_ERROR(CheckCondition(condition, rule.scope()));
  RETURN_IF_ERROR(CheckSeconds("clear_after_s", rule.clear_after_s()));
  RETURN_IF_ERROR(CheckSeconds("reach_back_s", rule.reach_back_s()));
  RETURN_IF_ERROR(CheckActions(rule));
  RETURN_IF_ERROR(CheckEscalation(rule));
  return CheckExcuse(rule);
}

absl::Status CheckPolicies(const v1::MonitorConfig& config) {
  RETURN_IF_ERROR(CheckCooling(config.cooling()));
  RETURN_IF_ERROR(CheckSeconds("quarantine.release_after_s", config.quarantine().release_after_s()));
  RETURN_IF_ERROR(CheckCanary(config.canary()));
  RETURN_IF_ERROR(CheckRestarts(config.restarts()));
  return CheckWatermark(config.watermark());
}

absl::StatusOr<v1::MonitorConfig> ParseConfig(absl::string_view text, absl::string_view file) {
  return Parse(text, file, &DefaultConfig());
}

absl::StatusOr<v1::MonitorConfig> LoadConfig(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kLargestFile));
  return ParseConfig(text, path.string());
}

absl::string_view DefaultConfigText() {
  return absl::string_view(sassay_monitor_default_rules_begin,
                           sassay_monitor_default_rules_end - sassay_monitor_default_rules_begin);
}

const v1::MonitorConfig& DefaultConfig() {
  // config_test proves that it can be read.
  static const auto& config = *new v1::MonitorConfig(*Parse(DefaultConfigText(), "default rules", nullptr));
  return config;
}

}  // namespace sassay::monitor
