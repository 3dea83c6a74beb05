#include "agent/dataset/normalise.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace sassay::agent {
namespace {

// Walks a text once; what a step yields is appended to the output.
class Stripper {
 public:
  Stripper(absl::string_view source, SourceLanguage language) : rest_(source), language_(language) {}

  std::string Run() {
    while (!rest_.empty()) Step();
    return std::move(out_);
  }

 private:
  void Step() {
    if (SkipComment()) return;
    const absl::string_view quote = QuoteAhead();
    if (!quote.empty()) return CopyLiteral(quote);
    Copy(1);
  }

  bool SkipComment() {
    if (language_ == SourceLanguage::kPython) return rest_[0] == '#' && SkipUntil("\n", false);
    if (absl::StartsWith(rest_, "//")) return SkipUntil("\n", false);
    if (!absl::StartsWith(rest_, "/*")) return false;
    rest_.remove_prefix(2);
    out_ += ' ';
    return SkipUntil("*/", true);
  }

  bool SkipUntil(absl::string_view end, bool and_end) {
    const size_t at = rest_.find(end);
    rest_.remove_prefix(at == absl::string_view::npos ? rest_.size() : at + (and_end ? end.size() : 0));
    return true;
  }

  absl::string_view QuoteAhead() const {
    if (language_ == SourceLanguage::kPython) {
      for (const char* quote : {"\"\"\"", "'''", "\"", "'"})
        if (absl::StartsWith(rest_, quote)) return quote;
      return "";
    }
    // A quote as a character begins no text.
    if (absl::StartsWith(rest_, "'\"'") || absl::StartsWith(rest_, "'\\\"'")) return "'";
    return rest_[0] == '"' ? "\"" : "";
  }

  void CopyLiteral(absl::string_view quote) {
    Copy(quote.size());
    while (!rest_.empty() && !absl::StartsWith(rest_, quote)) {
      if (quote.size() == 1 && rest_[0] == '\n') return;
      Copy(rest_[0] == '\\' && rest_.size() > 1 ? 2 : 1);
    }
    Copy(std::min(quote.size(), rest_.size()));
  }

  void Copy(size_t bytes) {
    absl::StrAppend(&out_, rest_.substr(0, bytes));
    rest_.remove_prefix(bytes);
  }

  absl::string_view rest_;
  const SourceLanguage language_;
  std::string out_;
};

std::string Indentation(absl::string_view line) {
  const size_t text = line.find_first_not_of(" \t");
  return std::string(line.substr(0, text == absl::string_view::npos ? 0 : text));
}

std::string Squeezed(absl::string_view line) {
  return absl::StrJoin(absl::StrSplit(line, absl::ByAnyChar(" \t\r\f\v"), absl::SkipEmpty()), " ");
}

}  // namespace

std::string NormalisedSource(absl::string_view source, SourceLanguage language) {
  const std::string stripped = Stripper(source, language).Run();
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(stripped, '\n')) {
    const std::string squeezed = Squeezed(line);
    if (squeezed.empty()) continue;
    lines.push_back(language == SourceLanguage::kPython ? Indentation(line) + squeezed : squeezed);
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace sassay::agent
