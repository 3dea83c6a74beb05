// Lines of the candidate's source that a verdict speaks of.
#ifndef SASSAY_AGENT_FEEDBACK_EXCERPT_H_
#define SASSAY_AGENT_FEEDBACK_EXCERPT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sassay::agent {

// A place in a source file: "kernel.cu:23".
struct SourcePlace {
  std::string file;
  // Counted from 1.
  uint32_t line = 0;
};

// The places that a line of text names, in order, each once; at most `limit`. Only files that a candidate may be
// (.cu, .cuh, .h, .hpp, .py).
std::vector<SourcePlace> PlacesIn(absl::string_view text, size_t limit = 3);

// Shows lines of one candidate. The source is the one file that a turn has; places in other files (headers that came
// with the toolkit or the knowledge) are told apart by their text.
class SourceExcerpts {
 public:
  // `source` must live longer.
  explicit SourceExcerpts(absl::string_view source);

  // The line with `context` lines around it, numbered, the line itself marked. With `expected_text`, only if the line
  // is that; otherwise the text alone. Empty where there is neither.
  std::string Around(const SourcePlace& place, absl::string_view expected_text, uint32_t context) const;
  // The same for every place that `text` names.
  std::string AroundPlacesIn(absl::string_view text, uint32_t context) const;

 private:
  bool Holds(const SourcePlace& place, absl::string_view expected_text) const;

  std::vector<absl::string_view> lines_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_FEEDBACK_EXCERPT_H_
