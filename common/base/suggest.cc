#include "common/base/suggest.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sassay {

size_t EditDistance(absl::string_view a, absl::string_view b) {
  const std::string left = absl::AsciiStrToLower(a), right = absl::AsciiStrToLower(b);
  std::vector<std::vector<size_t>> cost(left.size() + 1, std::vector<size_t>(right.size() + 1));
  for (size_t i = 0; i <= left.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= right.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= left.size(); ++i) {
    for (size_t j = 1; j <= right.size(); ++j) {
      const size_t replace = cost[i - 1][j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      cost[i][j] = std::min({replace, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[left.size()][right.size()];
}

std::string NearestMatch(absl::string_view word, const std::vector<std::string>& candidates) {
  const size_t allowed = std::max<size_t>(1, word.size() / 3);
  std::string best;
  size_t best_distance = allowed + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  if (!best.empty() || word.size() < 3) return best;
  const auto begins = [&](const std::string& candidate) { return absl::StartsWithIgnoreCase(candidate, word); };
  const auto found = std::find_if(candidates.begin(), candidates.end(), begins);
  return found == candidates.end() ? "" : *found;
}

std::string DidYouMean(absl::string_view word, const std::vector<std::string>& candidates) {
  const std::string match = NearestMatch(word, candidates);
  return match.empty() ? "" : absl::StrCat(" Did you mean \"", match, "\"?");
}

}  // namespace sassay
