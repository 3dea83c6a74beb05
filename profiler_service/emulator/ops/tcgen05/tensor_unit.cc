#include "profiler_service/emulator/ops/tcgen05/tensor_unit.h"

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sassay::emulator {

TensorUnit& TensorUnit::Of(Warp& warp) {
  TensorUnit& unit = warp.block().Extension<TensorUnit>();
  if (unit.memory_ == nullptr) {
    unit.checked_ = warp.checked();
    unit.memory_ = std::make_unique<TensorMemory>(warp.checked());
  }
  return unit;
}

void TensorUnit::BlockEnds(Block& block) {
  if (!checked_) return;
  constexpr auto kCode = sassay::v1::VERDICT_CODE_TENSOR_MEMORY_MISUSE;
  for (const TensorMemory::Holding& held : memory_->holdings()) {
    Report& report = block.launch().report;
    if (!report.Wants(kCode, held.inst, block.index())) continue;
    Misuse misuse;
    misuse.code = kCode;
    misuse.message = absl::StrCat("tensor memory ", Columns(held.column, held.columns),
                                  " is allocated here and never freed: the next block that wants it waits for ever");
    misuse.where = Place{block.index(), held.thread, held.inst};
    misuse.buffer = "tensor memory";
    report.Add(std::move(misuse));
  }
}

Flow Reject(Warp& warp, const Inst& inst, sassay::v1::VerdictCode code, std::string message, const Place* other) {
  LaunchContext& launch = warp.launch();
  const int lane = std::countr_zero(warp.mask());
  if (launch.pages != nullptr) {  // a trial only ends: what it does is no news yet
    launch.stop = true;
    return Flow::kRedirected;
  }
  if (!warp.checked()) return warp.Fault(code, inst, std::move(message), lane);
  if (!launch.report.Wants(code, inst.id, warp.block().index())) return Flow::kNext;
  Misuse misuse;
  misuse.code = code;
  misuse.message = std::move(message);
  misuse.where = warp.PlaceOf(inst, lane);
  misuse.has_other = other != nullptr;
  if (other != nullptr) misuse.other = *other;
  misuse.buffer = "tensor memory";
  launch.report.Add(std::move(misuse));
  return Flow::kNext;
}

bool Uniform(Warp& warp, const Operand& operand, uint32_t& value) {
  const uint32_t* values = warp.In<uint32_t>(operand);
  value = values[std::countr_zero(warp.mask())];
  for (uint32_t rest = warp.mask(); rest != 0; rest &= rest - 1) {
    if (values[std::countr_zero(rest)] != value) return false;
  }
  return true;
}

bool UniformTensorAddress(Warp& warp, const Inst& inst, const Operand& operand, TensorAddress& address) {
  uint32_t bits = 0;
  const bool uniform = Uniform(warp, operand, bits);
  address = TensorAddress::Of(bits + static_cast<uint32_t>(inst.immediate));
  return uniform;
}

std::string Columns(uint32_t first, uint32_t count) {
  return count == 1 ? absl::StrCat("column ", first) : absl::StrCat("columns ", first, " to ", first + count - 1);
}

uint32_t CtaGroup(const Decoder& decoder) {
  return decoder.Has("cta_group::1") ? 1 : decoder.Has("cta_group::2") ? 2 : 0;
}

}  // namespace sassay::emulator
