#include "profiler_service/emulator/exec/access.h"

#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/exec/cluster.h"
#include "profiler_service/emulator/exec/shared_access.h"
#include "profiler_service/emulator/memory/private_pages.h"
#include "profiler_service/emulator/memory/racing.h"

namespace sassay::emulator {
namespace {

using sassay::v1::VerdictCode;

// Where one lane's address leads, or why nowhere.
struct Target {
  uint8_t* host = nullptr;
  uint8_t* unwritten = nullptr;
  bool shared = false, global = false, input = false;
  Block* block = nullptr;  // whose shared memory it is
  VerdictCode code = sassay::v1::VERDICT_CODE_UNSPECIFIED;
  std::string buffer;
  std::string what;  // "C (131072 bytes)"
  int64_t distance = 0;
};

// One access at a time, lane by lane; the frequent case of one space and one allocation costs a few compares per lane.
class Resolver {
 public:
  Resolver(Warp& warp, const Inst& inst, const AccessFacts& facts)
      : warp_(warp), inst_(inst), facts_(facts), launch_(warp.launch()), block_(warp.block()) {}

  // Fills `target`; host is null if the lane may not access this.
  void Resolve(int lane, uint64_t address, Target& target) {
    switch (facts_.space) {
      case Space::kShared:
        return ResolveShared(address & 0xffffffff, facts_.of_cluster, target);
      case Space::kLocal:
        return ResolveLocal(lane, address, target);
      case Space::kParam:
        if (address - kParamWindow < kWindowBytes) return ResolveParameter(address, target);
        return ResolveLocal(lane, address, target);
      case Space::kGeneric:
        if (address >= kSharedWindow) return ResolveWindow(lane, address, target);
        [[fallthrough]];
      default:
        return ResolveGlobal(address, target);
    }
  }

  // The fault or finding for a lane that may not. A trial only ends: what it does is no news yet.
  bool Refuse(int lane, const Target& target) {
    if (launch_.pages != nullptr) {
      launch_.stop = true;
      return false;
    }
    const auto code = target.code;
    if (launch_.checked && !launch_.report.Wants(code, inst_.id, block_.index())) return true;
    Misuse misuse;
    misuse.code = code;
    misuse.where = warp_.PlaceOf(inst_, lane);
    misuse.access_bytes = facts_.bytes;
    misuse.buffer = target.buffer;
    misuse.distance_bytes = target.distance;
    misuse.message = absl::StrCat(Verb(facts_.kind), " of ", facts_.bytes, " bytes, ", target.what);
    if (launch_.checked) {
      launch_.report.Add(std::move(misuse));
      return true;
    }
    launch_.Fault(std::move(misuse));
    return false;
  }

 private:
  void ResolveWindow(int lane, uint64_t address, Target& target) {
    if (address - kSharedWindow < kWindowBytes) return ResolveShared(address - kSharedWindow, true, target);
    if (address - kLocalWindow < kWindowBytes) return ResolveLocal(lane, address - kLocalWindow, target);
    if (address - kParamWindow < kWindowBytes) return ResolveParameter(address, target);
    ResolveGlobal(address, target);
  }

  void ResolveGlobal(uint64_t address, Target& target) {
    const Allocation*& hint = block_.Hint(inst_.id);
    const Allocation* allocation = hint;
    if (allocation == nullptr || !allocation->live || !allocation->Contains(address, facts_.bytes)) {
      allocation = launch_.memory->Find(address, facts_.bytes);
      if (allocation != nullptr) hint = allocation;
    }
    if (allocation == nullptr || (allocation->read_only && facts_.kind != AccessKind::kRead)) {
      return ExplainGlobal(address, target);
    }
    target.host = allocation->host + (address - allocation->base);
    target.unwritten =
        allocation->unwritten == nullptr ? nullptr : allocation->unwritten + (address - allocation->base);
    target.global = true;
    target.input = allocation->input;
    if (launch_.pages != nullptr) MakePrivate(target);
  }

  void MakePrivate(Target& target) {
    const bool asks_others = facts_.kind == AccessKind::kAtomic ? (inst_.flags & kResultUsed) != 0
                                                                : facts_.kind == AccessKind::kRead && facts_.atomic;
    target.host =
        asks_others ? nullptr : launch_.pages->At(target.host, facts_.bytes, facts_.kind != AccessKind::kRead);
    target.unwritten = nullptr;
  }

  void ExplainGlobal(uint64_t address, Target& target) {
    const Allocation* nearest = launch_.memory->Nearest(address);
    target.code = facts_.space == Space::kConst      ? sassay::v1::VERDICT_CODE_OOB_CONST
                  : facts_.kind == AccessKind::kRead ? sassay::v1::VERDICT_CODE_OOB_GLOBAL_READ
                                                     : sassay::v1::VERDICT_CODE_OOB_GLOBAL_WRITE;
    if (nearest == nullptr) {
      target.what =
          absl::StrCat("at 0x", absl::Hex(address), ", which is ", address < 65536 ? "a null pointer" : "in no buffer");
      return;
    }
    target.buffer = nearest->label;
    if (!nearest->live) {
      target.code = sassay::v1::VERDICT_CODE_USE_AFTER_FREE;
      target.what = absl::StrCat("in ", nearest->label, " (", nearest->size, " bytes), which has been freed");
    } else if (nearest->read_only) {
      target.what = absl::StrCat("to ", nearest->label, ", which is read-only");
    } else {
      DescribeDistance(static_cast<int64_t>(address - nearest->base), nearest->size, nearest->label, target);
    }
  }

  // `offset`: of the access from the buffer's start.
  void DescribeDistance(int64_t offset, uint64_t size, const std::string& label, Target& target) {
    const std::string buffer = absl::StrCat(label, " (", size, " bytes)");
    const int64_t end = static_cast<int64_t>(size);
    if (offset < 0) {
      target.distance = offset;
      target.what = absl::StrCat(-offset, " bytes before the start of ", buffer);
    } else if (offset < end) {
      target.distance = 0;
      target.what = absl::StrCat(offset + facts_.bytes - end, " of them past the end of ", buffer);
    } else {
      target.distance = offset - end;
      target.what = absl::StrCat(offset - end, " bytes past the end of ", buffer);
      if (offset == end) target.what = absl::StrCat("right past the end of ", buffer);
    }
  }

  // The block that an address of a cluster's shared memory leads to, and the address within it. Null: none, or one that
  // has ended.
  Block* OwnerOf(uint64_t& address, bool of_cluster, Target& target) {
    const uint32_t rank = static_cast<uint32_t>(address >> kRankShift);
    if (launch_.cluster.count() == 1 || rank == block_.rank() || (rank == 0 && !of_cluster)) {
      if (launch_.cluster.count() > 1) address &= kRankMask;
      return &block_;
    }
    address &= kRankMask;
    Cluster& cluster = block_.cluster();
    if (of_cluster && rank < cluster.size() && !cluster.ended(rank)) return &cluster.block(rank);
    target.code = sassay::v1::VERDICT_CODE_OOB_SHARED;
    target.buffer = "shared";
    target.what =
        !of_cluster ? absl::StrCat("at an address of block ", rank, " of the cluster, by an access to the block's own")
        : rank < cluster.size()
            ? absl::StrCat("in the shared memory of block ", rank, " of the cluster, which has exited")
            : absl::StrCat("at an address of block ", rank, " of a cluster of ", cluster.size());
    return nullptr;
  }

  void ResolveShared(uint64_t address, bool of_cluster, Target& target) {
    target.block = OwnerOf(address, of_cluster, target);
    if (target.block == nullptr) return;
    SharedMemory& shared = target.block->shared();
    const uint64_t offset = address - kSharedBase;
    const uint64_t dynamic = launch_.program->dynamic_shared_base - kSharedBase;
    const uint64_t fixed = launch_.kernel->shared_bytes;
    const uint64_t end = offset + facts_.bytes;
    const bool inside = address >= kSharedBase && (end <= fixed || (offset >= dynamic && end <= shared.size()));
    if (!inside) {
      target.code = sassay::v1::VERDICT_CODE_OOB_SHARED;
      target.buffer = "shared";
      // Told from the region that the address comes after: static variables, or dynamic memory.
      const bool in_dynamic = launch_.dynamic_shared_bytes > 0 && (offset >= dynamic || fixed == 0);
      const int64_t from =
          static_cast<int64_t>(address) - kSharedBase - (in_dynamic ? static_cast<int64_t>(dynamic) : 0);
      DescribeDistance(from, in_dynamic ? launch_.dynamic_shared_bytes : fixed,
                       in_dynamic ? "dynamic shared memory" : "static shared memory", target);
      return;
    }
    target.host = shared.data() + offset;
    target.unwritten = shared.unwritten() == nullptr ? nullptr : shared.unwritten() + offset;
    target.shared = true;
  }

  void ResolveLocal(int lane, uint64_t address, Target& target) {
    if (facts_.frame_relative) address += warp_.frame().local_base;
    const uint32_t end = warp_.LocalEnd();
    if (address > end || facts_.bytes > end - address) {
      target.code = sassay::v1::VERDICT_CODE_OOB_LOCAL;
      target.buffer = "local";
      DescribeDistance(static_cast<int64_t>(address), end, "local memory", target);
      return;
    }
    target.host = warp_.Local(lane) + address;
    uint8_t* unwritten = warp_.LocalUnwritten(lane);
    target.unwritten = unwritten == nullptr ? nullptr : unwritten + address;
  }

  void ResolveParameter(uint64_t address, Target& target) {
    const uint64_t offset = address - kParamWindow, size = launch_.parameters.size();
    if (offset > size || facts_.bytes > size - offset || facts_.kind != AccessKind::kRead) {
      target.code = facts_.kind == AccessKind::kRead ? sassay::v1::VERDICT_CODE_OOB_CONST
                                                     : sassay::v1::VERDICT_CODE_OOB_GLOBAL_WRITE;
      target.buffer = "kernel parameters";
      DescribeDistance(static_cast<int64_t>(offset), size, "the kernel's parameters", target);
      return;
    }
    target.host = launch_.parameters.data() + offset;
  }

  Warp& warp_;
  const Inst& inst_;
  const AccessFacts& facts_;
  LaunchContext& launch_;
  Block& block_;
};
}  // namespace

void Addresses(Warp& warp, const Operand& base, int64_t displacement, uint64_t (&addresses)[kLanes]) {
  if (base.bytes == 8) {
    const uint64_t* values = warp.In<uint64_t>(base);
    for (int i = 0; i < kLanes; ++i) addresses[i] = values[i] + static_cast<uint64_t>(displacement);
  } else {
    const uint32_t* values = warp.In<uint32_t>(base);
    for (int i = 0; i < kLanes; ++i) addresses[i] = uint32_t{values[i] + static_cast<uint32_t>(displacement)};
  }
}

bool Access(Warp& warp, const Inst& inst, const AccessFacts& facts, const uint64_t (&addresses)[kLanes], Lanes& lanes) {
  Resolver resolver(warp, inst, facts);
  lanes.mask = lanes.shared = lanes.global = lanes.inputs = lanes.remote = 0;
  const uint64_t misaligned = (facts.alignment != 0 ? facts.alignment : facts.bytes) - 1;
  Target target;
  for (uint32_t rest = warp.mask(); rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    target.host = nullptr;
    target.shared = target.global = target.input = false;
    if ((addresses[lane] & misaligned) != 0) {
      target.code = sassay::v1::VERDICT_CODE_MISALIGNED;
      target.what =
          absl::StrCat("at address 0x", absl::Hex(addresses[lane]), ", which is not a multiple of ", misaligned + 1);
    } else {
      resolver.Resolve(lane, addresses[lane], target);
    }
    if (target.host == nullptr) {
      if (!resolver.Refuse(lane, target)) return false;
      continue;
    }
    lanes.mask |= 1u << lane;
    lanes.at[lane] = target.host;
    lanes.unwritten[lane] = target.unwritten;
    lanes.block[lane] = target.block;
    lanes.shared |= uint32_t{target.shared} << lane;
    lanes.remote |= uint32_t{target.shared && target.block != &warp.block()} << lane;
    lanes.global |= uint32_t{target.global} << lane;
    lanes.inputs |= uint32_t{target.input} << lane;
  }
  if (facts.kind != AccessKind::kWrite && (lanes.shared | lanes.global) != 0) warp.NoteRead();
  if (facts.kind != AccessKind::kRead && !facts.tells_changes) warp.block().NoteOutside();
  if (!warp.checked() || facts.quiet) return true;
  for (uint32_t rest = facts.kind != AccessKind::kWrite ? lanes.shared : 0; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    NoteShared(warp, inst, facts, lanes, lane, false);
  }
  if (facts.atomic && lanes.global != 0) OrderByGlobal(warp, facts);
  return true;
}

void ReportInputChange(Warp& warp, const Inst& inst, const AccessFacts& facts, uint32_t lanes) {
  constexpr auto kCode = sassay::v1::VERDICT_CODE_INPUT_MODIFIED;
  if (!warp.launch().report.Wants(kCode, inst.id, warp.block().index())) return;
  const Allocation* allocation = warp.block().Hint(inst.id);
  Misuse misuse;
  misuse.code = kCode;
  misuse.where = warp.PlaceOf(inst, std::countr_zero(lanes));
  misuse.access_bytes = facts.bytes;
  misuse.buffer = allocation == nullptr ? "" : allocation->label;
  misuse.message =
      absl::StrCat(Verb(facts.kind), " of ", facts.bytes, " bytes changes ",
                   misuse.buffer.empty() ? "an input" : misuse.buffer, ", an input, which kernels must leave as it is");
  warp.launch().report.Add(std::move(misuse));
}

void NoteStore(Warp& warp, const Inst& inst, const AccessFacts& facts, const Lanes& lanes, const uint8_t* values,
               uint32_t stride) {
  for (uint32_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    uint8_t* unwritten = lanes.unwritten[lane];
    bool changes = DiffersRacing(lanes.at[lane], values + lane * stride, facts.bytes);
    if (unwritten != nullptr && AnyRacing(unwritten, facts.bytes)) {
      SetRacing(unwritten, false, facts.bytes);
      changes = true;
    }
    if ((lanes.shared >> lane & 1) != 0 && (changes || facts.atomic))
      NoteShared(warp, inst, facts, lanes, lane, changes);
    if ((lanes.inputs >> lane & 1) != 0 && changes) ReportInputChange(warp, inst, facts, 1u << lane);
    if ((lanes.global >> lane & 1) == 0 || !changes || !warp.block().copies().any()) continue;
    const CopyMark* copy = warp.block().copies().AtSource(lanes.at[lane], facts.bytes);
    if (copy != nullptr) ReportSourceUnderWay(warp, inst, facts, lane, *copy);
  }
}
uint32_t NeverWritten(const Lanes& lanes, uint32_t offset, uint32_t bytes) {
  uint32_t never = 0;
  for (uint32_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint8_t* unwritten = lanes.unwritten[lane];
    if (unwritten == nullptr) continue;
    never |= uint32_t{AllRacing(unwritten + offset, bytes)} << lane;
  }
  return never;
}

void ReportUninitialized(Warp& warp, const Inst& inst, uint32_t origin, uint32_t lanes, absl::string_view use) {
  constexpr auto kCode = sassay::v1::VERDICT_CODE_UNINITIALIZED_READ;
  LaunchContext& launch = warp.launch();
  if (!launch.report.Wants(kCode, origin, warp.block().index())) return;
  const Inst& load = *launch.program->insts[origin].second;
  Misuse misuse;
  misuse.code = kCode;
  misuse.where = warp.PlaceOf(load, std::countr_zero(lanes));
  misuse.has_other = &load != &inst;
  misuse.other = warp.PlaceOf(inst, std::countr_zero(lanes));
  misuse.message = misuse.has_other
                       ? absl::StrCat("a value read from memory that was never written is ", use, " at ", kOtherPlace)
                       : absl::StrCat("memory that was never written is ", use);
  const std::string buffer = warp.OriginOf(origin).buffer;
  if (!buffer.empty()) {
    misuse.buffer = buffer;
    absl::StrAppend(&misuse.message, "; it comes from ", buffer);
  }
  launch.report.Add(std::move(misuse));
}

AccessFacts ParseAccess(const Decoder& d, const ptx::Operand& address) {
  AccessFacts facts;
  for (const absl::string_view part : d.source().parts) {
    if (part == "global") facts.space = Space::kGlobal;
    if (part == "const") facts.space = Space::kConst;
    if (part == "shared" || part == "shared::cta" || part == "shared::cluster") facts.space = Space::kShared;
    facts.of_cluster |= part == "shared::cluster";
    if (part == "local") facts.space = Space::kLocal;
    if (part == "param" || part == "param::entry" || part == "param::func") facts.space = Space::kParam;
  }
  facts.is_volatile = d.Has("volatile");
  facts.acquire = d.Has("acquire") || d.Has("volatile") || d.Has("relaxed") || d.Has("acq_rel") || d.Has("mmio");
  facts.release = d.Has("release") || d.Has("volatile") || d.Has("relaxed") || d.Has("acq_rel") || d.Has("mmio");
  facts.atomic = facts.acquire || facts.release;
  if (address.kind == ptx::Operand::kAddress && !address.elements.empty()) {
    const ptx::Operand& base = address.elements[0];
    const Space of_name = d.SpaceOf(base);
    if (base.kind == ptx::Operand::kVariable) {
      if (facts.space == Space::kGeneric) facts.space = of_name;
      const auto named = d.AddressOf(base);
      facts.frame_relative =
          (of_name == Space::kLocal || of_name == Space::kParam) && named.ok() && *named < kParamWindow;
    }
  }
  return facts;
}

}  // namespace sassay::emulator
