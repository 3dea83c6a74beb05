#include "common/bundle/ptx.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"

namespace sassay {
namespace {

bool IsWord(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '$' || c == '.' || c == '%'; }

// Splits PTX into words and single punctuation marks, without comments and strings.
class Words {
 public:
  explicit Words(absl::string_view text) : text_(text) {}

  // The next word; empty at the end.
  absl::string_view Next() {
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

 private:
  bool SkipBlankOrComment() {
    if (at_ >= text_.size()) return false;
    if (absl::ascii_isspace(text_[at_])) return ++at_, true;
    const absl::string_view rest = text_.substr(at_, 2);
    if (rest == "//") return at_ = std::min(text_.find('\n', at_), text_.size()), true;
    if (rest != "/*") return false;
    const size_t end = text_.find("*/", at_ + 2);
    at_ = end == absl::string_view::npos ? text_.size() : end + 2;
    return true;
  }

  absl::string_view SkipString(size_t begin) {
    at_ = std::min(text_.find('"', at_), text_.size() - 1) + 1;
    return text_.substr(begin, at_ - begin);
  }

  absl::string_view text_;
  size_t at_ = 0;
};

absl::Status Missing(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed PTX: expected ", what, " at the beginning of the module"));
}

}  // namespace

absl::StatusOr<PtxHeader> ParsePtxHeader(absl::string_view untrusted_ptx) {
  Words words(untrusted_ptx);
  PtxHeader header;
  if (words.Next() != ".version") return Missing(".version");
  const std::pair<absl::string_view, absl::string_view> version = absl::StrSplit(words.Next(), absl::MaxSplits('.', 1));
  if (!absl::SimpleAtoi(version.first, &header.version_major) ||
      !absl::SimpleAtoi(version.second, &header.version_minor)) {
    return Missing("a number after .version");
  }
  if (words.Next() != ".target") return Missing(".target after .version");
  header.target = std::string(words.Next());
  absl::string_view word = words.Next();
  while (word == ",") {
    words.Next();
    word = words.Next();
  }
  if (word != ".address_size") return Missing(".address_size after .target");
  if (!absl::SimpleAtoi(words.Next(), &header.address_size)) return Missing("a number after .address_size");
  return header;
}

std::vector<std::string> PtxEntries(absl::string_view untrusted_ptx) {
  std::vector<std::string> entries;
  Words words(untrusted_ptx);
  for (absl::string_view word = words.Next(); !word.empty(); word = words.Next()) {
    if (word == ".entry") entries.emplace_back(words.Next());
  }
  return entries;
}

}  // namespace sassay
