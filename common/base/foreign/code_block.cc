#include "common/base/foreign/code_block.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace sassay {
namespace {

size_t LongestRun(absl::string_view text, char c) {
  size_t longest = 0;
  size_t run = 0;
  for (const char each : text) {
    run = each == c ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

}  // namespace

std::string CodeBlock(absl::string_view language, absl::string_view code) {
  const std::string fence(std::max<size_t>(3, LongestRun(code, '`') + 1), '`');
  return absl::StrCat(fence, language, "\n", absl::StripSuffix(code, "\n"), "\n", fence, "\n");
}

}  // namespace sassay
