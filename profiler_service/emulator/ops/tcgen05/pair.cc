// Blocks 2r and 2r + 1 of a cluster as a pair (PTX ISA 9.0, 9.7.16.5.1: CTA pair; 9.7.16.5: issue granularity).
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/exec/cluster.h"
#include "profiler_service/emulator/ops/tcgen05/tensor_unit.h"

namespace sassay::emulator {
namespace {

std::string OtherGroup(const std::string& opcode, uint32_t before) {
  return absl::StrCat(opcode, " in a block that has used .cta_group::", before, " at ", kOtherPlace,
                      ": all tcgen05 instructions of a kernel must have the same group");
}

}  // namespace

std::string TensorUnit::Enter(Warp& warp, const Inst& inst, uint32_t group, bool needs_peer, Place& first) {
  const std::string& opcode = warp.launch().program->opcodes[inst.opcode];
  Block& block = warp.block();
  Cluster& cluster = block.cluster();
  if (group_ != 0 && group_ != group) {
    first = first_;
    return OtherGroup(opcode, group_);
  }
  const uint32_t other = block.rank() ^ 1;
  if (group == 2 && other >= cluster.size()) {
    return absl::StrCat(opcode, " by block ", block.rank(), " of a cluster of ", cluster.size(),
                        ", which has no other block to make a pair with");
  }
  if (group_ == 0) first_ = warp.PlaceOf(inst, std::countr_zero(warp.mask()));
  group_ = group;
  if (group == 1) return "";
  peer_ = &cluster.block(other);
  if (!needs_peer || !cluster.ended(other)) return "";
  return absl::StrCat(opcode, " for a pair whose other block (", peer_->index(), ") has exited");
}

std::vector<Block*> TensorUnit::Sides(Block& own, uint32_t group) const {
  if (group == 1) return {&own};
  return own.rank() % 2 == 0 ? std::vector<Block*>{&own, peer_} : std::vector<Block*>{peer_, &own};
}

const TensorUnit* TensorUnit::PeerUnit() const { return peer_ == nullptr ? nullptr : &Of(*peer_); }

bool EnterGroup(Warp& warp, const Inst& inst, uint32_t group, bool needs_peer, Flow& flow) {
  Place first;
  std::string wrong = TensorUnit::Of(warp).Enter(warp, inst, group, needs_peer, first);
  if (wrong.empty()) return true;
  const bool names_place = wrong.find(kOtherPlace) != std::string::npos;
  flow = Reject(warp, inst, sassay::v1::VERDICT_CODE_TENSOR_MEMORY_MISUSE, std::move(wrong),
                names_place ? &first : nullptr);
  return false;
}

}  // namespace sassay::emulator
