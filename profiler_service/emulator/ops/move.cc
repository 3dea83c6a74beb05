#include <chrono>
#include <cstring>

#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"

namespace sassay::emulator {
namespace {

template <class T>
struct Same {
  T operator()(T a) const { return a; }
};

Flow MovePredicate(Warp& warp, const Inst& inst) {
  warp.SetPredicate(inst.o[0], warp.PredicateIn(inst.o[1]));
  return Flow::kNext;
}

// The address of a local variable: the frame decides. `a`: its offset in the frame.
Flow MoveLocalAddress(Warp& warp, const Inst& inst) {
  const uint64_t address = warp.frame().local_base + uint64_t{inst.a};
  for (int i = 0; i < kLanes; ++i) {
    if (warp.mask() >> i & 1) warp.SetLane(inst.o[0], i, address);
  }
  return Flow::kNext;
}

// The address of a shared variable, which the block's rank is part of. `a`: its offset.
Flow MoveSharedAddress(Warp& warp, const Inst& inst) {
  const uint64_t address = inst.a | uint64_t{warp.block().rank()} << kRankShift;
  for (int i = 0; i < kLanes; ++i) {
    if (warp.mask() >> i & 1) warp.SetLane(inst.o[0], i, address);
  }
  return Flow::kNext;
}

// d = {a, b, …}: `destinations` is 1.
Flow Pack(Warp& warp, const Inst& inst) {
  const Operand& d = inst.o[0];
  for (int i = 0; i < kLanes; ++i) {
    if (!(warp.mask() >> i & 1)) continue;
    uint8_t packed[16] = {};
    uint32_t at = 0;
    for (int k = 1; k <= inst.sources; ++k) {
      const uint64_t element = warp.Lane(inst.o[k], i);
      std::memcpy(packed + at, &element, inst.a);
      at += inst.a;
    }
    std::memcpy(warp.Out<uint8_t>(d) + i * d.bytes, packed, d.bytes);
  }
  return Flow::kNext;
}

// {a, b, …} = d.
Flow Unpack(Warp& warp, const Inst& inst) {
  const Operand& source = inst.o[inst.destinations];
  for (int i = 0; i < kLanes; ++i) {
    if (!(warp.mask() >> i & 1)) continue;
    uint8_t packed[16];
    std::memcpy(packed, warp.In<uint8_t>(source) + i * source.bytes, source.bytes);
    for (int k = 0; k < inst.destinations; ++k) {
      uint64_t element = 0;
      std::memcpy(&element, packed + k * inst.a, inst.a);
      warp.SetLane(inst.o[k], i, element);
    }
  }
  return Flow::kNext;
}

Flow Move128(Warp& warp, const Inst& inst) {
  struct Wide {
    uint64_t low, high;
  };
  const Wide* a = warp.In<Wide>(inst.o[1]);
  Map<Wide>(warp, inst.o[0], [=](int i) { return a[i]; });
  return Flow::kNext;
}

enum Special : uint32_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneId,
  kWarpId,
  kNwarpId,
  kSmId,
  kNsmId,
  kGridId,
  kMaskEq,
  kMaskLe,
  kMaskLt,
  kMaskGe,
  kMaskGt,
  kClock,
  kClockHi,
  kClock64,
  kGlobalTimer,
  kGlobalTimerLo,
  kGlobalTimerHi,
  kDynamicShared,
  kTotalShared,
  kReservedBegin,
  kReservedEnd,
  kReservedCap,
  kEnvReg1,
  kEnvReg2,
  kClusterCtaidX,
  kClusterCtaidY,
  kClusterCtaidZ,
  kClusterNctaidX,
  kClusterNctaidY,
  kClusterNctaidZ,
  kClusterRank,
  kClusterSize,
  kClusteridX,
  kClusteridY,
  kClusteridZ,
  kNclusteridX,
  kNclusteridY,
  kNclusteridZ,
};

constexpr struct {
  absl::string_view name;
  Special which;
} kSpecials[] = {
    {"%tid.x", kTidX},
    {"%tid.y", kTidY},
    {"%tid.z", kTidZ},
    {"%ntid.x", kNtidX},
    {"%ntid.y", kNtidY},
    {"%ntid.z", kNtidZ},
    {"%ctaid.x", kCtaidX},
    {"%ctaid.y", kCtaidY},
    {"%ctaid.z", kCtaidZ},
    {"%nctaid.x", kNctaidX},
    {"%nctaid.y", kNctaidY},
    {"%nctaid.z", kNctaidZ},
    {"%laneid", kLaneId},
    {"%warpid", kWarpId},
    {"%nwarpid", kNwarpId},
    {"%smid", kSmId},
    {"%nsmid", kNsmId},
    {"%gridid", kGridId},
    {"%lanemask_eq", kMaskEq},
    {"%lanemask_le", kMaskLe},
    {"%lanemask_lt", kMaskLt},
    {"%lanemask_ge", kMaskGe},
    {"%lanemask_gt", kMaskGt},
    {"%clock", kClock},
    {"%clock_hi", kClockHi},
    {"%clock64", kClock64},
    {"%globaltimer", kGlobalTimer},
    {"%globaltimer_lo", kGlobalTimerLo},
    {"%globaltimer_hi", kGlobalTimerHi},
    {"%dynamic_smem_size", kDynamicShared},
    {"%total_smem_size", kTotalShared},
    {"%reserved_smem_offset_begin", kReservedBegin},
    {"%reserved_smem_offset_end", kReservedEnd},
    {"%reserved_smem_offset_cap", kReservedCap},
    {"%envreg1", kEnvReg1},
    {"%envreg2", kEnvReg2},
    {"%cluster_ctaid.x", kClusterCtaidX},
    {"%cluster_ctaid.y", kClusterCtaidY},
    {"%cluster_ctaid.z", kClusterCtaidZ},
    {"%cluster_nctaid.x", kClusterNctaidX},
    {"%cluster_nctaid.y", kClusterNctaidY},
    {"%cluster_nctaid.z", kClusterNctaidZ},
    {"%cluster_ctarank", kClusterRank},
    {"%cluster_nctarank", kClusterSize},
    {"%nclusterid.x", kNclusteridX},
    {"%nclusterid.y", kNclusteridY},
    {"%nclusterid.z", kNclusteridZ},
    {"%clusterid.x", kClusteridX},
    {"%clusterid.y", kClusteridY},
    {"%clusterid.z", kClusteridZ},
};

constexpr uint32_t kMultiprocessors = 132;

uint64_t TimeNow() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

uint64_t OfThread(Special which, const Extent& block, uint32_t thread) {
  switch (which) {
    case kTidX:
      return thread % block.x;
    case kTidY:
      return thread / block.x % block.y;
    default:
      return thread / block.x / block.y;
  }
}

uint64_t OfLane(Special which, uint32_t lane) {
  const uint32_t self = 1u << lane;
  switch (which) {
    case kLaneId:
      return lane;
    case kMaskEq:
      return self;
    case kMaskLe:
      return self | (self - 1);
    case kMaskLt:
      return self - 1;
    case kMaskGe:
      return ~(self - 1);
    default:
      return ~(self | (self - 1));
  }
}

uint64_t OfCluster(Special which, Warp& warp) {
  const Extent& shape = warp.launch().cluster;
  const Extent& grid = warp.launch().grid;
  const Extent& position = warp.block().position();
  const uint32_t rank = warp.block().rank();
  switch (which) {
    case kClusterCtaidX:
      return rank % shape.x;
    case kClusterCtaidY:
      return rank / shape.x % shape.y;
    case kClusterCtaidZ:
      return rank / shape.x / shape.y;
    case kClusterNctaidX:
      return shape.x;
    case kClusterNctaidY:
      return shape.y;
    case kClusterNctaidZ:
      return shape.z;
    case kClusterRank:
      return rank;
    case kClusterSize:
      return shape.count();
    case kClusteridX:
      return position.x / shape.x;
    case kClusteridY:
      return position.y / shape.y;
    case kClusteridZ:
      return position.z / shape.z;
    case kNclusteridX:
      return grid.x / shape.x;
    case kNclusteridY:
      return grid.y / shape.y;
    case kNclusteridZ:
      return grid.z / shape.z;
    default:
      return 0;
  }
}

uint64_t OfBlock(Special which, Warp& warp) {
  const LaunchContext& launch = warp.launch();
  const Extent& position = warp.block().position();
  switch (which) {
    case kNtidX:
      return launch.block.x;
    case kNtidY:
      return launch.block.y;
    case kNtidZ:
      return launch.block.z;
    case kCtaidX:
      return position.x;
    case kCtaidY:
      return position.y;
    case kCtaidZ:
      return position.z;
    case kNctaidX:
      return launch.grid.x;
    case kNctaidY:
      return launch.grid.y;
    case kNctaidZ:
      return launch.grid.z;
    case kWarpId:
      return warp.index();
    case kNwarpId:
      return 64;
    case kSmId:
      return warp.block().index() % kMultiprocessors;
    case kNsmId:
      return kMultiprocessors;
    case kGridId:
      return 1;
    case kClock:
      return static_cast<uint32_t>(TimeNow());
    case kClockHi:
    case kGlobalTimerHi:
      return TimeNow() >> 32;
    case kGlobalTimerLo:
      return static_cast<uint32_t>(TimeNow());
    case kClock64:
    case kGlobalTimer:
      return TimeNow();
    case kDynamicShared:
      return launch.dynamic_shared_bytes;
    case kTotalShared:
      return launch.kernel->shared_bytes + launch.dynamic_shared_bytes;
    case kReservedEnd:
    case kReservedCap:
      return kSharedBase;
    case kEnvReg1:
      return launch.grid_workspace >> 32;
    case kEnvReg2:
      return static_cast<uint32_t>(launch.grid_workspace);
    default:
      return OfCluster(which, warp);
  }
}

Flow MoveSpecial(Warp& warp, const Inst& inst) {
  const Special which = static_cast<Special>(inst.a);
  const bool thread = which <= kTidZ, lane = which == kLaneId || (which >= kMaskEq && which <= kMaskGt);
  const uint64_t uniform = thread || lane ? 0 : OfBlock(which, warp);
  if (which >= kClock && which <= kGlobalTimerHi) warp.block().NoteOutsideIdly();
  for (int i = 0; i < kLanes; ++i) {
    if (!(warp.mask() >> i & 1)) continue;
    const uint64_t value = thread ? OfThread(which, warp.launch().block, warp.ThreadOf(i))
                           : lane ? OfLane(which, static_cast<uint32_t>(i))
                                  : uniform;
    warp.SetLane(inst.o[0], i, value);
  }
  return Flow::kNext;
}

absl::Status DecodeSpecial(Decoder& d, absl::string_view name) {
  for (const auto& special : kSpecials) {
    if (special.name != name) continue;
    d.inst().a = special.which;
    RETURN_IF_ERROR(d.WideDestination(d.operand(0), 2));
    const bool clock = special.which >= kClock && special.which <= kGlobalTimerHi;
    return d.Set(MoveSpecial, clock ? kSpins : 0);
  }
  return absl::UnimplementedError(absl::StrCat("emulator lacks ", name, " (PTX line ", d.source().line, ")"));
}

absl::Status DecodePack(Decoder& d, const ptx::Operand& vector, Type type) {
  const uint32_t count = static_cast<uint32_t>(vector.elements.size());
  if (count == 0 || SizeOf(type) % count != 0 || SizeOf(type) / count > 8)
    return d.Malformed("a vector that fills the register");
  d.inst().a = SizeOf(type) / count;
  RETURN_IF_ERROR(d.Destination(d.operand(0), SizeOf(type)));
  const Type element = d.inst().a == 1   ? Type::kB8
                       : d.inst().a == 2 ? Type::kB16
                       : d.inst().a == 4 ? Type::kB32
                                         : Type::kB64;
  for (const ptx::Operand& operand : vector.elements) RETURN_IF_ERROR(d.WideSource(operand, element));
  return d.Set(Pack);
}

absl::Status DecodeUnpack(Decoder& d, const ptx::Operand& vector, Type type) {
  const uint32_t count = static_cast<uint32_t>(vector.elements.size());
  if (count == 0 || SizeOf(type) % count != 0 || SizeOf(type) / count > 8)
    return d.Malformed("a vector that fills the register");
  d.inst().a = SizeOf(type) / count;
  for (const ptx::Operand& operand : vector.elements) RETURN_IF_ERROR(d.WideDestination(operand, d.inst().a));
  RETURN_IF_ERROR(d.Source(d.operand(1), type));
  return d.Set(Unpack);
}

absl::Status DecodeMov(Decoder& d) {
  RETURN_IF_ERROR(d.NeedOperands(2, 2));
  const Type type = d.type();
  const ptx::Operand& source = d.operand(1);
  if (source.kind == ptx::Operand::kSpecial) return DecodeSpecial(d, source.name);
  if (source.kind == ptx::Operand::kVector) return DecodePack(d, source, type);
  if (d.operand(0).kind == ptx::Operand::kVector) return DecodeUnpack(d, d.operand(0), type);
  const Space space = d.SpaceOf(source);
  const bool entry_parameter = space == Space::kParam && d.code().is_entry;
  if (source.kind == ptx::Operand::kVariable && (space == Space::kLocal || space == Space::kParam)) {
    ASSIGN_OR_RETURN(const uint64_t address, d.AddressOf(source));
    if (!entry_parameter || address < kParamWindow) {
      d.inst().a = static_cast<uint32_t>(address);
      RETURN_IF_ERROR(d.WideDestination(d.operand(0), 4));
      return d.Set(MoveLocalAddress);
    }
  }
  if (source.kind == ptx::Operand::kVariable && space == Space::kShared) {
    ASSIGN_OR_RETURN(const uint64_t address, d.AddressOf(source));
    d.inst().a = static_cast<uint32_t>(address);
    RETURN_IF_ERROR(d.WideDestination(d.operand(0), 4));
    return d.Set(MoveSharedAddress);
  }
  if (type == Type::kPred) return Regular(d, MovePredicate, type, {type});
  if (type == Type::kB128) return Regular(d, Move128, type, {type});
  return Regular(d, UnaryByWidth<Same>(type), type, {type});
}

}  // namespace

void RegisterMove(OpTable& table) { table.Add("mov", DecodeMov); }

}  // namespace sassay::emulator
