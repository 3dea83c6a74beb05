// tcgen05.commit (PTX ISA 9.0, 9.7.16.12.1): an mbarrier hears when all that the thread has asked for is done.
#include <bit>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/emulator/exec/cluster.h"
#include "profiler_service/emulator/ops/async/barrier_access.h"
#include "profiler_service/emulator/ops/tcgen05/tensor_unit.h"

namespace sassay::emulator {
namespace {

struct Facts {
  uint32_t group = 1;
  AccessFacts barrier;
  bool multicast = false;
};

// One arrival, after the first `count` operations as far as `thread` asked for them.
class Commit : public AsyncWork {
 public:
  Commit(Block& issuer, uint32_t thread, uint64_t count, uint32_t offset)
      : issuer_(issuer), thread_(thread), count_(count), offset_(offset) {}

  Past& cause() { return cause_; }
  void Finish(Block& block) override {
    TensorUnit::Of(issuer_).Finish(thread_, count_);
    if (block.mbarriers().Check(offset_) != Mbarriers::Trouble::kNone) return;
    if (&issuer_ != &block) block.mbarriers().ComeFromAnotherBlock(offset_, issuer_, nullptr);
    block.mbarriers().Arrive(offset_, 1, false, nullptr, &cause_);
  }

 private:
  Block& issuer_;
  const uint32_t thread_;
  const uint64_t count_;
  const uint32_t offset_;
  Past cause_;  // the issuing warp's past: what waits for this arrival comes after it
};

Flow CommitOne(Warp& warp, const Inst& inst, int lane, const BarrierPlace& place) {
  if (!CheckBarrier(warp, inst, lane, place)) return warp.launch().stop ? Flow::kRedirected : Flow::kNext;
  TensorUnit& unit = TensorUnit::Of(warp);
  auto commit = std::make_unique<Commit>(warp.block(), warp.ThreadOf(lane), unit.issued(), place.offset);
  if (warp.checked() && place.block == &warp.block()) {
    warp.block().shared().Publish(warp.index(), commit->cause());
  }
  if (place.block->mbarriers().Defer(place.offset, std::move(commit))) return Flow::kNext;
  return warp.Fail(absl::UnimplementedError("emulator lacks room for so many tcgen05.commit on one mbarrier"));
}

// To the barrier at the same place of every block of the cluster that the mask names by rank.
Flow CommitToCluster(Warp& warp, const Inst& inst, int lane, const BarrierPlace& place) {
  const uint32_t ranks = warp.In<uint16_t>(inst.o[1])[lane];
  Cluster& cluster = warp.block().cluster();
  if (ranks >> cluster.size() != 0) {
    const bool goes_on = ReportBarrierMisuse(
        warp, inst, lane,
        absl::StrCat("tcgen05.commit to blocks 0x", absl::Hex(ranks), " of a cluster of ", cluster.size()));
    if (!goes_on) return Flow::kRedirected;
  }
  for (uint32_t rank = 0; rank < cluster.size(); ++rank) {
    if ((ranks >> rank & 1) == 0) continue;
    BarrierPlace there = place;
    there.block = &cluster.block(rank);
    const Flow flow = CommitOne(warp, inst, lane, there);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Flow CommitAll(Warp& warp, const Inst& inst) {
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  Flow refused = Flow::kNext;
  if (!EnterGroup(warp, inst, facts.group, true, refused)) return refused;
  BarrierPlace places[kLanes];
  uint32_t here = 0;
  if (!FindBarriers(warp, inst, inst.o[0], facts.barrier, inst.immediate, places, here)) return Flow::kRedirected;
  for (uint32_t rest = here; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Flow flow =
        facts.multicast ? CommitToCluster(warp, inst, lane, places[lane]) : CommitOne(warp, inst, lane, places[lane]);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

}  // namespace

absl::Status DecodeCommit(Decoder& d) {
  Facts facts;
  facts.group = CtaGroup(d);
  if (facts.group == 0 || !d.Has("mbarrier::arrive::one")) return d.Lacks();
  facts.barrier = BarrierAccess(d);
  facts.multicast = d.Has("multicast::cluster");
  RETURN_IF_ERROR(d.NeedOperands(facts.multicast ? 2 : 1, facts.multicast ? 2 : 1));
  RETURN_IF_ERROR(d.Address(d.operand(0)));
  if (facts.multicast) RETURN_IF_ERROR(d.Source(d.operand(1), Type::kU16));
  d.Attach(facts);
  return d.Set(CommitAll);
}

}  // namespace sassay::emulator
