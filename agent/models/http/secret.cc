#include "agent/models/http/secret.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_replace.h"

namespace sassay::agent {

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
  if (empty() || text.find(Reveal()) == absl::string_view::npos) return std::string(text);
  return absl::StrReplaceAll(text, {{Reveal(), "(key)"}});
}

void Secret::Wipe() { explicit_bzero(bytes_.data(), bytes_.size()); }

}  // namespace sassay::agent
