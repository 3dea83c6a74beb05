#include "profiler_service/emulator/exec/async/mbarriers.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/exec/block.h"

namespace sassay::emulator {
namespace {

constexpr int kPendingAt = 20, kBytesAt = 40, kOddAt = 62, kPresentAt = 63;
constexpr uint64_t kBytesMask = (1 << 21) - 1;

}  // namespace

MbarrierWord MbarrierWord::FromBits(uint64_t bits) {
  MbarrierWord word;
  word.expected = bits & kMostCount;
  word.pending = bits >> kPendingAt & kMostCount;
  word.bytes = static_cast<int32_t>((bits >> kBytesAt & kBytesMask) << 11) >> 11;
  word.odd = (bits >> kOddAt & 1) != 0;
  return word;
}

uint64_t MbarrierWord::ToBits() const {
  return uint64_t{1} << kPresentAt | uint64_t{odd} << kOddAt | (static_cast<uint64_t>(bytes) & kBytesMask) << kBytesAt |
         uint64_t{pending & kMostCount} << kPendingAt | (expected & kMostCount);
}

Mbarriers::Trouble Mbarriers::Check(uint32_t offset) const {
  const auto known = barriers_.find(offset);
  if (known == barriers_.end()) return Trouble::kNeverInitialised;
  uint64_t bits;
  std::memcpy(&bits, block_.shared().data() + offset, sizeof(bits));
  return bits == known->second.word.ToBits() ? Trouble::kNone : Trouble::kOverwritten;
}

void Mbarriers::Store(uint32_t offset, const Mbarrier& barrier) {
  const uint64_t bits = barrier.word.ToBits();
  std::memcpy(block_.shared().data() + offset, &bits, sizeof(bits));
  block_.NoteOutside();
}

void Mbarriers::Init(uint32_t offset, uint32_t count, uint32_t inst) {
  Mbarrier& barrier = barriers_[offset];
  barrier = Mbarrier();
  barrier.word.expected = barrier.word.pending = count;
  barrier.init_inst = inst;
  Store(offset, barrier);
}

void Mbarriers::Expect(uint32_t offset, uint32_t bytes, uint32_t inst) {
  Mbarrier& barrier = barriers_.at(offset);
  barrier.word.bytes += static_cast<int32_t>(bytes);
  barrier.announced_bytes += bytes;
  barrier.expect_inst = inst;
  barrier.expects_bytes = true;
  Store(offset, barrier);
  TryComplete(offset, barrier);
}

void Mbarriers::Complete(uint32_t offset, uint32_t bytes, const Past* cause) {
  Mbarrier& barrier = barriers_.at(offset);
  barrier.word.bytes -= static_cast<int32_t>(bytes);
  barrier.come_bytes += bytes;
  if (cause != nullptr) barrier.arriving.Join(*cause);
  Store(offset, barrier);
  TryComplete(offset, barrier);
}

void Mbarriers::ComeFromAnotherBlock(uint32_t offset, Block& from, const Past* cause) {
  Past& arriving = barriers_.at(offset).arriving;
  block_.shared().PublishAll(arriving);
  if (cause != nullptr) {
    from.shared().TellOf(*cause, arriving);
  } else {
    from.shared().TellAll(arriving);
  }
}

bool Mbarriers::Arrive(uint32_t offset, uint32_t count, bool drops, Warp* warp, const Past* cause) {
  Mbarrier& barrier = barriers_.at(offset);
  const bool fits = count <= barrier.word.pending;
  barrier.word.pending = (barrier.word.pending - count) & MbarrierWord::kMostCount;
  if (drops) barrier.word.expected = (barrier.word.expected - count) & MbarrierWord::kMostCount;
  barrier.arrivals += count;
  const bool own = warp != nullptr && &warp->block() == &block_;
  if (warp != nullptr) barrier.arrivers[{warp->block().rank(), warp->index()}] = barrier.phase;
  if (own && warp->checked()) block_.shared().Publish(warp->index(), barrier.arriving);
  if (warp != nullptr && !own) {
    block_.shared().PublishAll(barrier.arriving);
    warp->block().shared().Tell(warp->index(), barrier.arriving);
  }
  if (cause != nullptr) barrier.arriving.Join(*cause);
  Store(offset, barrier);
  TryComplete(offset, barrier);
  return fits;
}

void Mbarriers::WaitForOneMore(uint32_t offset) {
  Mbarrier& barrier = barriers_.at(offset);
  barrier.word.pending = (barrier.word.pending + 1) & MbarrierWord::kMostCount;
  Store(offset, barrier);
}

void Mbarriers::TryComplete(uint32_t offset, Mbarrier& barrier) {
  if (barrier.word.pending != 0 || barrier.word.bytes != 0) return;
  barrier.word.odd = !barrier.word.odd;
  barrier.word.pending = barrier.word.expected;
  ++barrier.phase;
  barrier.announced_bytes = barrier.come_bytes = 0;
  barrier.arrivals = 0;
  barrier.over.Join(std::exchange(barrier.arriving, Past()));
  Store(offset, barrier);
  block_.WakeAtMbarrier(offset);
}

bool Mbarriers::Defer(uint32_t offset, std::unique_ptr<AsyncWork> work) {
  auto& list = barriers_.at(offset).work;
  if (list.size() >= kMostWork) return false;
  list.push_back(std::move(work));
  block_
      .NoteOutside();  // who waits there already, in a block that another one's thread has given work, is to look again
  return true;
}

// What is done may look at the barrier itself, or defer more.
void Mbarriers::Settle(uint32_t offset) {
  const auto known = barriers_.find(offset);
  if (known == barriers_.end() || known->second.work.empty()) return;
  const auto work = std::exchange(known->second.work, {});
  for (const auto& one : work) one->Finish(block_);
}

bool Mbarriers::Over(uint32_t offset, bool odd) {
  if (At(offset).word.odd != odd) return true;
  Settle(offset);
  return Check(offset) == Trouble::kNone && At(offset).word.odd != odd;
}

std::string Mbarriers::Describe(uint32_t offset) const {
  const std::string name = absl::StrCat("the mbarrier at ", block_.NameOfShared(offset));
  if (Check(offset) != Trouble::kNone) return name;
  const Mbarrier& barrier = At(offset);
  std::string text = absl::StrCat(name, ", in phase ", barrier.phase, ": ", barrier.arrivals, " of ",
                                  barrier.word.expected, " arrivals");
  if (barrier.announced_bytes != 0 || barrier.come_bytes != 0) {
    absl::StrAppend(&text, " and ", barrier.come_bytes, " of ", barrier.announced_bytes, " bytes");
  }
  return absl::StrCat(text, " have come");
}

Mbarriers::Cause Mbarriers::LikelyCause(uint32_t offset, bool odd) const {
  if (Check(offset) != Trouble::kNone) return {};
  const Mbarrier& barrier = At(offset);
  const std::string name = absl::StrCat("the mbarrier at ", block_.NameOfShared(offset));
  const int64_t left = static_cast<int64_t>(barrier.announced_bytes) - static_cast<int64_t>(barrier.come_bytes);
  if (barrier.arrivals > barrier.word.expected) {
    return {absl::StrCat(name, " was initialised for ", barrier.word.expected, " arrivals, and ", barrier.arrivals,
                         " have come in one phase"),
            true};
  }
  if (left < 0) {
    return {absl::StrCat("expect_tx asked for ", barrier.announced_bytes, " bytes at ", name, ", the copies deliver ",
                         barrier.come_bytes),
            true};
  }
  if (left > 0) {
    return {absl::StrCat("expect_tx asked for ", barrier.announced_bytes, " bytes at ", name, ", ",
                         barrier.come_bytes == 0 ? "and no copy brings any"
                                                 : absl::StrCat("the copies deliver ", barrier.come_bytes)),
            true};
  }
  if (barrier.arrivals > 0) {
    return {absl::StrCat(name, " was initialised for ", barrier.word.expected, " arrivals, and only ", barrier.arrivals,
                         barrier.arrivals == 1 ? " has come" : " have come"),
            true};
  }
  return {absl::StrCat("nobody arrives at ", name, ", which is in phase ", barrier.phase,
                       ", the one that a wait for parity ", odd ? 1 : 0, " waits for"),
          false};
}

}  // namespace sassay::emulator
