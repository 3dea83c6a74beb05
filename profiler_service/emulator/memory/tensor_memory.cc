#include "profiler_service/emulator/memory/tensor_memory.h"

#include <algorithm>

namespace sassay::emulator {
namespace {

constexpr uint32_t kNeverWritten = 0x7fc0dead;

}  // namespace

TensorMemory::TensorMemory(bool checked)
    : cells_(size_t{kTensorLanes} * kTensorColumns, kNeverWritten), written_(checked ? cells_.size() : 0) {}

std::optional<uint32_t> TensorMemory::FindRoom(uint32_t columns, const TensorMemory* other) const {
  auto taken = taken_;
  for (size_t unit = 0; unit < taken.size(); ++unit) taken[unit] |= other != nullptr && other->taken_[unit];
  const auto room =
      std::search_n(taken.begin(), taken.end(), static_cast<std::ptrdiff_t>(columns / kTensorAllocationUnit), false);
  if (room == taken.end()) return std::nullopt;
  return static_cast<uint32_t>(room - taken.begin()) * kTensorAllocationUnit;
}

void TensorMemory::Take(const Holding& holding) {
  std::fill_n(taken_.begin() + holding.column / kTensorAllocationUnit, holding.columns / kTensorAllocationUnit, true);
  holdings_.push_back(holding);
  // What was left there by its former owner means nothing to the new one.
  for (uint32_t lane = 0; lane < kTensorLanes && !written_.empty(); ++lane) {
    std::fill_n(&written_[size_t{lane} * kTensorColumns + holding.column], holding.columns, 0);
  }
}

bool TensorMemory::Free(uint32_t column, uint32_t columns) {
  const auto held = std::find_if(holdings_.begin(), holdings_.end(), [&](const Holding& holding) {
    return holding.column == column && holding.columns == columns;
  });
  if (held == holdings_.end()) return false;
  holdings_.erase(held);
  std::fill_n(taken_.begin() + column / kTensorAllocationUnit, columns / kTensorAllocationUnit, false);
  return true;
}

uint32_t TensorMemory::free_columns() const {
  return static_cast<uint32_t>(std::count(taken_.begin(), taken_.end(), false)) * kTensorAllocationUnit;
}

bool TensorMemory::Allocated(uint32_t column, uint32_t columns) const {
  if (column >= kTensorColumns || columns > kTensorColumns - column) return false;
  for (uint32_t unit = column / kTensorAllocationUnit; unit * kTensorAllocationUnit < column + columns; ++unit) {
    if (!taken_[unit]) return false;
  }
  return true;
}

bool TensorMemory::AllWritten(const TensorRegion& region) const {
  for (uint32_t lane = region.lane; lane < region.lane + region.lanes && !written_.empty(); ++lane) {
    const uint8_t* cells = &written_[size_t{lane} * kTensorColumns + region.column];
    if (std::find(cells, cells + region.columns, 0) != cells + region.columns) return false;
  }
  return true;
}

void TensorMemory::MarkWritten(const TensorRegion& region) {
  for (uint32_t lane = region.lane; lane < region.lane + region.lanes && !written_.empty(); ++lane) {
    std::fill_n(&written_[size_t{lane} * kTensorColumns + region.column], region.columns, 1);
  }
}

}  // namespace sassay::emulator
