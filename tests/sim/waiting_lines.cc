#include "tests/sim/waiting_lines.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sassay::sim {
namespace {

scheduling::Head HeadOf(const Waiting& waiting) {
  scheduling::Head head;
  head.id = absl::StrCat(waiting.job);
  head.priority = waiting.priority;
  head.model = waiting.model;
  head.state = waiting.state;
  head.accepted_at = absl::FromUnixNanos(waiting.accepted);
  head.place = waiting.job;
  head.lost_on = waiting.lost_on;
  return head;
}

bool ByNumber(const Waiting& a, const Waiting& b) { return a.job < b.job; }

}  // namespace

void WaitingLines::Add(Waiting waiting) {
  std::deque<Waiting>& line =
      lines_[{static_cast<int>(waiting.priority), waiting.model, waiting.state, !waiting.lost_on.empty()}];
  const auto place = std::upper_bound(line.begin(), line.end(), waiting, ByNumber);
  line.insert(place, std::move(waiting));
}

Waiting WaitingLines::Take(const scheduling::Head& head) {
  const auto line = lines_.find({static_cast<int>(head.priority), head.model, head.state, !head.lost_on.empty()});
  const auto is_it = [&](const Waiting& waiting) { return waiting.job == head.place; };
  const auto found = std::find_if(line->second.begin(), line->second.end(), is_it);
  Waiting taken = std::move(*found);
  line->second.erase(found);
  if (line->second.empty()) lines_.erase(line);
  return taken;
}

std::vector<scheduling::Head> WaitingLines::Heads() const {
  std::vector<scheduling::Head> heads;
  heads.reserve(lines_.size());
  for (const auto& [key, line] : lines_) {
    const size_t count = std::get<3>(key) ? std::min(line.size(), kLostAtOnce) : 1;
    for (size_t i = 0; i < count; ++i) heads.push_back(HeadOf(line[i]));
  }
  return heads;
}

}  // namespace sassay::sim
