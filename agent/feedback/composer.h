// Puts a text together that may not grow beyond a limit: what matters least goes first, and the text says what went.
#ifndef SASSAY_AGENT_FEEDBACK_COMPOSER_H_
#define SASSAY_AGENT_FEEDBACK_COMPOSER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sassay::agent {

// How much a piece of text matters. Within one rank, later pieces go first.
enum class Rank {
  // The verdict itself and what to do: never left out.
  kVital,
  // What the repair needs: the first error, the worst element, the time.
  kCause,
  // What helps to find it: further errors, surroundings.
  kHelp,
  // What is good to know.
  kContext,
  // The rest.
  kDetail,
};

// Collects pieces in reading order. Thread-compatible.
class Composer {
 public:
  // Begins a section; its title is shown if any of its pieces is. An empty title begins one without.
  void Section(absl::string_view title);
  // Whole lines, each ended by a newline. An empty text adds nothing.
  void Add(Rank rank, std::string text);

  // The text in at most `max_bytes`, or, where the vital pieces alone are longer, these cut off at the limit.
  std::string Text(size_t max_bytes) const;

 private:
  struct Piece {
    size_t section;
    Rank rank;
    std::string text;
  };

  std::string Joined(const std::vector<bool>& kept) const;
  std::string LeftOut(const std::vector<bool>& kept) const;

  std::vector<std::string> titles_ = {""};
  std::vector<Piece> pieces_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_FEEDBACK_COMPOSER_H_
