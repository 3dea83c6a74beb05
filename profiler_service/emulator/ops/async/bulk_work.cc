#include "profiler_service/emulator/ops/async/bulk_work.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/memory/racing.h"

namespace sassay::emulator {
namespace {

constexpr uint32_t kPiece = 16;

// The piece as it comes into shared memory, and which of its bytes were never written.
void ReadPiece(const BulkTransfer& transfer, const BulkRow& row, uint32_t piece, uint8_t* values, uint8_t* unwritten) {
  const uint32_t first = piece * kPiece;
  std::memcpy(values, &transfer.fill, 8);
  std::memcpy(values + 8, &transfer.fill, 8);
  std::memset(unwritten, 0, kPiece);
  const uint32_t low = std::max(first, row.begin), high = std::min(first + kPiece, row.end);
  if (low >= high) return;
  CopyFromRacing(values + (low - first), row.global + (low - row.begin), high - low);
  if (row.unwritten != nullptr)
    CopyFromRacing(unwritten + (low - first), row.unwritten + (low - row.begin), high - low);
}

}  // namespace

void BulkLoad::Begin(Warp& warp) const {
  uint8_t values[kPiece], unwritten[kPiece];
  SharedMemory& shared = into_.shared();
  const auto swizzle = static_cast<uint8_t>(transfer_->by_map ? static_cast<int>(transfer_->swizzle) + 1 : 0);
  for (const BulkRow& row : transfer_->rows) {
    for (uint32_t piece = 0; piece < row.bytes / kPiece; ++piece) {
      const uint32_t at = transfer_->PieceAt(row, piece);
      if (&into_ != &warp.block()) {
        NoteCopyTo(warp, *transfer_->inst, transfer_->lane, into_, at, kPiece);
        continue;
      }
      ReadPiece(*transfer_, row, piece, values, unwritten);
      NoteCopy(warp, *transfer_->inst, transfer_->lane, shared.data() + at, shared.unwritten() + at, nullptr, values,
               kPiece, true, swizzle);
    }
  }
}

void BulkLoad::Land(const BulkRow& row) const {
  SharedMemory& shared = into_.shared();
  uint8_t values[kPiece], unwritten[kPiece];
  for (uint32_t piece = 0; piece < row.bytes / kPiece; ++piece) {
    const uint32_t at = transfer_->PieceAt(row, piece);
    ReadPiece(*transfer_, row, piece, values, unwritten);
    std::memcpy(shared.data() + at, values, kPiece);
    if (shared.unwritten() == nullptr) continue;
    std::memcpy(shared.unwritten() + at, unwritten, kPiece);
    into_.copies().End(at, nullptr, kPiece);
  }
}

void BulkLoad::Finish(Block& signals) {
  for (const BulkRow& row : transfer_->rows) Land(row);
  into_.NoteChange();
  if (&signals != &into_) signals.NoteChange();
  Mbarriers& barriers = signals.mbarriers();
  if (barriers.Check(barrier_) != Mbarriers::Trouble::kNone) return;
  const bool from_here = &asked_by_ == &signals;
  if (!from_here) barriers.ComeFromAnotherBlock(barrier_, asked_by_, &transfer_->cause);
  barriers.Complete(barrier_, transfer_->bytes, from_here ? &transfer_->cause : nullptr);
}

BulkGroups::Groups& BulkGroups::Of(Warp& warp, int lane) {
  const uint32_t thread = warp.ThreadOf(lane);
  if (groups_.size() <= thread) groups_.resize(thread + 1);
  return groups_[thread];
}

bool BulkGroups::Add(Warp& warp, BulkTransfer store) {
  Groups& groups = Of(warp, store.lane);
  if (groups.open.size() >= kMost) return false;
  groups.open.push_back(std::move(store));
  return true;
}

bool BulkGroups::Commit(Warp& warp, int lane) {
  Groups& groups = Of(warp, lane);
  if (groups.committed.size() >= kMost) return false;
  groups.committed.push_back(std::exchange(groups.open, {}));
  return true;
}

namespace {

// Bytes [low, high) of a row go from `values` to global memory. Whether it changed.
bool StoreBytes(Warp& warp, const BulkTransfer& store, const BulkRow& row, uint32_t low, uint32_t high,
                const uint8_t* values) {
  Lanes lanes;
  lanes.mask = lanes.global = 1u << store.lane;
  lanes.inputs = row.input ? lanes.mask : 0;
  lanes.at[store.lane] = row.global + (low - row.begin);
  lanes.unwritten[store.lane] = row.unwritten == nullptr ? nullptr : row.unwritten + (low - row.begin);
  AccessFacts facts;
  facts.space = Space::kGlobal;
  facts.kind = AccessKind::kWrite;
  facts.bytes = high - low;
  facts.of_unit = true;
  if (warp.checked()) NoteStore(warp, *store.inst, facts, lanes, values, 0);
  const bool changes = DiffersRacing(lanes.at[store.lane], values, high - low);
  CopyToRacing(lanes.at[store.lane], values, high - low);
  return changes;
}

bool ReduceBytes(Warp& warp, const BulkTransfer& store, const BulkRow& row, uint32_t low, uint32_t high,
                 const uint8_t* values) {
  const uint32_t size = SizeOf(store.reduction.type);
  bool changes = false;
  for (uint32_t at = low; at + size <= high; at += size) {
    uint64_t value = 0;
    std::memcpy(&value, values + (at - low), size);
    changes |= Reduce(store.reduction, row.global + (at - row.begin), value);
  }
  if (row.unwritten != nullptr) SetRacing(row.unwritten + (low - row.begin), false, high - low);
  return changes;
}

}  // namespace

void BulkGroups::Store(Warp& warp, const BulkTransfer& store) {
  bool changes = false;
  SharedMemory& shared = warp.block().shared();
  for (const BulkRow& row : store.rows) {
    for (uint32_t piece = 0; piece < row.bytes / kPiece; ++piece) {
      const uint32_t at = store.PieceAt(row, piece), first = piece * kPiece;
      if (warp.checked()) NoteUnitReadEnd(warp, *store.inst, store.lane, at, kPiece);
      const uint32_t low = std::max(first, row.begin), high = std::min(first + kPiece, row.end);
      if (low >= high) continue;
      const uint8_t* values = shared.data() + at + (low - first);
      changes |= store.reduces ? ReduceBytes(warp, store, row, low, high, values)
                               : StoreBytes(warp, store, row, low, high, values);
      if (!warp.checked() || !AllRacing(shared.unwritten() + at + (low - first), high - low)) continue;
      warp.NoteOrigin(store.inst->id, {"shared memory", false});
      ReportUninitialized(warp, *store.inst, store.inst->id, 1u << store.lane, "stored to global memory");
    }
  }
  if (changes) warp.block().NoteChange();
}

void BulkGroups::Wait(Warp& warp, int lane, size_t stay) {
  Groups& groups = Of(warp, lane);
  if (groups.committed.size() <= stay) return;
  const auto end = groups.committed.end() - static_cast<std::ptrdiff_t>(stay);
  for (auto group = groups.committed.begin(); group != end; ++group) {
    for (const BulkTransfer& store : *group) Store(warp, store);
  }
  groups.committed.erase(groups.committed.begin(), end);
}

void BulkGroups::BlockEnds(Block& block) {
  for (uint32_t thread = 0; thread < groups_.size(); ++thread) {
    Warp& warp = *block.warps()[thread / kLanes];
    for (const auto& group : groups_[thread].committed) {
      for (const BulkTransfer& store : group) Store(warp, store);
    }
    for (const BulkTransfer& store : groups_[thread].open) Store(warp, store);
  }
}

}  // namespace sassay::emulator
