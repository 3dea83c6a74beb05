#include "profiler_service/emulator/exec/access.h"

#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/demangle/demangle.h"
#include "profiler_service/emulator/exec/cluster.h"
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

absl::string_view Verb(AccessKind kind) {
  return kind == AccessKind::kRead ? "load" : kind == AccessKind::kWrite ? "store" : "atomic";
}

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

// "_ZZ4gemmPKfE4tile", the kernel's own variable, is "tile" to its author.
std::string VariableName(const std::string& symbol) {
  const std::string name = Demangle(symbol);
  const size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

struct SharedPlace {
  std::string name = "shared memory";
  uint32_t offset = 0;  // within it
};

SharedPlace PlaceInShared(const LaunchContext& launch, uint32_t offset) {
  SharedPlace place;
  place.offset = offset;
  for (const SharedVariable& variable : launch.program->shared_variables) {
    if (variable.owner != nullptr && variable.owner != launch.kernel) continue;
    if (offset + kSharedBase - variable.offset >= variable.bytes) continue;
    place = {VariableName(variable.name), offset + kSharedBase - variable.offset};
  }
  const uint32_t dynamic = launch.program->dynamic_shared_base - kSharedBase;
  if (place.name == "shared memory" && offset >= dynamic) place = {"dynamic shared memory", offset - dynamic};
  return place;
}

// A race of one lane's access with `other`. False if it need not be described.
bool PrepareRace(Warp& warp, const Inst& inst, const AccessFacts& facts, int lane, const Place& other, Misuse& misuse,
                 VerdictCode code = sassay::v1::VERDICT_CODE_SHARED_RACE) {
  misuse.code = code;
  if (!warp.launch().report.Wants(misuse.code, inst.id, warp.block().index())) return false;
  misuse.where = warp.PlaceOf(inst, lane);
  misuse.other = other;
  misuse.has_other = true;
  misuse.buffer = "shared";
  misuse.access_bytes = facts.bytes;
  return true;
}

Place PlaceOf(Block& block, const Touch& touch) { return {block.index(), touch.thread, touch.inst}; }
Place PlaceOf(Block& block, const CopyMark& mark) {
  return {block.cluster().block(mark.rank).index(), mark.thread, mark.inst};
}

std::string AccessAt(Warp& warp, const AccessFacts& facts, int lane, uint32_t offset) {
  const absl::string_view verb = !facts.of_unit                     ? Verb(facts.kind)
                                 : facts.kind == AccessKind::kWrite ? "asynchronous write"
                                                                    : "asynchronous read";
  return absl::StrCat(verb, " of ", facts.bytes, " bytes at ", DescribeShared(warp.launch(), offset), " by thread ",
                      warp.ThreadOf(lane));
}

void ReportRace(Warp& warp, const Inst& inst, const AccessFacts& facts, int lane, uint32_t offset, const Race& race) {
  Misuse misuse;
  if (!PrepareRace(warp, inst, facts, lane, PlaceOf(warp.block(), race.other), misuse)) return;
  misuse.message = absl::StrCat(AccessAt(warp, facts, lane, offset), " and ", race.other_wrote ? "store" : "load",
                                " by thread ", race.other.thread, " at ", kOtherPlace, ", with no barrier between");
  warp.launch().report.Add(std::move(misuse));
}

void ReportCopyUnderWay(Warp& warp, const Inst& inst, const AccessFacts& facts, int lane, uint32_t offset,
                        const CopyMark& copy) {
  Misuse misuse;
  const auto code = copy.of_unit ? sassay::v1::VERDICT_CODE_ASYNC_RACE : sassay::v1::VERDICT_CODE_SHARED_RACE;
  if (!PrepareRace(warp, inst, facts, lane, PlaceOf(warp.block(), copy), misuse, code)) return;
  const std::string reason =
      copy.of_unit ? "nobody has waited for it" : absl::StrCat("thread ", copy.thread, " has not waited for it");
  misuse.message = absl::StrCat(AccessAt(warp, facts, lane, offset), " while the asynchronous copy by thread ",
                                copy.thread, " at ", kOtherPlace, " is under way there: ", reason);
  warp.launch().report.Add(std::move(misuse));
}

void ReportReadUnderWay(Warp& warp, const Inst& inst, const AccessFacts& facts, int lane, uint32_t offset,
                        const CopyMark& read) {
  Misuse misuse;
  constexpr auto kCode = sassay::v1::VERDICT_CODE_ASYNC_RACE;
  if (!PrepareRace(warp, inst, facts, lane, PlaceOf(warp.block(), read), misuse, kCode)) return;
  misuse.message = absl::StrCat(AccessAt(warp, facts, lane, offset), " while the asynchronous operation of thread ",
                                read.thread, " at ", kOtherPlace, " still reads there: it has not been waited for");
  warp.launch().report.Add(std::move(misuse));
}

// `block`: whose shared memory it is.
void ReportUnfenced(Warp& warp, const Inst& inst, const AccessFacts& facts, int lane, Block& block, uint32_t offset,
                    const Touch& writer) {
  Misuse misuse;
  constexpr auto kCode = sassay::v1::VERDICT_CODE_ASYNC_RACE;
  if (!PrepareRace(warp, inst, facts, lane, PlaceOf(block, writer), misuse, kCode)) return;
  misuse.message = absl::StrCat(AccessAt(warp, facts, lane, offset), " of what thread ", writer.thread, " stored at ",
                                kOtherPlace, ", with no fence.proxy.async between");
  warp.launch().report.Add(std::move(misuse));
}

void ReportSourceUnderWay(Warp& warp, const Inst& inst, const AccessFacts& facts, int lane, const CopyMark& copy) {
  Misuse misuse;
  if (!PrepareRace(warp, inst, facts, lane, PlaceOf(warp.block(), copy), misuse)) return;
  const Allocation* allocation = warp.block().Hint(inst.id);
  misuse.buffer = allocation == nullptr ? "global memory" : allocation->label;
  misuse.message = absl::StrCat(Verb(facts.kind), " of ", facts.bytes, " bytes to ", misuse.buffer, " by thread ",
                                warp.ThreadOf(lane), " while the asynchronous copy by thread ", copy.thread, " at ",
                                kOtherPlace, " reads there: thread ", copy.thread, " has not waited for it");
  warp.launch().report.Add(std::move(misuse));
}

// Notes one lane's access to shared memory, and reports its race if it has one.
void NoteShared(Warp& warp, const Inst& inst, const AccessFacts& facts, int lane, const uint8_t* at, bool changes) {
  SharedMemory& shared = warp.block().shared();
  const CopiesUnderWay& copies = warp.block().copies();
  const uint32_t offset = static_cast<uint32_t>(at - shared.data());
  if (facts.acquire) shared.Observe(warp.index(), offset);
  Touch touch;
  touch.thread = static_cast<uint16_t>(warp.ThreadOf(lane));
  touch.inst = inst.id;
  touch.atomic = facts.atomic;
  touch.changes = changes && facts.is_volatile;
  touch.of_unit = facts.of_unit;
  touch.swizzle = facts.swizzle & 7;
  Race race;
  const bool raced = facts.kind == AccessKind::kRead ? shared.Read(offset, facts.bytes, touch, race)
                                                     : shared.Write(offset, facts.bytes, touch, race);
  const CopyMark* copy = copies.any() ? copies.AtShared(offset, facts.bytes) : nullptr;
  const CopyMark* read = facts.kind != AccessKind::kRead && copies.any() ? copies.ReadAt(offset, facts.bytes) : nullptr;
  if (read != nullptr) {
    ReportReadUnderWay(warp, inst, facts, lane, offset, *read);
  } else if (copy != nullptr) {
    ReportCopyUnderWay(warp, inst, facts, lane, offset, *copy);
  } else if (raced) {
    ReportRace(warp, inst, facts, lane, offset, race);
  }
  if (facts.release) shared.Publish(warp.index(), offset);
}

// Global memory as a flag between warps of the block: one clock for all of it.
void OrderByGlobal(Warp& warp, const AccessFacts& facts) {
  constexpr uint64_t kGlobalClock = uint64_t{1} << 40;
  if (facts.acquire) warp.block().shared().Observe(warp.index(), kGlobalClock);
  if (facts.release) warp.block().shared().Publish(warp.index(), kGlobalClock);
}

}  // namespace

std::string DescribeShared(const LaunchContext& launch, uint32_t offset) {
  const SharedPlace place = PlaceInShared(launch, offset);
  return absl::StrCat("offset ", place.offset, " of ", place.name);
}

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
  for (uint32_t rest = facts.kind != AccessKind::kWrite ? lanes.shared & ~lanes.remote : 0; rest != 0;
       rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    NoteShared(warp, inst, facts, lane, lanes.at[lane], false);
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
    if (((lanes.shared & ~lanes.remote) >> lane & 1) != 0 && (changes || facts.atomic))
      NoteShared(warp, inst, facts, lane, lanes.at[lane], changes);
    if ((lanes.inputs >> lane & 1) != 0 && changes) ReportInputChange(warp, inst, facts, 1u << lane);
    if ((lanes.global >> lane & 1) == 0 || !changes || !warp.block().copies().any()) continue;
    const CopyMark* copy = warp.block().copies().AtSource(lanes.at[lane], facts.bytes);
    if (copy != nullptr) ReportSourceUnderWay(warp, inst, facts, lane, *copy);
  }
}

namespace {

CopyMark MarkOf(Warp& warp, const Inst& inst, int lane, bool of_unit) {
  CopyMark mark;
  mark.inst = inst.id;
  mark.thread = static_cast<uint16_t>(warp.ThreadOf(lane));
  mark.rank = static_cast<uint8_t>(warp.block().rank());
  mark.of_unit = of_unit;
  return mark;
}

}  // namespace

void NoteCopy(Warp& warp, const Inst& inst, int lane, uint8_t* to, const uint8_t* unwritten, const uint8_t* from,
              const uint8_t* values, uint32_t bytes, bool of_unit, uint8_t swizzle) {
  SharedMemory& shared = warp.block().shared();
  const uint32_t offset = static_cast<uint32_t>(to - shared.data());
  const bool fresh = unwritten != nullptr && std::memchr(unwritten, 1, bytes) != nullptr;
  AccessFacts facts;
  facts.space = Space::kShared;
  facts.kind = AccessKind::kWrite;
  facts.bytes = bytes;
  facts.of_unit = of_unit;
  facts.swizzle = swizzle;
  if (fresh || of_unit || std::memcmp(to, values, bytes) != 0) NoteShared(warp, inst, facts, lane, to, true);
  warp.block().copies().Begin(shared.size(), offset, from, bytes, MarkOf(warp, inst, lane, of_unit));
}

void NoteCopyTo(Warp& warp, const Inst& inst, int lane, Block& block, uint32_t offset, uint32_t bytes) {
  AccessFacts facts;
  facts.kind = AccessKind::kWrite;
  facts.bytes = bytes;
  facts.of_unit = true;
  const CopyMark* read = block.copies().ReadAt(offset, bytes);
  if (read != nullptr) ReportReadUnderWay(warp, inst, facts, lane, offset, *read);
  block.shared().Forget(offset, bytes);
  block.copies().Begin(block.shared().size(), offset, nullptr, bytes, MarkOf(warp, inst, lane, true));
}

void NoteCopyEnd(Warp& warp, const uint8_t* to, const uint8_t* from, uint32_t bytes) {
  warp.block().copies().End(static_cast<uint32_t>(to - warp.block().shared().data()), from, bytes);
}

namespace {

AccessFacts UnitRead(uint32_t bytes) {
  AccessFacts facts;
  facts.space = Space::kShared;
  facts.bytes = bytes;
  facts.of_unit = true;
  return facts;
}

}  // namespace

void NoteUnitRead(Warp& warp, const Inst& inst, int lane, Block& block, uint32_t offset, uint32_t bytes) {
  SharedMemory& shared = block.shared();
  const AccessFacts facts = UnitRead(bytes);
  const bool own = &block == &warp.block();
  Touch writer;
  const bool unfenced =
      own ? shared.Unfenced(offset, bytes, warp.index(), writer) : shared.FencedByNobody(offset, bytes, writer);
  if (unfenced) ReportUnfenced(warp, inst, facts, lane, block, offset, writer);
  const CopyMark* copy = own ? nullptr : block.copies().AtShared(offset, bytes);
  if (copy != nullptr) ReportCopyUnderWay(warp, inst, facts, lane, offset, *copy);
  if (own) NoteShared(warp, inst, facts, lane, shared.data() + offset, false);
  block.copies().BeginRead(shared.size(), offset, bytes, MarkOf(warp, inst, lane, true));
}

void NoteUnitReadEnd(Warp& warp, const Inst& inst, int lane, uint32_t offset, uint32_t bytes) {
  warp.block().copies().EndRead(offset, bytes);
  NoteShared(warp, inst, UnitRead(bytes), lane, warp.block().shared().data() + offset, false);
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
