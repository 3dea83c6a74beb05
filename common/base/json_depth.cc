#include "common/base/json_depth.h"

namespace sassay {

bool JsonIsTooDeep(absl::string_view untrusted) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < untrusted.size(); ++i) {
    const char c = untrusted[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kMaxJsonDepth) return true;
  }
  return false;
}

}  // namespace sassay
