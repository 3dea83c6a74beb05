// setmaxnreg (PTX ISA 9.0, 9.7.19.5): warps give registers to their block's pool, and take them from it, waiting until
// there are enough.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"

namespace sassay::emulator {
namespace {

// Counted in registers of a thread, for a warp each. A warp's registers come back to the pool by setmaxnreg.dec alone,
// not by its exit.
class RegisterPool : public BlockExtension {
 public:
  // What `warp` holds.
  uint32_t& Held(Warp& warp) {
    if (held_.size() <= warp.index()) {
      held_.resize(warp.index() + 1, warp.launch().registers);
      waiting_.resize(warp.index() + 1);
    }
    return held_[warp.index()];
  }
  // False: so many are not there yet.
  bool Take(Warp& warp, uint32_t wanted) {
    uint32_t& held = Held(warp);
    const uint32_t more = wanted > held ? wanted - held : 0;
    std::string& waiting = waiting_[warp.index()];
    if (more > free_) {
      waiting = absl::StrCat("waiting in setmaxnreg.inc for ", more, " registers a thread more than the ", held,
                             " that it has, where the block's other warps have given ", free_, " that nobody took");
      return false;
    }
    waiting.clear();
    free_ -= more;
    held += more;
    return true;
  }
  void Give(Warp& warp, uint32_t kept) {
    uint32_t& held = Held(warp);
    if (kept >= held) return;
    free_ += held - kept;
    held = kept;
  }
  std::string Waiting(uint32_t warp) const override { return warp < waiting_.size() ? waiting_[warp] : ""; }

 private:
  std::vector<uint32_t> held_;
  std::vector<std::string> waiting_;
  uint32_t free_ = 0;
};

// `a`: registers a thread; `b`: 1 takes.
Flow SetRegisters(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  if (warp.launch().registers == 0) return Flow::kNext;  // without a cubin nobody knows what there is to give
  RegisterPool& pool = warp.block().Extension<RegisterPool>();
  if (inst.b != 0) return pool.Take(warp, inst.a) ? Flow::kNext : warp.WaitForUnit();
  pool.Give(warp, inst.a);
  warp.block().WakeUnits();
  return Flow::kNext;
}

absl::Status DecodeSetRegisters(Decoder& d) {
  RETURN_IF_ERROR(d.NeedOperands(1, 1));
  if (d.operand(0).kind != ptx::Operand::kInteger) return d.Malformed("a constant count of registers");
  d.inst().a = static_cast<uint32_t>(d.operand(0).bits);
  d.inst().b = d.Has("inc");
  return d.Set(SetRegisters, kSync);
}

}  // namespace

void RegisterPoolOfRegisters(OpTable& table) { table.Add("setmaxnreg", DecodeSetRegisters); }

}  // namespace sassay::emulator
