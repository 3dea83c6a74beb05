#include "agent/feedback/composer.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sassay::agent {
namespace {

constexpr absl::string_view kCut = "\n(cut here: the text was too long)\n";

std::string CutAt(std::string text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes - std::min(max_bytes, kCut.size());
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), kCut.substr(0, max_bytes - end));
}

}  // namespace

void Composer::Section(absl::string_view title) { titles_.emplace_back(title); }

void Composer::Add(Rank rank, std::string text) {
  if (!text.empty()) pieces_.push_back({titles_.size() - 1, rank, std::move(text)});
}

std::string Composer::Joined(const std::vector<bool>& kept) const {
  std::string text;
  size_t section = 0;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (!kept[i]) continue;
    if (pieces_[i].section != section) {
      section = pieces_[i].section;
      absl::StrAppend(&text, text.empty() ? "" : "\n", titles_[section], titles_[section].empty() ? "" : ":\n");
    }
    absl::StrAppend(&text, pieces_[i].text);
  }
  return absl::StrCat(text, LeftOut(kept));
}

std::string Composer::LeftOut(const std::vector<bool>& kept) const {
  std::vector<size_t> counts(titles_.size());
  for (size_t i = 0; i < pieces_.size(); ++i) counts[pieces_[i].section] += kept[i] ? 0 : 1;
  std::vector<std::string> parts;
  for (size_t i = 0; i < counts.size(); ++i) {
    const std::string& title = titles_[i].empty() ? "other remarks" : titles_[i];
    if (counts[i] > 0) parts.push_back(absl::StrCat("\"", title, "\" (", counts[i], ")"));
  }
  return parts.empty() ? "" : absl::StrCat("\n(Left out for length: ", absl::StrJoin(parts, ", "), ")\n");
}

std::string Composer::Text(size_t max_bytes) const {
  std::vector<size_t> order(pieces_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return pieces_[a].rank < pieces_[b].rank; });
  std::vector<bool> kept(pieces_.size(), true);
  std::string text = Joined(kept);
  while (text.size() > max_bytes && !order.empty() && pieces_[order.back()].rank != Rank::kVital) {
    kept[order.back()] = false;
    order.pop_back();
    text = Joined(kept);
  }
  return CutAt(std::move(text), max_bytes);
}

}  // namespace sassay::agent
