#include "agent/dataset/card.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/proto_json.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using Json = nlohmann::ordered_json;
using KeyOf = std::function<std::string(const Example&)>;

Json CountsBy(const std::vector<Example>& examples, const KeyOf& key) {
  std::map<std::string, uint64_t> counts;
  for (const Example& example : examples) ++counts[key(example)];
  Json json = Json::object();
  for (const auto& [name, count] : counts) json[name.empty() ? "(none)" : name] = count;
  return json;
}

Json Composition(const std::vector<Example>& examples, DatasetKind kind) {
  Json json = {{"records", examples.size()},
               {"by_workload", CountsBy(examples, [](const Example& e) { return e.workload; })},
               {"by_turn", CountsBy(examples, [](const Example& e) { return absl::StrCat(e.turn); })},
               {"by_arch", CountsBy(examples, [](const Example& e) { return e.arch; })},
               {"by_language", CountsBy(examples, [](const Example& e) { return e.language; })},
               {"with_target_instructions", std::count_if(examples.begin(), examples.end(),
                                                          [](const Example& e) { return e.has_target_instructions; })},
               {"with_reasoning", std::count_if(examples.begin(), examples.end(),
                                                [](const Example& e) { return !e.reasoning.empty(); })}};
  if (kind == DatasetKind::kFixit)
    json["by_error"] = CountsBy(examples, [](const Example& e) { return EnumName(e.failed_code); });
  return json;
}

std::vector<Example> Both(const Selection& selection) {
  std::vector<Example> all = selection.train;
  all.insert(all.end(), selection.held_out.begin(), selection.held_out.end());
  return all;
}

// Nobody has told us under which terms a model's answers may be used.
Json Models(const std::vector<Example>& examples) {
  std::map<std::string, std::set<std::string>> roles;
  for (const Example& example : examples) {
    roles[example.model].insert("trajectories");
    roles[example.solution_model].insert("solutions");
    if (!example.reasoning_model.empty()) roles[example.reasoning_model].insert("reasoning");
  }
  Json json = Json::array();
  for (const auto& [model, parts] : roles)
    json.push_back(
        {{"model", model}, {"gave", std::vector<std::string>(parts.begin(), parts.end())}, {"licence", "unknown"}});
  return json;
}

Json Read(const CollectCounts& counts) {
  return {{"runs", counts.runs},
          {"trajectories", counts.trajectories},
          {"turns", counts.turns},
          {"turns_correct_and_scorable", counts.turns_correct},
          {"turns_failed", counts.turns_failed},
          {"turns_without_candidate", counts.turns_without_candidate},
          {"turns_never_used_unscorable", counts.turns_unscorable},
          {"turns_never_used_excluded_or_infrastructure", counts.turns_excluded_or_infrastructure}};
}

Json Filters(const DatasetOptions& options) {
  Json json = {{"errors", options.errors},
               {"within_turns", options.within},
               {"min_speedup", options.min_speedup},
               {"require_target_instructions", options.require_target_instructions},
               {"require_reasoning", options.require_reasoning},
               {"cap", options.cap},
               {"strata", options.strata},
               {"balance", options.balance == Balance::kBeforeDeduplication ? "before" : "after"},
               {"seed", options.seed},
               {"hold_out", options.hold_out}};
  if (options.first_turn.has_value()) json["first_turn"] = *options.first_turn;
  if (options.last_turn.has_value()) json["last_turn"] = *options.last_turn;
  return json;
}

Json Teacher(const TeacherCounts& counts) {
  return {{"teacher", counts.teacher},
          {"reasoning_model", counts.reasoning_model},
          {"repairs_asked", counts.repairs_asked},
          {"repairs_without_code", counts.repairs_without_code},
          {"repairs_refuted_by_the_service", counts.repairs_refuted},
          {"repairs_verified", counts.repairs_verified},
          {"reasonings_asked", counts.reasonings_asked},
          {"reasonings_given", counts.reasonings_given}};
}

Json LeftOut(const Selection& selection) {
  Json json = Json::object();
  for (const auto& [rule, count] : selection.left_out)
    if (count > 0) json[rule] = json.value(rule, uint64_t{0}) + count;
  return json;
}

Json Card(const CardInput& input) {
  const DatasetOptions& options = *input.options;
  const std::vector<Example> all = Both(*input.selection);
  Json json = {{"kind", options.kind == DatasetKind::kFixit ? "fixit" : "kernelgen"},
               {"files", {{{"name", input.train_name}, {"sha256", input.train_sha256}}}},
               {"train", Composition(input.selection->train, options.kind)},
               {"held_out", Composition(input.selection->held_out, options.kind)},
               {"read", Read(*input.counts)},
               {"left_out", LeftOut(*input.selection)},
               {"filters", Filters(options)},
               {"models", Models(all)},
               {"rules_versions", CountsBy(all, [](const Example& e) { return e.rules; })},
               {"devices", CountsBy(all, [](const Example& e) { return e.device; })},
               {"sassay_versions", CountsBy(all, [](const Example& e) { return e.sassay_version; })}};
  if (!options.hold_out.empty())
    json["files"].push_back({{"name", input.held_out_name}, {"sha256", input.held_out_sha256}});
  if (!input.teacher->teacher.empty() || !input.teacher->reasoning_model.empty())
    json["asked_of_other_models"] = Teacher(*input.teacher);
  return json;
}

std::string Cell(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// Names come from runs: they must not break the table.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '\\') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

std::string Table(const char* title, const Json& values) {
  if (values.empty()) return "";
  std::string text = absl::StrCat("\n## ", title, "\n\n| | |\n|---|---|\n");
  for (const auto& [name, value] : values.items())
    absl::StrAppend(&text, "| ", Escaped(name), " | ", Escaped(Cell(value)), " |\n");
  return text;
}

std::string CompositionText(const char* title, const Json& composition) {
  std::string text = fmt::format("\n# {}: {} records\n", title, composition["records"].get<uint64_t>());
  if (composition["records"] == 0) return text;
  if (composition.contains("by_error")) text += Table("By error", composition["by_error"]);
  text += Table("By workload", composition["by_workload"]);
  text += Table("By turn", composition["by_turn"]);
  text += fmt::format("\n{} with the target's instructions, {} with reasoning.\n",
                      composition["with_target_instructions"].get<uint64_t>(),
                      composition["with_reasoning"].get<uint64_t>());
  return text;
}

std::string ModelsText(const Json& models) {
  std::string text = "\n## Models\n\n| model | gave | licence of its answers |\n|---|---|---|\n";
  for (const Json& model : models) {
    absl::StrAppend(&text, "| ", Escaped(Cell(model["model"])), " | ",
                    absl::StrJoin(model["gave"].get<std::vector<std::string>>(), ", "), " | unknown |\n");
  }
  return text;
}

}  // namespace

std::string CardJson(const CardInput& input) {
  return absl::StrCat(Card(input).dump(2, ' ', false, Json::error_handler_t::replace), "\n");
}

std::string CardMarkdown(const CardInput& input) {
  const Json card = Card(input);
  const bool fixit = input.options->kind == DatasetKind::kFixit;
  std::string text = absl::StrCat(
      "# ", fixit ? "Fixit" : "KernelGen", " data set\n\n",
      fixit ? "Failed kernels with their feedback and a repair. Five messages a record; only the last is trained on.\n"
            : "Correct kernels with the reasoning before them. Three messages a record; only the last is trained on.\n",
      "Every solution was judged CORRECT and scorable by the service: sanitized, rebuilt from its PTX, captured "
      "strictly.\n"
      "Licences of models' answers are unknown to this program: see each provider's terms before use.\n");
  for (const Json& file : card["files"])
    absl::StrAppend(&text, "\n`", Cell(file["name"]), "` sha256 ", Cell(file["sha256"]), "\n");
  absl::StrAppend(&text, CompositionText("Training file", card["train"]));
  if (!input.options->hold_out.empty()) absl::StrAppend(&text, CompositionText("Held-out file", card["held_out"]));
  absl::StrAppend(&text, "\n# Origin\n", ModelsText(card["models"]), Table("Read", card["read"]),
                  Table("Left out, by the first rule that applied", card["left_out"]),
                  Table("Filters", card["filters"]));
  absl::StrAppend(&text, Table("Rules versions", card["rules_versions"]), Table("Devices", card["devices"]));
  if (card.contains("asked_of_other_models"))
    absl::StrAppend(&text, Table("Asked of other models", card["asked_of_other_models"]));
  return text;
}

}  // namespace sassay::agent
