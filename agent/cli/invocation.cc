#include "agent/cli/invocation.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "agent/config/keys.h"

namespace sassay::agent {
namespace {

std::string Help(const Key& key) {
  std::string help = key.description;
  if (key.kind == ValueKind::kChoice)
    absl::StrAppend(&help, " (", absl::StrReplaceAll(key.choices, {{"|", ", "}}), ")");
  if (key.default_value[0] != '\0' && key.kind != ValueKind::kSwitch)
    absl::StrAppend(&help, " [", key.default_value, "]");
  return help;
}

const char* TypeName(const Key& key) {
  if (key.value_name[0] != '\0') return key.value_name;
  switch (key.kind) {
    case ValueKind::kPath:
      return "PATH";
    case ValueKind::kPathList:
      return "DIR[,DIR...]";
    case ValueKind::kDuration:
      return "DURATION";
    case ValueKind::kList:
      return "NAME[,NAME...]";
    case ValueKind::kChoice:
      return "CHOICE";
    case ValueKind::kCount:
      return "N";
    case ValueKind::kNumber:
      return "NUMBER";
    default:
      return "TEXT";
  }
}

void AddSettingFlag(CLI::App& command, Invocation& invocation, const Key& key, const char* group) {
  const std::string name = key.name;
  if (key.kind == ValueKind::kSwitch) {
    command
        .add_flag_callback(
            FlagName(key), [&invocation, name] { invocation.flags[name] = "true"; }, Help(key))
        ->group(group);
    return;
  }
  const bool list = key.kind == ValueKind::kList || key.kind == ValueKind::kPathList;
  const auto store = [&invocation, name](const std::vector<std::string>& values) {
    invocation.flags[name] = absl::StrJoin(values, ",");
  };
  CLI::Option* option = command.add_option_function<std::vector<std::string>>(FlagName(key), store, Help(key));
  option->type_name(TypeName(key))->group(group);
  // One word each time, so that a positional argument may follow.
  option->type_size(1)->expected(1);
  option->multi_option_policy(list ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::TakeLast);
}

}  // namespace

void AddSettingFlags(CLI::App& command, Invocation& invocation, std::initializer_list<const char*> keys) {
  for (const char* key : keys) AddSettingFlag(command, invocation, *FindKey(key), "Options");
}

void AddModelFlags(CLI::App& command, Invocation& invocation) {
  for (const char* key :
       {"model", "endpoint", "provider", "api_key_file", "model_ca_file", "insecure_endpoint", "connect_deadline",
        "first_token_deadline", "token_deadline", "answer_deadline", "retry_deadline"}) {
    AddSettingFlag(command, invocation, *FindKey(key), "Model");
  }
  for (const char* key : {"temperature", "top_p", "max_tokens", "seed", "reasoning_effort"}) {
    AddSettingFlag(command, invocation, *FindKey(key), "Sampling");
  }
}

void AddCommonFlags(CLI::App& command, Invocation& invocation) {
  command
      .add_flag("--json", invocation.json,
                "print one JSON document on standard output, everything else on standard error")
      ->group("Output");
  AddSettingFlag(command, invocation, *FindKey("color"), "Output");
  for (const char* key : {"service", "token_file", "ca_file", "cert_file", "key_file", "insecure"}) {
    AddSettingFlag(command, invocation, *FindKey(key), "Connection");
  }
}

}  // namespace sassay::agent
