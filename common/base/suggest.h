// "Did you mean": the known word nearest to one that is not known. A typing error is the commonest usage error, and
// the cheapest to mend when the message already holds the right word.
#ifndef SASSAY_COMMON_BASE_SUGGEST_H_
#define SASSAY_COMMON_BASE_SUGGEST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sassay {

// Edits (insert, delete, replace, swap of neighbours; case counts as nothing) that turn `a` into `b`.
size_t EditDistance(absl::string_view a, absl::string_view b);

// The candidate with the fewest edits, if they are few for the word's length; else one that begins with `word`; else
// empty. Ties go to the earlier candidate.
std::string NearestMatch(absl::string_view word, const std::vector<std::string>& candidates);

// " Did you mean \"x\"?" or nothing; ready to be appended to a message.
std::string DidYouMean(absl::string_view word, const std::vector<std::string>& candidates);

}  // namespace sassay

#endif  // SASSAY_COMMON_BASE_SUGGEST_H_
