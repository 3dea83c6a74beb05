#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/memory/racing.h"
#include "profiler_service/emulator/ops/async/barrier_access.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"

// cp.async: the copy really happens when it is waited for, so that code which reads too early reads what was there
// before, as it may on hardware.
namespace sassay::emulator {
namespace {

// One lane's copy that is under way. Pointers stay valid: memory does not move during a launch.
struct Copy {
  uint8_t* to = nullptr;
  const uint8_t* from = nullptr;  // null where nothing is read
  uint8_t* to_unwritten = nullptr;
  uint8_t data[16] = {};
  uint8_t unwritten[16] = {};
  uint8_t bytes = 0;    // 0: it has landed
  uint64_t number = 0;  // among its thread's
  uint16_t thread = 0;
  const Inst* inst = nullptr;
};

// Per thread: copies since the last commit, and the committed groups, oldest first.
struct Groups {
  std::vector<Copy> open;
  std::vector<std::vector<Copy>> committed;
  uint64_t issued = 0;
};

class AsyncCopies : public BlockExtension {
 public:
  static constexpr size_t kMostOpen = 1024, kMostCommitted = 4096;
  static constexpr int64_t kMostInLaunch = int64_t{1} << 23;  // copies and groups: less than 1 GiB

  ~AsyncCopies() override {
    if (launch_ != nullptr) launch_->copies_under_way -= held_;
  }
  // Counts what the block holds; false if the launch holds too much.
  bool Hold(LaunchContext& launch, int64_t more) {
    launch_ = &launch;
    held_ += more;
    return (launch.copies_under_way += more) <= kMostInLaunch;
  }

  Groups& Of(uint32_t thread) {
    if (groups_.size() <= thread) groups_.resize(thread + 1);
    return groups_[thread];
  }

 private:
  std::vector<Groups> groups_;
  LaunchContext* launch_ = nullptr;
  int64_t held_ = 0;
};

struct Facts {
  AccessFacts from, to;
  uint32_t bytes = 0;
  bool has_source_bytes = false, has_ignore = false;
};

absl::Status TooMany(size_t most, absl::string_view what) {
  return absl::UnimplementedError(
      absl::StrCat("emulator lacks room for more than ", most, " ", what, " of cp.async under way in one thread"));
}

absl::Status TooManyInLaunch() {
  return absl::UnimplementedError(absl::StrCat("emulator lacks room for more than ", AsyncCopies::kMostInLaunch,
                                               " copies of cp.async under way in one launch"));
}

void Land(Warp& warp, const Copy& copy) {
  if (copy.bytes == 0) return;
  if (warp.checked()) {
    NoteCopyEnd(warp, copy.to, copy.from, copy.bytes);
    // The store is noted when it lands, as the copying thread's.
    const int lane = copy.thread % kLanes;
    Lanes lanes;
    lanes.mask = lanes.shared = 1u << lane;
    lanes.at[lane] = copy.to;
    lanes.unwritten[lane] = copy.to_unwritten;
    AccessFacts facts;
    facts.space = Space::kShared;
    facts.kind = AccessKind::kWrite;
    facts.bytes = copy.bytes;
    NoteStore(warp, *copy.inst, facts, lanes, copy.data, 0);
    if (copy.to_unwritten != nullptr) std::memcpy(copy.to_unwritten, copy.unwritten, copy.bytes);
  }
  std::memcpy(copy.to, copy.data, copy.bytes);
}

// cp.async.ca|cg.shared.global [dst], [src], size{, source bytes}: what is not read is zero.
Flow CopyAsync(Warp& warp, const Inst& inst) {
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  uint64_t to_addresses[kLanes], from_addresses[kLanes];
  Addresses(warp, inst.o[0], inst.immediate, to_addresses);
  Addresses(warp, inst.o[1], static_cast<int64_t>(uint64_t{inst.b} << 32 | inst.a), from_addresses);
  Lanes to, from;
  if (!Access(warp, inst, facts.to, to_addresses, to)) return Flow::kRedirected;
  AsyncCopies& copies = warp.block().Extension<AsyncCopies>();
  const uint32_t lanes_here = warp.mask();
  uint32_t source_bytes[kLanes];
  uint32_t reading = 0;
  const uint32_t ignored = facts.has_ignore ? warp.PredicateIn(inst.o[2]) : 0;
  for (int i = 0; i < kLanes; ++i) {
    source_bytes[i] = facts.has_source_bytes ? std::min(warp.In<uint32_t>(inst.o[2])[i], facts.bytes) : facts.bytes;
    if ((ignored >> i & 1) != 0) source_bytes[i] = 0;
    if (source_bytes[i] == facts.bytes) reading |= 1u << i;
  }
  from.mask = 0;
  warp.SetMask(lanes_here & reading);
  const bool allowed = warp.mask() == 0 || Access(warp, inst, facts.from, from_addresses, from);
  warp.SetMask(lanes_here);
  if (!allowed) return Flow::kRedirected;
  for (uint32_t rest = to.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    Copy copy;
    copy.to = to.at[lane];
    copy.to_unwritten = to.unwritten[lane];
    copy.bytes = static_cast<uint8_t>(facts.bytes);
    copy.thread = static_cast<uint16_t>(warp.ThreadOf(lane));
    copy.inst = &inst;
    if ((from.mask >> lane & 1) != 0) {
      copy.from = from.at[lane];
      CopyFromRacing(copy.data, from.at[lane], facts.bytes);
      if (from.unwritten[lane] != nullptr) CopyFromRacing(copy.unwritten, from.unwritten[lane], facts.bytes);
    } else if (source_bytes[lane] != 0 && source_bytes[lane] < facts.bytes) {
      // A partial source: byte by byte, because the whole may reach past its buffer.
      AccessFacts part = facts.from;
      part.bytes = part.alignment = 1;
      for (uint32_t k = 0; k < source_bytes[lane]; ++k) {
        uint64_t address[kLanes] = {};
        address[lane] = from_addresses[lane] + k;
        Lanes one;
        warp.SetMask(1u << lane);
        const bool fine = Access(warp, inst, part, address, one);
        warp.SetMask(lanes_here);
        if (!fine) return Flow::kRedirected;
        if (one.mask == 0) continue;
        copy.data[k] = ReadRacing<uint8_t>(one.at[lane]);
        copy.unwritten[k] = one.unwritten[lane] == nullptr ? 0 : ReadRacing<uint8_t>(one.unwritten[lane]);
      }
    }
    Groups& groups = copies.Of(copy.thread);
    if (groups.open.size() >= AsyncCopies::kMostOpen) return warp.Fail(TooMany(AsyncCopies::kMostOpen, "copies"));
    if (!copies.Hold(warp.launch(), 1)) return warp.Fail(TooManyInLaunch());
    copy.number = ++groups.issued;
    groups.open.push_back(copy);
    if (warp.checked()) NoteCopy(warp, inst, lane, copy.to, copy.to_unwritten, copy.from, copy.data, facts.bytes);
  }
  return Flow::kNext;
}

Flow Commit(Warp& warp, const Inst&) {
  AsyncCopies& copies = warp.block().Extension<AsyncCopies>();
  for (uint32_t rest = warp.mask(); rest != 0; rest &= rest - 1) {
    Groups& groups = copies.Of(warp.ThreadOf(std::countr_zero(rest)));
    if (groups.committed.size() >= AsyncCopies::kMostCommitted)
      return warp.Fail(TooMany(AsyncCopies::kMostCommitted, "groups"));
    if (!copies.Hold(warp.launch(), 1)) return warp.Fail(TooManyInLaunch());
    groups.committed.push_back(std::move(groups.open));
    groups.open.clear();
  }
  return Flow::kNext;
}

// `a`: groups that may stay under way; ~0 for wait_all, which also waits for what was not committed.
Flow Wait(Warp& warp, const Inst& inst) {
  AsyncCopies& copies = warp.block().Extension<AsyncCopies>();
  const bool all = inst.a == ~0u;
  for (uint32_t rest = warp.mask(); rest != 0; rest &= rest - 1) {
    Groups& groups = copies.Of(warp.ThreadOf(std::countr_zero(rest)));
    const size_t stay = all ? 0 : inst.a;
    const size_t landing = groups.committed.size() > stay ? groups.committed.size() - stay : 0;
    for (size_t g = 0; g < landing; ++g) {
      for (const Copy& copy : groups.committed[g]) Land(warp, copy);
      copies.Hold(warp.launch(), -1 - static_cast<int64_t>(groups.committed[g].size()));
    }
    groups.committed.erase(groups.committed.begin(), groups.committed.begin() + static_cast<std::ptrdiff_t>(landing));
    if (!all) continue;
    for (const Copy& copy : groups.open) Land(warp, copy);
    copies.Hold(warp.launch(), -static_cast<int64_t>(groups.open.size()));
    groups.open.clear();
  }
  return Flow::kNext;
}

// cp.async.mbarrier.arrive: arrives when the thread's copies up to here have landed.
class ArriveAfterCopies : public AsyncWork {
 public:
  ArriveAfterCopies(uint32_t thread, uint64_t number, uint32_t barrier)
      : thread_(thread), number_(number), barrier_(barrier) {}
  void Finish(Block& block) override {
    Warp& warp = *block.warps()[thread_ / kLanes];
    Groups& groups = block.Extension<AsyncCopies>().Of(thread_);
    for (auto& group : groups.committed) LandUpTo(warp, group);
    LandUpTo(warp, groups.open);
    Past cause;
    if (warp.checked()) block.shared().Publish(warp.index(), cause);
    if (block.mbarriers().Check(barrier_) != Mbarriers::Trouble::kNone) return;
    block.mbarriers().Arrive(barrier_, 1, false, nullptr, &cause);
  }

 private:
  void LandUpTo(Warp& warp, std::vector<Copy>& copies) const {
    for (Copy& copy : copies) {
      if (copy.number > number_) continue;
      Land(warp, copy);
      copy.bytes = 0;
    }
  }
  const uint32_t thread_;
  const uint64_t number_;
  const uint32_t barrier_;
};

// Counts among the arrivals that the barrier was initialised for (.noinc, `b`), or the phase waits for one more.
Flow ArriveLater(Warp& warp, const Inst& inst) {
  const AccessFacts& facts = *static_cast<const AccessFacts*>(inst.extra);
  BarrierPlace places[kLanes];
  uint32_t here = 0;
  if (!FindBarriers(warp, inst, inst.o[0], facts, inst.immediate, places, here)) return Flow::kRedirected;
  AsyncCopies& copies = warp.block().Extension<AsyncCopies>();
  for (uint32_t rest = here; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (!CheckBarrier(warp, inst, lane, places[lane])) {
      if (warp.launch().stop) return Flow::kRedirected;
      continue;
    }
    Mbarriers& barriers = places[lane].block->mbarriers();
    if (inst.b == 0) barriers.WaitForOneMore(places[lane].offset);
    const uint32_t thread = warp.ThreadOf(lane), offset = places[lane].offset;
    if (barriers.Defer(offset, std::make_unique<ArriveAfterCopies>(thread, copies.Of(thread).issued, offset))) continue;
    return warp.Fail(absl::UnimplementedError("emulator lacks room for so many arrivals deferred to one mbarrier"));
  }
  return Flow::kNext;
}

absl::Status DecodeArriveLater(Decoder& d) {
  RETURN_IF_ERROR(d.NeedOperands(1, 1));
  RETURN_IF_ERROR(d.Address(d.operand(0)));
  d.inst().b = d.Has("noinc");
  d.Attach(BarrierAccess(d));
  return d.Set(ArriveLater, kTaintStops);
}

absl::Status DecodeCopy(Decoder& d) {
  RETURN_IF_ERROR(d.NeedOperands(3, 5));
  if (d.operand(2).kind != ptx::Operand::kInteger) return d.Malformed("a constant size");
  Facts facts;
  facts.bytes = static_cast<uint32_t>(d.operand(2).bits);
  if (facts.bytes != 4 && facts.bytes != 8 && facts.bytes != 16) return d.Malformed("a size of 4, 8 or 16");
  facts.to.space = Space::kShared;
  facts.to.kind = AccessKind::kWrite;
  facts.from.space = Space::kGlobal;
  facts.to.bytes = facts.from.bytes = facts.bytes;
  RETURN_IF_ERROR(d.Address(d.operand(0)));
  const int64_t to_displacement = d.inst().immediate;
  RETURN_IF_ERROR(d.Address(d.operand(1)));
  d.inst().a = static_cast<uint32_t>(d.inst().immediate);
  d.inst().b = static_cast<uint32_t>(static_cast<uint64_t>(d.inst().immediate) >> 32);
  d.inst().immediate = to_displacement;
  const bool policy = d.Has("L2::cache_hint");
  const size_t plain = d.operand_count() - (policy ? 1 : 0);
  facts.has_source_bytes = plain == 4;
  if (facts.has_source_bytes) {
    facts.has_ignore = d.operand(3).kind == ptx::Operand::kRegister &&
                       d.code().source->registers[d.operand(3).index].type == Type::kPred;
    facts.has_source_bytes = !facts.has_ignore;
    RETURN_IF_ERROR(d.Source(d.operand(3), facts.has_ignore ? Type::kPred : Type::kU32));
  }
  d.Attach(facts);
  return d.Set(CopyAsync, kTaintStops);
}

absl::Status DecodeCp(Decoder& d) {
  if (d.Has("bulk")) return DecodeBulkCopy(d);
  if (d.Part(1) != "async") return d.Lacks();
  if (d.Has("mbarrier")) return DecodeArriveLater(d);
  if (d.Has("commit_group")) return d.Set(Commit);
  if (d.Has("wait_all")) {
    d.inst().a = ~0u;
    return d.Set(Wait);
  }
  if (d.Has("wait_group")) {
    if (d.operand(0).kind != ptx::Operand::kInteger) return d.Malformed("a constant");
    d.inst().a = static_cast<uint32_t>(d.operand(0).bits & 0xffff);
    return d.Set(Wait);
  }
  if (!d.Has("ca") && !d.Has("cg")) return d.Lacks();
  return DecodeCopy(d);
}

}  // namespace

void RegisterAsyncCopy(OpTable& table) { table.Add("cp", DecodeCp); }

}  // namespace sassay::emulator
