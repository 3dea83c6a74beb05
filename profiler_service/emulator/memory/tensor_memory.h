// One block's tensor memory: 128 lanes of 512 cells of 32 bits, and who has allocated which columns (PTX ISA 9.0,
// 9.7.16.1).
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_TENSOR_MEMORY_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_TENSOR_MEMORY_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace sassay::emulator {

inline constexpr uint32_t kTensorLanes = 128;
inline constexpr uint32_t kTensorColumns = 512;
inline constexpr uint32_t kTensorAllocationUnit = 32;  // columns

// A 32-bit address: the lane in the upper half, the column in the lower (PTX ISA 9.0, 9.7.16.1.1).
struct TensorAddress {
  uint32_t lane = 0, column = 0;
  static TensorAddress Of(uint32_t bits) { return {bits >> 16, bits & 0xffff}; }
};

// Lanes [lane, lane + lanes) of columns [column, column + columns).
struct TensorRegion {
  uint32_t lane = 0, lanes = 0, column = 0, columns = 0;
  bool Meets(const TensorRegion& other) const {
    return lane < other.lane + other.lanes && other.lane < lane + lanes && column < other.column + other.columns &&
           other.column < column + columns;
  }
};

// Thread-compatible: a block runs on one thread at a time.
class TensorMemory {
 public:
  // Columns that are allocated together, and by whom.
  struct Holding {
    uint32_t column = 0, columns = 0;
    uint32_t inst = 0, thread = 0;  // Inst::id
  };

  // `checked`: remembers which cells were never written. They hold a pattern that is no number in fp32, so that sums
  // with them come out wrong, as they would with what an earlier kernel has left on silicon.
  explicit TensorMemory(bool checked);

  // The first columns that are free, in `other` as well if it is not null; none if there is no room. `columns` is a
  // multiple of the unit.
  std::optional<uint32_t> FindRoom(uint32_t columns, const TensorMemory* other = nullptr) const;
  // Columns that FindRoom gave.
  void Take(const Holding& holding);
  // Frees the holding that begins at `column`; false if none of so many columns begins there.
  bool Free(uint32_t column, uint32_t columns);
  const std::vector<Holding>& holdings() const { return holdings_; }
  uint32_t free_columns() const;
  // Whether every column of the range is allocated.
  bool Allocated(uint32_t column, uint32_t columns) const;

  uint32_t* Row(uint32_t lane) { return &cells_[size_t{lane} * kTensorColumns]; }
  uint32_t Read(uint32_t lane, uint32_t column) const { return cells_[size_t{lane} * kTensorColumns + column]; }
  void Write(uint32_t lane, uint32_t column, uint32_t value) {
    cells_[size_t{lane} * kTensorColumns + column] = value;
    if (!written_.empty()) written_[size_t{lane} * kTensorColumns + column] = 1;
  }
  void MarkWritten(const TensorRegion& region);
  void MarkUnwritten(uint32_t lane, uint32_t column) {
    if (!written_.empty()) written_[size_t{lane} * kTensorColumns + column] = 0;
  }
  // Whether every cell of the region was written; true unless checked.
  bool AllWritten(const TensorRegion& region) const;
  // True unless checked.
  bool Written(uint32_t lane, uint32_t column) const {
    return written_.empty() || written_[size_t{lane} * kTensorColumns + column] != 0;
  }

 private:
  std::vector<uint32_t> cells_;
  std::vector<uint8_t> written_;
  std::vector<Holding> holdings_;
  std::array<bool, kTensorColumns / kTensorAllocationUnit> taken_{};
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_TENSOR_MEMORY_H_
