#include "profiler_service/emulator/exec/cluster.h"

#include <bit>

#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"

// What blocks of a cluster do with one another (PTX ISA 9.0, 9.7.13.4 barrier.cluster, 9.7.9.22 mapa, 9.7.9.23
// getctarank).
namespace sassay::emulator {
namespace {

Flow Arrive(Warp& warp, const Inst&) {
  Block& block = warp.block();
  block.NoteOutside();
  block.cluster().Arrive(warp, block.rank(), warp.mask());
  return Flow::kNext;
}

Flow Wait(Warp& warp, const Inst&) {
  Block& block = warp.block();
  return block.cluster().Waits(warp, block.rank(), warp.mask()) ? warp.WaitForUnit() : Flow::kNext;
}

// mapa d, address, rank: the same place in another block's shared memory. `a`: 1 for generic addresses.
template <class T>
Flow MapAddress(Warp& warp, const Inst& inst) {
  const T* addresses = warp.In<T>(inst.o[1]);
  const uint32_t* ranks = warp.In<uint32_t>(inst.o[2]);
  const T window = inst.a != 0 ? static_cast<T>(kSharedWindow) : 0;
  Map<T>(warp, inst.o[0], [=](int i) {
    return window + (((addresses[i] - window) & kRankMask) | static_cast<T>(ranks[i] & 0xff) << kRankShift);
  });
  return Flow::kNext;
}

template <class T>
Flow RankOf(Warp& warp, const Inst& inst) {
  const T* addresses = warp.In<T>(inst.o[1]);
  const T window = inst.a != 0 ? static_cast<T>(kSharedWindow) : 0;
  Map<uint32_t>(warp, inst.o[0],
                [=](int i) { return static_cast<uint32_t>((addresses[i] - window) >> kRankShift) & 0xff; });
  return Flow::kNext;
}

absl::Status DecodeMapAddress(Decoder& d) {
  d.inst().a = !d.Has("shared::cluster");
  if (d.type() == Type::kU64) return Regular(d, MapAddress<uint64_t>, Type::kU64, {Type::kU64, Type::kU32});
  return Regular(d, MapAddress<uint32_t>, Type::kU32, {Type::kU32, Type::kU32});
}

absl::Status DecodeRankOf(Decoder& d) {
  d.inst().a = !d.Has("shared::cluster");
  if (d.type() == Type::kU64) return Regular(d, RankOf<uint64_t>, Type::kU32, {Type::kU64});
  return Regular(d, RankOf<uint32_t>, Type::kU32, {Type::kU32});
}

}  // namespace

absl::Status DecodeClusterBarrier(Decoder& d) {
  if (d.Has("arrive")) return d.Set(Arrive, kSync);
  return d.Has("wait") ? d.Set(Wait, kSync) : d.Lacks();
}

void RegisterCluster(OpTable& table) {
  table.Add("mapa", DecodeMapAddress);
  table.Add("getctarank", DecodeRankOf);
}

}  // namespace sassay::emulator
