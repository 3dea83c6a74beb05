#include "agent/models/http/secret.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace sassay::agent {
namespace {

constexpr absl::string_view kReplacement = "(key)";
constexpr absl::string_view kCut = "…";
constexpr size_t kLeastBeginning = 4;
constexpr size_t kLeastSecret = 8;

// Bytes at the end of `text` that are a beginning of `secret`.
size_t EndsWithBeginningOf(absl::string_view secret, absl::string_view text) {
  for (size_t length = std::min(secret.size(), text.size()); length >= kLeastBeginning; --length) {
    if (absl::EndsWith(text, secret.substr(0, length))) return length;
  }
  return 0;
}

std::string WithoutCutOnes(absl::string_view secret, absl::string_view text) {
  std::string redacted;
  for (size_t cut = text.find(kCut); cut != absl::string_view::npos; cut = text.find(kCut)) {
    const size_t length = EndsWithBeginningOf(secret, text.substr(0, cut));
    absl::StrAppend(&redacted, text.substr(0, cut - length), length > 0 ? kReplacement : "", kCut);
    text.remove_prefix(cut + kCut.size());
  }
  return absl::StrCat(redacted, text);
}

}  // namespace

void WipeText(std::string& text) {
  explicit_bzero(text.data(), text.size());
  text.clear();
}

Secret::Secret(std::string&& value) : bytes_(value.begin(), value.end()) { WipeText(value); }

Secret& Secret::operator=(Secret&& other) noexcept {
  Wipe();
  bytes_ = std::exchange(other.bytes_, {});
  return *this;
}

std::string Secret::Redact(absl::string_view text) const {
  if (bytes_.size() < kLeastSecret) return std::string(text);
  return WithoutCutOnes(Reveal(), absl::StrReplaceAll(text, {{Reveal(), kReplacement}}));
}

void Secret::Wipe() { explicit_bzero(bytes_.data(), bytes_.size()); }

}  // namespace sassay::agent
