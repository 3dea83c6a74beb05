// A credential that stays where it is needed.
#ifndef SASSAY_AGENT_MODELS_HTTP_SECRET_H_
#define SASSAY_AGENT_MODELS_HTTP_SECRET_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sassay::agent {

// An API key. It cannot be printed, copied or compared, and its bytes are overwritten when it goes away. Whoever must
// send it says Reveal. Thread-compatible.
class Secret {
 public:
  Secret() = default;
  // Wipes `value`.
  explicit Secret(std::string&& value);
  Secret(Secret&&) noexcept = default;
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { Wipe(); }

  bool empty() const { return bytes_.empty(); }
  // For the one place that sends it.
  absl::string_view Reveal() const { return absl::string_view(bytes_.data(), bytes_.size()); }
  // `text` with every occurrence of the secret replaced: a server may repeat a key in what it says. So is a beginning
  // of it, of four bytes or more, that ends where a text was cut, which "…" marks. What is shorter than eight bytes is
  // no secret but a word for a server that needs none ("EMPTY", "none"), which kernels use, too: it stays.
  std::string Redact(absl::string_view text) const;

 private:
  void Wipe();

  std::vector<char> bytes_;
};

std::ostream& operator<<(std::ostream&, const Secret&) = delete;

// Overwrites text that held a secret.
void WipeText(std::string& text);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_HTTP_SECRET_H_
