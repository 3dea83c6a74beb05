#include "profiler_service/emulator/memory/shared_memory.h"

#include <algorithm>

namespace sassay::emulator {
namespace {

constexpr uint32_t kTooLate = uint32_t{1} << 31;
constexpr size_t kMaxPublished = 4096;

void JoinInto(Clock& into, const Clock& from) {
  for (int i = 0; i < kMaxWarps; ++i) into[i] = std::max(into[i], from[i]);
}

uint8_t GranuleMask(uint32_t granule, uint32_t offset, uint32_t bytes) {
  const uint32_t first = granule * 2;
  const bool low = offset <= first && first < offset + bytes;
  const bool high = offset <= first + 1 && first + 1 < offset + bytes;
  return static_cast<uint8_t>((low ? 1 : 0) | (high ? 2 : 0));
}

}  // namespace

void Past::Join(const Past& other) {
  JoinInto(seen, other.seen);
  JoinInto(fenced, other.fenced);
}

void SharedMemory::Reset(uint32_t bytes, uint32_t warps, bool checked) {
  size_ = bytes;
  data_.assign(bytes, 0);
  unwritten_.assign(checked ? bytes : 0, 1);
  for (uint32_t warp = 0; warp < clocks_.size(); ++warp) past_ = std::max(past_, clocks_[warp].seen[warp]);
  if (past_ > kTooLate) {
    granules_.clear();
    past_ = 0;
  }
  granules_.resize(checked ? (bytes + 1) / 2 : 0);
  published_.clear();
  Past start;
  start.seen.fill(past_);
  start.fenced.fill(past_);
  clocks_.assign(checked ? warps : 0, start);
  for (uint32_t warp = 0; warp < clocks_.size(); ++warp) clocks_[warp].seen[warp] = past_ + 1;
}

void SharedMemory::Note(Granule& granule, const Touch& touch) {
  if (granule.read[0].time <= past_ || granule.read[0].warp() == touch.warp()) {
    granule.read[0] = touch;
  } else if (granule.read[1].time <= past_ || granule.read[1].warp() == touch.warp()) {
    granule.read[1] = touch;
  } else {
    granule.read[0] = granule.read[1];
    granule.read[1] = touch;
  }
}

bool SharedMemory::Read(uint32_t offset, uint32_t bytes, Touch touch, Race& race) {
  const uint32_t warp = touch.warp();
  bool found = false;
  touch.time = clocks_[warp].seen[warp];
  for (uint32_t g = offset / 2; g <= (offset + bytes - 1) / 2; ++g) {
    Granule& granule = granules_[g];
    touch.bytes = GranuleMask(g, offset, bytes);
    const Touch& write = granule.write;
    if ((write.bytes & touch.bytes) != 0 && !(write.atomic && touch.atomic) && Unordered(write, warp)) {
      race = {write, true};
      found = true;
    }
    Note(granule, touch);
  }
  return found;
}

bool SharedMemory::Write(uint32_t offset, uint32_t bytes, Touch touch, Race& race) {
  const uint32_t warp = touch.warp();
  bool found = false;
  touch.time = clocks_[warp].seen[warp];
  for (uint32_t g = offset / 2; g <= (offset + bytes - 1) / 2; ++g) {
    Granule& granule = granules_[g];
    touch.bytes = GranuleMask(g, offset, bytes);
    auto check = [&](const Touch& other, bool wrote) {
      const bool both_change = wrote && other.changes && touch.changes;
      if ((other.bytes & touch.bytes) == 0 || !Unordered(other, warp)) return;
      if (other.atomic && touch.atomic && !both_change) return;
      race = {other, wrote};
      found = true;
    };
    check(granule.read[0], false);
    check(granule.read[1], false);
    check(granule.write, true);
    granule.write = touch;
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
  ++clocks_[warp].seen[warp];
}

void SharedMemory::Observe(uint32_t warp, const Past& place) {
  if (!clocks_.empty()) clocks_[warp].Join(place);
}

void SharedMemory::PublishAll(Past& place) {
  for (uint32_t warp = 0; warp < clocks_.size(); ++warp) Publish(warp, place);
}

void SharedMemory::FenceProxy(uint32_t warp) {
  if (clocks_.empty()) return;
  clocks_[warp].fenced = clocks_[warp].seen;
  ++clocks_[warp].seen[warp];
}

void SharedMemory::Forget(uint32_t offset, uint32_t bytes) {
  if (granules_.empty()) return;
  for (uint32_t g = offset / 2; g <= (offset + bytes - 1) / 2; ++g) granules_[g] = Granule();
}

bool SharedMemory::Unfenced(uint32_t offset, uint32_t bytes, uint32_t warp, Touch& writer) const {
  const Clock& fenced = clocks_[warp].fenced;
  for (uint32_t g = offset / 2; g <= (offset + bytes - 1) / 2; ++g) {
    const Touch& write = granules_[g].write;
    if (write.time == 0 || write.of_unit || write.time <= fenced[write.warp()]) continue;
    writer = write;
    return true;
  }
  return false;
}

bool SharedMemory::FencedByNobody(uint32_t offset, uint32_t bytes, Touch& writer) const {
  for (uint32_t g = offset / 2; g <= (offset + bytes - 1) / 2; ++g) {
    const Touch& write = granules_[g].write;
    if (write.time <= past_ || write.of_unit) continue;
    writer = write;
    const auto fenced = [&](const Past& clock) { return write.time <= clock.fenced[write.warp()]; };
    if (std::none_of(clocks_.begin(), clocks_.end(), fenced)) return true;
  }
  return false;
}

void SharedMemory::Publish(uint32_t warp, uint64_t address) {
  if (clocks_.empty()) return;
  Publish(warp, published_[published_.size() >= kMaxPublished ? 0 : address]);
}

void SharedMemory::Observe(uint32_t warp, uint64_t address) {
  if (clocks_.empty()) return;
  auto known = published_.find(address);
  if (known != published_.end()) clocks_[warp].Join(known->second);
  if (published_.size() < kMaxPublished) return;
  known = published_.find(0);
  if (known != published_.end()) clocks_[warp].Join(known->second);
}

}  // namespace sassay::emulator
