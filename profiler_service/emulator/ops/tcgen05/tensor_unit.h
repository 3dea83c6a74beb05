// What tcgen05 keeps per block: tensor memory, and what its instructions have under way there.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TCGEN05_TENSOR_UNIT_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TCGEN05_TENSOR_UNIT_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/exec/decoder.h"
#include "profiler_service/emulator/exec/warp.h"
#include "profiler_service/emulator/memory/tensor_memory.h"

namespace sassay::emulator {

// Life cycle: from a block's first tcgen05 instruction to its end; columns that are still held then are a finding.
// Thread-compatible, as its block is. A block has all 512 columns to itself: blocks that would share a multiprocessor
// never wait for each other's columns here.
class TensorUnit : public BlockExtension {
 public:
  static TensorUnit& Of(Warp& warp);

  std::string Waiting(uint32_t warp) const override { return waiting_[warp]; }
  void BlockEnds(Block& block) override;

  TensorMemory& memory() { return *memory_; }
  bool checked() const { return checked_; }

  // ---- the right to allocate (tcgen05.relinquish_alloc_permit) ----
  bool relinquished() const { return relinquished_; }
  void Relinquish() { relinquished_ = true; }
  uint32_t last_columns() const { return last_columns_; }
  void NoteAllocation(uint32_t columns) { last_columns_ = columns; }

  void SetWaiting(uint32_t warp, std::string what) { waiting_[warp] = std::move(what); }

 private:
  std::unique_ptr<TensorMemory> memory_;
  bool checked_ = false;
  bool relinquished_ = false;
  uint32_t last_columns_ = kTensorColumns;
  std::array<std::string, kMaxWarps> waiting_;
};

// ---- for handlers ----

// The candidate breaks a rule: a finding in checked launches, which go on without the instruction; otherwise the fault
// that hardware would have raised, or undefined behaviour, which ends the launch as well. `other`: where kOtherPlace of
// the message is; null if it names none.
Flow Reject(Warp& warp, const Inst& inst, sassay::v1::VerdictCode code, std::string message,
            const Place* other = nullptr);

// The value of a source that all lanes must have alike; false if they do not.
bool Uniform(Warp& warp, const Operand& operand, uint32_t& value);

// The address of `inst`'s operand in tensor memory, alike in all lanes.
bool UniformTensorAddress(Warp& warp, const Inst& inst, const Operand& operand, TensorAddress& address);

// "columns 32 to 63", "column 5".
std::string Columns(uint32_t first, uint32_t count);

// Decodes cta_group, which all but ld, st, wait and fence have: 1 or 2; 0 if there is none.
uint32_t CtaGroup(const Decoder& decoder);

absl::Status DecodeAllocate(Decoder& decoder);
absl::Status DecodeDeallocate(Decoder& decoder);
absl::Status DecodeRelinquish(Decoder& decoder);
absl::Status DecodeTensorLoad(Decoder& decoder);
absl::Status DecodeTensorStore(Decoder& decoder);
absl::Status DecodeTensorWait(Decoder& decoder);
absl::Status DecodeTensorFence(Decoder& decoder);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TCGEN05_TENSOR_UNIT_H_
