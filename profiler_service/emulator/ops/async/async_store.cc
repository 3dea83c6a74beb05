// st.async and red.async (PTX ISA 9.0, 9.7.9.13 and 9.7.13.8): a value goes to shared memory of the cluster, and its
// bytes are told to an mbarrier there.
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/ops/async/barrier_access.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"
#include "profiler_service/emulator/ops/memory/reduction.h"

namespace sassay::emulator {
namespace {

constexpr uint32_t kMostBytes = 16;

struct Facts {
  AccessFacts access;
  AccessFacts barrier_access;
  uint32_t element_bytes = 0, elements = 0;
  int barrier = 0;  // source
  int64_t displacement = 0, barrier_displacement = 0;
  std::optional<Reduction> reduction;
};

// One value under way, to land when its barrier is looked at.
class AsyncStore : public AsyncWork {
 public:
  AsyncStore(const Facts& facts, Block& into, uint32_t offset, const uint8_t* value, uint32_t barrier, Past cause,
             Block& asked_by)
      : facts_(facts), into_(into), offset_(offset), barrier_(barrier), cause_(std::move(cause)), asked_by_(asked_by) {
    std::memcpy(value_, value, facts.access.bytes);
  }

  void Finish(Block& signals) override {
    SharedMemory& shared = into_.shared();
    const uint32_t bytes = facts_.access.bytes;
    if (facts_.reduction) {
      uint64_t value = 0;
      std::memcpy(&value, value_, bytes);
      Reduce(*facts_.reduction, shared.data() + offset_, value);
    } else {
      std::memcpy(shared.data() + offset_, value_, bytes);
    }
    if (shared.unwritten() != nullptr) {
      std::memset(shared.unwritten() + offset_, 0, bytes);
      if (!facts_.reduction) into_.copies().End(offset_, nullptr, bytes);
    }
    into_.NoteChange();
    Mbarriers& barriers = signals.mbarriers();
    if (barriers.Check(barrier_) != Mbarriers::Trouble::kNone) return;
    const bool from_here = &asked_by_ == &into_;
    if (!from_here) barriers.ComeFromAnotherBlock(barrier_, asked_by_, &cause_);
    barriers.Complete(barrier_, bytes, from_here ? &cause_ : nullptr);
  }

 private:
  const Facts& facts_;  // of the instruction, which outlives the launch
  Block& into_;
  const uint32_t offset_, barrier_;
  const Past cause_;
  Block& asked_by_;
  uint8_t value_[kMostBytes];
};

void ReadValue(Warp& warp, const Inst& inst, const Facts& facts, int lane, uint8_t (&value)[kMostBytes]) {
  for (uint32_t k = 0; k < facts.elements; ++k) {
    const uint64_t bits = warp.Lane(inst.o[1 + k], lane);
    std::memcpy(value + k * facts.element_bytes, &bits, facts.element_bytes);
  }
}

// False: the launch has ended.
bool StartOne(Warp& warp, const Inst& inst, const Facts& facts, const Lanes& lanes, int lane,
              const BarrierPlace& barrier) {
  Block& into = *lanes.block[lane];
  if (barrier.block != &into) {
    return ReportBarrierMisuse(warp, inst, lane,
                               absl::StrCat("a store to block ", into.rank(),
                                            " of the cluster that signals a barrier of block ", barrier.block->rank()));
  }
  if (!CheckBarrier(warp, inst, lane, barrier)) return !warp.launch().stop;
  uint8_t value[kMostBytes] = {};
  ReadValue(warp, inst, facts, lane, value);
  const uint32_t offset = static_cast<uint32_t>(lanes.at[lane] - into.shared().data());
  const bool from_here = &into == &warp.block();
  Past cause;
  if (warp.checked()) {
    if (!facts.reduction && !from_here) NoteCopyTo(warp, inst, lane, into, offset, facts.access.bytes);
    if (!facts.reduction && from_here) {
      NoteCopy(warp, inst, lane, lanes.at[lane], nullptr, nullptr, value, facts.access.bytes);
    }
    warp.block().shared().Publish(warp.index(), cause);
  }
  if (into.mbarriers().Defer(barrier.offset, std::make_unique<AsyncStore>(facts, into, offset, value, barrier.offset,
                                                                          std::move(cause), warp.block()))) {
    return true;
  }
  warp.Fail(absl::UnimplementedError("emulator lacks room for so many stores that signal one mbarrier"));
  return false;
}

Flow StoreLater(Warp& warp, const Inst& inst) {
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  uint64_t addresses[kLanes];
  Lanes lanes;
  Addresses(warp, inst.o[0], facts.displacement, addresses);
  if (!Access(warp, inst, facts.access, addresses, lanes)) return Flow::kRedirected;
  BarrierPlace places[kLanes];
  uint32_t here = 0;
  if (!FindBarriers(warp, inst, inst.o[facts.barrier], facts.barrier_access, facts.barrier_displacement, places, here))
    return Flow::kRedirected;
  for (uint32_t rest = here & lanes.shared; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (!StartOne(warp, inst, facts, lanes, lane, places[lane])) return Flow::kRedirected;
  }
  return Flow::kNext;
}

}  // namespace

absl::Status DecodeAsyncStore(Decoder& d) {
  RETURN_IF_ERROR(d.NeedOperands(3, 3));
  if (!d.Has("mbarrier::complete_tx::bytes")) return d.Lacks();
  Facts facts;
  facts.element_bytes = SizeOf(d.type());
  const auto elements = Decoder::Elements(d.operand(1));
  facts.elements = static_cast<uint32_t>(elements.size());
  const uint32_t bytes = facts.element_bytes * facts.elements;
  if (facts.element_bytes < 4 || bytes > kMostBytes) return d.Malformed("4 to 16 bytes");
  if (d.Part(0) == "red") {
    Reduction reduction;
    bool known = false;
    for (const absl::string_view name : {"add", "min", "max", "inc", "dec", "and", "or", "xor"}) {
      known = known || (d.Has(name) && FindReduction(name, d.type(), reduction));
    }
    if (!known || facts.elements != 1) return d.Lacks();
    facts.reduction = reduction;
  }
  facts.access = ParseAccess(d, d.operand(0));
  facts.access.kind = facts.reduction ? AccessKind::kAtomic : AccessKind::kWrite;
  facts.access.atomic = facts.reduction.has_value();
  facts.access.bytes = bytes;
  facts.access.of_unit = facts.access.quiet = facts.access.tells_changes = true;
  RETURN_IF_ERROR(d.Address(d.operand(0)));
  facts.displacement = std::exchange(d.inst().immediate, 0);
  for (const ptx::Operand* element : elements) RETURN_IF_ERROR(d.Source(*element, d.type()));
  facts.barrier = d.inst().sources;
  RETURN_IF_ERROR(d.Address(d.operand(2)));
  facts.barrier_displacement = std::exchange(d.inst().immediate, 0);
  facts.barrier_access = BarrierAccess(d);
  d.Attach(facts);
  return d.Set(StoreLater, kTaintStops);
}

}  // namespace sassay::emulator
