#include "profiler_service/emulator/ops/tcgen05/tensor_unit.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sassay::emulator {

TensorUnit& TensorUnit::Of(Block& block) {
  TensorUnit& unit = block.Extension<TensorUnit>();
  if (unit.memory_ == nullptr) {
    unit.checked_ = block.launch().checked;
    unit.memory_ = std::make_unique<TensorMemory>(unit.checked_);
    if (unit.checked_) unit.history_.resize(kTensorLanes / kHistoryLanes * kTensorColumns);
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

// ---- what is under way ----

namespace {

// Reports a race of what `inst` does now with what `other` did; false if nobody wants to hear of it again.
void ReportAsyncRace(Warp& warp, const Inst& inst, const Place& other, std::string message) {
  constexpr auto kCode = sassay::v1::VERDICT_CODE_ASYNC_RACE;
  Report& report = warp.launch().report;
  if (!report.Wants(kCode, inst.id, warp.block().index())) return;
  Misuse misuse;
  misuse.code = kCode;
  misuse.message = std::move(message);
  misuse.where = warp.PlaceOf(inst, std::countr_zero(warp.mask()));
  misuse.other = other;
  misuse.has_other = true;
  misuse.buffer = "tensor memory";
  report.Add(std::move(misuse));
}

bool AnyMeets(const std::vector<TensorRegion>& regions, const TensorRegion& region) {
  return std::any_of(regions.begin(), regions.end(), [&](const TensorRegion& other) { return other.Meets(region); });
}

}  // namespace

const TensorOperation* TensorUnit::UnderWay(const TensorRegion& region, bool writes) const {
  const TensorOperation* own = Queued(region, writes, false);
  const TensorUnit* peer = PeerUnit();
  return own != nullptr || peer == nullptr ? own : peer->Queued(region, writes, true);
}

// `of_pair`: only operations that work on both blocks' memory.
const TensorOperation* TensorUnit::Queued(const TensorRegion& region, bool writes, bool of_pair) const {
  for (const TensorOperation& operation : operations_) {
    if (operation.run == nullptr || (of_pair && !operation.of_pair)) continue;
    if (AnyMeets(operation.writes, region) || (writes && AnyMeets(operation.reads, region))) return &operation;
  }
  return nullptr;
}

const TensorUnit::Transfer* TensorUnit::Unwaited(const std::array<std::vector<Transfer>, kMaxWarps>& transfers,
                                                 const TensorRegion& region) const {
  for (const auto& of_warp : transfers) {
    for (const Transfer& transfer : of_warp) {
      if (transfer.region.Meets(region)) return &transfer;
    }
  }
  return nullptr;
}

// Operations of one thread are done in their order, so these do not race with each other.
bool TensorUnit::MeetsOperation(Warp& warp, const Inst& inst, const TensorRegion& region, bool writes,
                                absl::string_view what) {
  const TensorOperation* operation = UnderWay(region, writes);
  if (operation == nullptr) return false;
  const bool written = AnyMeets(operation->writes, region);
  ReportAsyncRace(
      warp, inst, operation->where,
      absl::StrCat(what, " while the ", operation->name, " at ", kOtherPlace, written ? " writes" : " reads",
                   " there: nobody has waited for a tcgen05.commit that covers it"));
  return true;
}

bool TensorUnit::MeetsTransfer(Warp& warp, const Inst& inst, const TensorRegion& region, bool writes,
                               absl::string_view what) {
  const Transfer* stored = Unwaited(stores_, region);
  const Transfer* loaded = stored == nullptr && writes ? Unwaited(loads_, region) : nullptr;
  const Transfer* transfer = stored != nullptr ? stored : loaded;
  if (transfer == nullptr) return false;
  const absl::string_view kind = stored != nullptr ? "st" : "ld";
  ReportAsyncRace(
      warp, inst, transfer->where,
      absl::StrCat(what, " while the tcgen05.", kind, " at ", kOtherPlace, " by warp ", transfer->where.thread / kLanes,
                   " is under way there: no tcgen05.wait::", kind, " has followed it"));
  return true;
}

bool TensorUnit::MeetsUnordered(Warp& warp, const Inst& inst, const TensorRegion& region, bool writes,
                                absl::string_view what) {
  const SharedMemory& shared = warp.block().shared();
  const auto unordered = [&](const Touch& touch) {
    return touch.time != 0 && !shared.Sees(warp.index(), touch.warp(), touch.time);
  };
  for (uint32_t lane = region.lane; lane < region.lane + region.lanes; lane += kHistoryLanes) {
    for (uint32_t column = region.column; column < region.column + region.columns; ++column) {
      const History& history = At(lane, column);
      const Touch* met = unordered(history.write) ? &history.write : nullptr;
      for (const Touch& read : history.read) {
        if (writes && met == nullptr && unordered(read)) met = &read;
      }
      if (met == nullptr) continue;
      ReportAsyncRace(warp, inst, Place{warp.block().index(), met->thread, met->inst},
                      absl::StrCat(what, ", which warp ", met->warp(), met == &history.write ? " wrote" : " read",
                                   " at ", kOtherPlace, ", with nothing between that orders the two"));
      return true;
    }
  }
  return false;
}

bool TensorUnit::Check(Warp& warp, const Inst& inst, const TensorRegion& region, bool writes, absl::string_view what) {
  return MeetsTransfer(warp, inst, region, writes, what) || MeetsUnordered(warp, inst, region, writes, what);
}

void TensorUnit::Remember(Warp& warp, const Inst& inst, const TensorRegion& region, bool writes) {
  Touch touch;
  touch.time = warp.block().shared().Now(warp.index());
  touch.thread = static_cast<uint16_t>(warp.ThreadOf(std::countr_zero(warp.mask())));
  touch.inst = inst.id;
  for (uint32_t lane = region.lane; lane < region.lane + region.lanes; lane += kHistoryLanes) {
    for (uint32_t column = region.column; column < region.column + region.columns; ++column) {
      History& history = At(lane, column);
      if (writes) {
        history.write = touch;
      } else if (history.read[0].time == 0 || history.read[0].warp() == touch.warp()) {
        history.read[0] = touch;
      } else {
        history.read[1] = touch;
      }
    }
  }
}

bool TensorUnit::NoteLoad(Warp& warp, const Inst& inst, const TensorRegion& region) {
  const std::string what = absl::StrCat("tcgen05.ld of ", Columns(region.column, region.columns));
  const bool too_early = MeetsOperation(warp, inst, region, false, what);
  if (!too_early) Check(warp, inst, region, false, what);
  Remember(warp, inst, region, false);
  loads_[warp.index()].push_back({warp.PlaceOf(inst, std::countr_zero(warp.mask())), region});
  return too_early;
}

void TensorUnit::NoteStore(Warp& warp, const Inst& inst, const TensorRegion& region) {
  const std::string what = absl::StrCat("tcgen05.st to ", Columns(region.column, region.columns));
  if (!MeetsOperation(warp, inst, region, true, what)) Check(warp, inst, region, true, what);
  Remember(warp, inst, region, true);
  stores_[warp.index()].push_back({warp.PlaceOf(inst, std::countr_zero(warp.mask())), region});
}

// The regions of an operation, in one of the blocks that it works on.
void TensorUnit::CheckOperation(Warp& warp, const Inst& inst, const TensorOperation& operation) {
  const bool own = &Of(warp) == this;
  bool reported = false;
  for (const auto* regions : {&operation.writes, &operation.reads}) {
    const bool writes = regions == &operation.writes;
    for (const TensorRegion& region : *regions) {
      const std::string what =
          reported ? ""
                   : absl::StrCat(operation.name, writes ? " writes " : " reads ",
                                  Columns(region.column, region.columns), own ? "" : " of the pair's other block");
      reported =
          reported || (own ? Check(warp, inst, region, writes, what) : MeetsTransfer(warp, inst, region, writes, what));
      if (own) Remember(warp, inst, region, writes);
    }
  }
}

void TensorUnit::Issue(Warp& warp, const Inst& inst, TensorOperation operation) {
  if (checked_) CheckOperation(warp, inst, operation);
  if (checked_ && operation.of_pair) Of(*peer_).CheckOperation(warp, inst, operation);
  if (operations_.size() >= kMostUnderWay) Finish(operations_.front().where.thread, finished_ + 1);
  operations_.push_back(std::move(operation));
}

void TensorUnit::Finish(uint32_t thread, uint64_t count) {
  for (uint64_t i = finished_; i < count && i - finished_ < operations_.size(); ++i) {
    TensorOperation& operation = operations_[i - finished_];
    if (operation.run == nullptr || operation.where.thread != thread) continue;
    operation.run();
    operation.run = nullptr;
  }
  while (!operations_.empty() && operations_.front().run == nullptr) {
    operations_.pop_front();
    ++finished_;
  }
}

}  // namespace sassay::emulator
