#include "common/workload/expression.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sassay {
namespace {

constexpr size_t kMaxCharacters = 1000;
constexpr int kMaxDepth = 50;

// Recursive descent: sum = product {(+|-) product}, product = factor {(*|/) factor}, factor = number | name | (sum) |
// -factor.
class Evaluator {
 public:
  Evaluator(absl::string_view text, const std::map<std::string, int64_t>& axes) : text_(text), axes_(axes) {}

  absl::StatusOr<double> Run() {
    ASSIGN_OR_RETURN(const double value, Sum(0));
    SkipSpace();
    if (at_ != text_.size()) return Refuse("an operator");
    if (!std::isfinite(value)) return absl::InvalidArgumentError(absl::StrCat("'", text_, "' is not finite"));
    return value;
  }

 private:
  absl::Status Refuse(absl::string_view expected) const {
    return absl::InvalidArgumentError(absl::StrCat("'", text_, "', character ", at_ + 1, ": expected ", expected));
  }

  void SkipSpace() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool Take(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  absl::StatusOr<double> Sum(int depth) {
    ASSIGN_OR_RETURN(double value, Product(depth));
    while (true) {
      const bool plus = Take('+');
      if (!plus && !Take('-')) return value;
      ASSIGN_OR_RETURN(const double term, Product(depth));
      value += plus ? term : -term;
    }
  }

  absl::StatusOr<double> Product(int depth) {
    ASSIGN_OR_RETURN(double value, Factor(depth));
    while (true) {
      const bool times = Take('*');
      if (!times && !Take('/')) return value;
      ASSIGN_OR_RETURN(const double factor, Factor(depth));
      value = times ? value * factor : value / factor;
    }
  }

  absl::StatusOr<double> Factor(int depth) {
    if (depth > kMaxDepth) return Refuse("fewer nested parentheses");
    if (Take('-')) {
      ASSIGN_OR_RETURN(const double value, Factor(depth + 1));
      return -value;
    }
    if (Take('(')) {
      ASSIGN_OR_RETURN(const double value, Sum(depth + 1));
      if (!Take(')')) return Refuse("')'");
      return value;
    }
    return Atom();
  }

  absl::StatusOr<double> Atom() {
    const size_t begin = at_;
    while (at_ < text_.size() && (absl::ascii_isalnum(text_[at_]) || text_[at_] == '_' || text_[at_] == '.')) ++at_;
    const absl::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) return Refuse("a number, an axis or '('");
    if (absl::ascii_isdigit(word[0])) {
      double value = 0;
      if (word.find_first_not_of("0123456789.") == absl::string_view::npos && absl::SimpleAtod(word, &value)) {
        return value;
      }
    } else if (const auto axis = axes_.find(std::string(word)); axis != axes_.end()) {
      return static_cast<double>(axis->second);
    }
    at_ = begin;
    return Refuse(absl::StrCat("a number or an axis instead of '", word, "'"));
  }

  const absl::string_view text_;
  const std::map<std::string, int64_t>& axes_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<double> EvaluateExpression(absl::string_view untrusted, const std::map<std::string, int64_t>& axes) {
  if (untrusted.size() > kMaxCharacters) {
    return absl::InvalidArgumentError(
        absl::StrCat("an expression of ", untrusted.size(), " characters, at most ", kMaxCharacters, " are allowed"));
  }
  return Evaluator(untrusted, axes).Run();
}

}  // namespace sassay
