#include "agent/explain/explain.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/base/proto_json.h"

namespace sassay::agent {

std::vector<const Explanation*> AllExplanations() {
  std::vector<const Explanation*> all;
  for (const auto& table : {CompileCodes(), CaptureCodes(), AdmissionCodes(), RunCodes()}) {
    for (const Explanation& explanation : table) all.push_back(&explanation);
  }
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->code < b->code; });
  return all;
}

const Explanation* FindExplanation(absl::string_view name) {
  constexpr absl::string_view kPrefix = "VERDICT_CODE_";
  if (absl::StartsWithIgnoreCase(name, kPrefix)) name.remove_prefix(kPrefix.size());
  for (const Explanation* explanation : AllExplanations()) {
    if (absl::EqualsIgnoreCase(EnumName(explanation->code), name)) return explanation;
  }
  return nullptr;
}

const Explanation* FindExplanation(v1::VerdictCode code) {
  for (const Explanation* explanation : AllExplanations()) {
    if (explanation->code == code) return explanation;
  }
  return nullptr;
}

std::vector<std::string> CodeNames() {
  std::vector<std::string> names;
  for (const Explanation* explanation : AllExplanations()) names.push_back(EnumName(explanation->code));
  return names;
}

v1::CodeExplanation ToProto(const Explanation& explanation) {
  v1::CodeExplanation proto;
  proto.set_code(explanation.code);
  proto.set_status(explanation.status);
  proto.set_stage(explanation.stage);
  proto.set_meaning(explanation.meaning);
  for (const char* cause : explanation.causes) proto.add_causes(cause);
  proto.set_repair(explanation.repair);
  proto.set_example(explanation.example);
  return proto;
}

}  // namespace sassay::agent
