#include "profiler_service/emulator/memory/shared_memory.h"

#include <algorithm>

namespace sassay::emulator {
namespace {

constexpr uint32_t kTooLate = uint32_t{1} << 31;
constexpr size_t kMaxPublished = 4096;
constexpr uint8_t kWhole = 3;  // Touch::bytes of a granule that is covered

void JoinInto(Clock& into, const Clock& from) {
  for (int i = 0; i < kMaxWarps; ++i) into[i] = std::max(into[i], from[i]);
}

void JoinInto(std::vector<Clock>& into, const std::vector<Clock>& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (size_t rank = 0; rank < from.size(); ++rank) JoinInto(into[rank], from[rank]);
}

uint8_t GranuleMask(uint32_t first, uint32_t offset, uint32_t end) {
  return static_cast<uint8_t>((offset <= first ? 1 : 0) | (first + 1 < end ? 2 : 0));
}

bool SameWarp(const Touch& a, const Touch& b) { return a.warp() == b.warp() && a.rank == b.rank; }

}  // namespace

void Past::Join(const Past& other) {
  JoinInto(seen, other.seen);
  JoinInto(fenced, other.fenced);
  JoinInto(others, other.others);
}

uint32_t SharedMemory::LatestTime() const {
  uint32_t latest = past_;
  for (uint32_t warp = 0; warp < clocks_.size(); ++warp) latest = std::max(latest, clocks_[warp].seen[warp]);
  return latest;
}

void SharedMemory::Reset(const Life& life) {
  size_ = life.bytes;
  rank_ = life.rank;
  data_.assign(life.bytes, 0);
  unwritten_.assign(life.checked ? life.bytes : 0, 1);
  past_ = std::max(life.past, LatestTime());
  if (past_ > kTooLate) {
    pieces_.clear();
    split_.clear();
    free_.clear();
    past_ = 0;
  }
  pieces_.resize(life.checked ? (life.bytes + kPiece - 1) / kPiece : 0);
  published_.clear();
  Past start;
  start.seen.fill(past_);
  start.fenced.fill(past_);
  clocks_.assign(life.checked ? life.warps : 0, start);
  for (uint32_t warp = 0; warp < clocks_.size(); ++warp) clocks_[warp].seen[warp] = past_ + 1;
  const bool clustered = life.checked && life.blocks > 1;
  others_.assign(clustered ? life.blocks : 0, start.seen);
  abroad_.assign(clustered ? life.blocks * kMaxWarps : 0, Touch());
}

SharedMemory::Split& SharedMemory::SplitOf(Piece& piece) {
  if (piece.split != 0) return split_[piece.split - 1];
  if (free_.empty()) {
    split_.emplace_back();
    free_.push_back(static_cast<uint32_t>(split_.size()));
  }
  piece.split = free_.back();
  free_.pop_back();
  Split& split = split_[piece.split - 1];
  split.fill(piece.whole);
  return split;
}

// visit(granule, mask of its bytes)
template <class Visit>
void SharedMemory::ForGranules(uint32_t offset, uint32_t bytes, const Visit& visit) {
  const uint32_t end = offset + bytes;
  for (uint32_t p = offset / kPiece; p <= (end - 1) / kPiece; ++p) {
    Piece& piece = pieces_[p];
    const uint32_t first = std::max(offset, p * kPiece), last = std::min(end, (p + 1) * kPiece);
    if (piece.split == 0 && last - first == kPiece) {
      visit(piece.whole, kWhole);
      continue;
    }
    Split& split = SplitOf(piece);
    for (uint32_t g = first / 2; g <= (last - 1) / 2; ++g)
      visit(split[g % split.size()], GranuleMask(2 * g, first, last));
  }
}

// Until visit(last write) says true.
template <class Visit>
void SharedMemory::ForWrites(uint32_t offset, uint32_t bytes, const Visit& visit) const {
  for (uint32_t at = offset / 2 * 2; at < offset + bytes;) {
    const Piece& piece = pieces_[at / kPiece];
    if (visit(piece.split == 0 ? piece.whole.write : split_[piece.split - 1][at % kPiece / 2].write)) return;
    at = piece.split == 0 ? (at / kPiece + 1) * kPiece : at + 2;
  }
}

void SharedMemory::Note(Granule& granule, const Touch& touch) {
  if (granule.read[0].time <= past_ || SameWarp(granule.read[0], touch)) {
    granule.read[0] = touch;
  } else if (granule.read[1].time <= past_ || SameWarp(granule.read[1], touch)) {
    granule.read[1] = touch;
  } else {
    granule.read[0] = granule.read[1];
    granule.read[1] = touch;
  }
}

void SharedMemory::NoteAbroad(const Touch& touch) {
  if (touch.rank != rank_) abroad_[touch.rank * kMaxWarps + touch.warp()] = touch;
}

bool SharedMemory::Read(uint32_t offset, uint32_t bytes, Touch touch, Race& race, const SharedMemory& by) {
  const uint32_t warp = touch.warp();
  bool found = false;
  touch.time = by.Now(warp);
  touch.rank = static_cast<uint8_t>(by.rank_);
  ForGranules(offset, bytes, [&](Granule& granule, uint8_t mask) {
    touch.bytes = mask & 3;
    const Touch& write = granule.write;
    if ((write.bytes & touch.bytes) != 0 && !(write.atomic && touch.atomic) && by.Unordered(write, warp)) {
      race = {write, true};
      found = true;
    }
    Note(granule, touch);
  });
  NoteAbroad(touch);
  return found;
}

bool SharedMemory::Write(uint32_t offset, uint32_t bytes, Touch touch, Race& race, const SharedMemory& by) {
  const uint32_t warp = touch.warp();
  bool found = false;
  touch.time = by.Now(warp);
  touch.rank = static_cast<uint8_t>(by.rank_);
  ForGranules(offset, bytes, [&](Granule& granule, uint8_t mask) {
    touch.bytes = mask & 3;
    const auto check = [&](const Touch& other, bool wrote) {
      const bool both_change = wrote && other.changes && touch.changes;
      if ((other.bytes & touch.bytes) == 0 || !by.Unordered(other, warp)) return;
      if (other.atomic && touch.atomic && !both_change) return;
      race = {other, wrote};
      found = true;
    };
    check(granule.read[0], false);
    check(granule.read[1], false);
    check(granule.write, true);
    granule.write = touch;
  });
  NoteAbroad(touch);
  // Whoever comes after this write comes after the reads before it, too: one granule is enough again.
  for (uint32_t p = (offset + kPiece - 1) / kPiece; !touch.atomic && (p + 1) * kPiece <= offset + bytes; ++p) {
    Piece& piece = pieces_[p];
    if (piece.split == 0) continue;
    free_.push_back(piece.split);
    piece.split = 0;
    piece.whole = Granule();
    piece.whole.write = touch;
    piece.whole.write.bytes = kWhole;
  }
  return found;
}

void SharedMemory::Join(uint32_t warps) {
  if (clocks_.empty()) return;
  Past joined;
  for (uint32_t warp = 0; warp < clocks_.size(); ++warp) {
    if (warps >> warp & 1) joined.Join(clocks_[warp]);
  }
  for (uint32_t warp = 0; warp < clocks_.size(); ++warp) {
    if (!(warps >> warp & 1)) continue;
    clocks_[warp] = joined;
    ++clocks_[warp].seen[warp];
  }
}

void SharedMemory::Publish(uint32_t warp, Past& place) {
  if (clocks_.empty()) return;
  place.Join(clocks_[warp]);
  JoinInto(place.others, others_);
  ++clocks_[warp].seen[warp];
}

void SharedMemory::Observe(uint32_t warp, const Past& place) {
  if (clocks_.empty()) return;
  JoinInto(clocks_[warp].seen, place.seen);
  JoinInto(clocks_[warp].fenced, place.fenced);
  Learn(place);
}

void SharedMemory::PublishAll(Past& place) {
  for (uint32_t warp = 0; warp < clocks_.size(); ++warp) Publish(warp, place);
}

void SharedMemory::Tell(uint32_t warp, Past& place) {
  constexpr uint32_t kWarpgroup = 4;
  if (others_.empty()) return;
  JoinInto(place.others, others_);
  const uint32_t first = warp / kWarpgroup * kWarpgroup;
  for (uint32_t w = first; w < std::min<size_t>(first + kWarpgroup, clocks_.size()); ++w) {
    JoinInto(place.others[rank_], clocks_[w].seen);
    ++clocks_[w].seen[w];
  }
}

void SharedMemory::TellAll(Past& place) {
  for (uint32_t warp = 0; warp < clocks_.size(); ++warp) Tell(warp, place);
}

void SharedMemory::TellOf(const Past& cause, Past& place) const {
  if (others_.empty()) return;
  JoinInto(place.others, cause.others);
  if (place.others.size() <= rank_) place.others.resize(others_.size());
  JoinInto(place.others[rank_], cause.seen);
}

void SharedMemory::Learn(const Past& place) {
  if (!others_.empty()) JoinInto(others_, place.others);
}

void SharedMemory::TellAt(SharedMemory& owner, uint32_t warp, uint64_t address) {
  Tell(warp, owner.Published(address));
}

void SharedMemory::LearnAt(const SharedMemory& owner, uint64_t address) {
  if (others_.empty()) return;
  for (const uint64_t at : {address, uint64_t{0}}) {
    const auto known = owner.published_.find(at);
    if (known == owner.published_.end()) continue;
    Learn(known->second);
    JoinInto(others_[owner.rank_], known->second.seen);
  }
}

bool SharedMemory::HeardOf(uint32_t rank) const {
  return others_.empty() ||
         std::any_of(others_[rank].begin(), others_[rank].end(), [this](uint32_t time) { return time > past_; });
}

std::vector<Touch> SharedMemory::StillToCome() const {
  std::vector<Touch> unknown;
  for (const Touch& touch : abroad_) {
    if (touch.time > past_ && touch.time > others_[touch.rank][touch.warp()]) unknown.push_back(touch);
  }
  return unknown;
}

void SharedMemory::FenceProxy(uint32_t warp) {
  if (clocks_.empty()) return;
  clocks_[warp].fenced = clocks_[warp].seen;
  ++clocks_[warp].seen[warp];
}

bool SharedMemory::Unfenced(uint32_t offset, uint32_t bytes, uint32_t warp, Touch& writer) const {
  const Clock& fenced = clocks_[warp].fenced;
  bool found = false;
  ForWrites(offset, bytes, [&](const Touch& write) {
    found = write.time != 0 && !write.of_unit && write.rank == rank_ && write.time > fenced[write.warp()];
    if (found) writer = write;
    return found;
  });
  return found;
}

bool SharedMemory::FencedByNobody(uint32_t offset, uint32_t bytes, Touch& writer) const {
  bool found = false;
  ForWrites(offset, bytes, [&](const Touch& write) {
    if (write.time <= past_ || write.of_unit || write.rank != rank_) return false;
    writer = write;
    const auto fenced = [&](const Past& clock) { return write.time <= clock.fenced[write.warp()]; };
    found = std::none_of(clocks_.begin(), clocks_.end(), fenced);
    return found;
  });
  return found;
}

Past& SharedMemory::Published(uint64_t address) { return published_[published_.size() >= kMaxPublished ? 0 : address]; }

void SharedMemory::Publish(uint32_t warp, uint64_t address) {
  if (!clocks_.empty()) Publish(warp, Published(address));
}

void SharedMemory::Observe(uint32_t warp, uint64_t address) {
  if (clocks_.empty()) return;
  auto known = published_.find(address);
  if (known != published_.end()) Observe(warp, known->second);
  if (published_.size() < kMaxPublished) return;
  known = published_.find(0);
  if (known != published_.end()) Observe(warp, known->second);
}

}  // namespace sassay::emulator
