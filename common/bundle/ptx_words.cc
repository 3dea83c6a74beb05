#include "common/bundle/ptx_words.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace sassay {
namespace {

bool IsWord(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '$' || c == '.' || c == '%'; }

}  // namespace

absl::string_view PtxWords::Next() {
  while (SkipBlankOrComment()) {
  }
  if (at_ >= text_.size()) return {};
  const size_t begin = at_++;
  if (text_[begin] == '"') return SkipString(begin);
  if (IsWord(text_[begin])) {
    while (at_ < text_.size() && IsWord(text_[at_])) ++at_;
  }
  return text_.substr(begin, at_ - begin);
}

void PtxWords::SkipLine() { at_ = std::min(text_.find('\n', at_), text_.size()); }

bool PtxWords::SkipBlankOrComment() {
  if (at_ >= text_.size()) return false;
  if (absl::ascii_isspace(text_[at_])) return ++at_, true;
  const absl::string_view rest = text_.substr(at_, 2);
  if (rest == "//") return at_ = std::min(text_.find('\n', at_), text_.size()), true;
  if (rest != "/*") return false;
  const size_t end = text_.find("*/", at_ + 2);
  at_ = end == absl::string_view::npos ? text_.size() : end + 2;
  return true;
}

absl::string_view PtxWords::SkipString(size_t begin) {
  at_ = std::min(text_.find('"', at_), text_.size() - 1) + 1;
  return text_.substr(begin, at_ - begin);
}

}  // namespace sassay
