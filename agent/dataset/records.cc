#include "agent/dataset/records.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/foreign/chat_marks.h"
#include "common/base/foreign/code_block.h"
#include "common/base/proto_json.h"
#include "common/base/utf8.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using Json = nlohmann::ordered_json;

std::string CodeOf(const Example& example, const std::string& code) {
  const std::string block =
      CodeBlock(example.language == "triton" ? "python" : "cuda", absl::StripTrailingAsciiWhitespace(code));
  return std::string(absl::StripSuffix(block, "\n"));
}

// Words that hold the mark that ends them, or their message, would end too early. (Code with such marks is left out.)
std::string Words(const std::string& text) { return WithoutChatMarks(absl::StripAsciiWhitespace(text)); }

std::string SolutionText(const Example& example, const DatasetOptions& options) {
  std::string text;
  if (!example.reasoning.empty() && options.reasoning_form == ReasoningForm::kThink)
    absl::StrAppend(&text, "<think>\n", Words(example.reasoning), "\n</think>\n\n");
  if (!example.reasoning.empty() && options.reasoning_form == ReasoningForm::kPlain)
    absl::StrAppend(&text, Words(example.reasoning), "\n\n");
  if (!example.explanation.empty()) absl::StrAppend(&text, Words(example.explanation), "\n\n");
  return absl::StrCat(text, CodeOf(example, example.solution));
}

// Messages with their loss marks.
class Conversation {
 public:
  explicit Conversation(const DatasetOptions& options) : options_(options) {}

  Json& Add(const char* role, const std::string& content, bool trained) {
    Json message = {{"role", role}, {"content", ToUtf8(content)}};
    if (options_.loss_mark == LossMark::kLoss) message["loss"] = trained;
    if (options_.loss_mark == LossMark::kWeight && std::string(role) == "assistant")
      message["weight"] = trained ? 1 : 0;
    messages_.push_back(std::move(message));
    return messages_.back();
  }

  Json Take() { return std::move(messages_); }

 private:
  const DatasetOptions& options_;
  Json messages_ = Json::array();
};

Json Meta(const Example& example, const DatasetOptions& options) {
  Json meta = {{"kind", options.kind == DatasetKind::kFixit ? "fixit" : "kernelgen"},
               {"workload", example.workload},
               {"arch", example.arch},
               {"language", example.language},
               {"run", example.run_id},
               {"trajectory", example.trajectory},
               {"turn", example.turn},
               {"solution_turn", example.solution_turn},
               {"model", example.model},
               {"solution_model", example.solution_model}};
  if (options.kind == DatasetKind::kFixit) {
    meta["failed_status"] = EnumName(example.failed_status);
    meta["failed_code"] = EnumName(example.failed_code);
  }
  if (!example.label.empty()) meta["label"] = example.label;
  if (!example.reasoning_model.empty()) meta["reasoning_model"] = example.reasoning_model;
  if (example.speedup.has_value()) meta["speedup"] = *example.speedup;
  meta["target_instructions"] = example.has_target_instructions;
  meta["rules"] = example.rules;
  meta["device"] = example.device;
  return meta;
}

}  // namespace

std::string RecordLine(const Example& example, const DatasetOptions& options) {
  Conversation conversation(options);
  conversation.Add("system", example.system, false);
  conversation.Add("user", example.user, false);
  if (options.kind == DatasetKind::kFixit) {
    conversation.Add("assistant", CodeOf(example, example.failed_source), false);
    conversation.Add("user", WithoutChatMarks(example.feedback), false);
  }
  Json& last = conversation.Add("assistant", SolutionText(example, options), true);
  if (!example.reasoning.empty() && options.reasoning_form == ReasoningForm::kField)
    last["reasoning_content"] = ToUtf8(Words(example.reasoning));
  const Json record = {{"messages", conversation.Take()}, {"meta", Meta(example, options)}};
  return record.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string RecordLines(const std::vector<Example>& examples, const DatasetOptions& options) {
  std::string lines;
  for (const Example& example : examples) absl::StrAppend(&lines, RecordLine(example, options), "\n");
  return lines;
}

}  // namespace sassay::agent
