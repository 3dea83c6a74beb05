#include "profiler_service/emulator/exec/shared_access.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/demangle/demangle.h"
#include "profiler_service/emulator/exec/cluster.h"

namespace sassay::emulator {
namespace {

using sassay::v1::VerdictCode;

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

// `block`: any of the cluster.
Place PlaceOf(Block& block, const Touch& touch) {
  return {block.cluster().block(touch.rank).index(), touch.thread, touch.inst};
}
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

// " of block 3", where it matters whose shared memory or thread it is.
std::string OfBlock(Block& block, uint32_t rank) {
  if (block.cluster().size() == 1) return "";
  return absl::StrCat(" of block ", block.cluster().block(rank).index());
}

// `owner`: whose shared memory it is.
void ReportRace(Warp& warp, const Inst& inst, const AccessFacts& facts, int lane, Block& owner, uint32_t offset,
                const Race& race) {
  Misuse misuse;
  const bool between_blocks = &owner != &warp.block() || race.other.rank != owner.rank();
  const auto code = between_blocks && (facts.of_unit || race.other.of_unit) ? sassay::v1::VERDICT_CODE_ASYNC_RACE
                                                                            : sassay::v1::VERDICT_CODE_SHARED_RACE;
  if (!PrepareRace(warp, inst, facts, lane, PlaceOf(owner, race.other), misuse, code)) return;
  misuse.message =
      absl::StrCat(AccessAt(warp, facts, lane, offset), between_blocks ? OfBlock(owner, warp.block().rank()) : "",
                   " and ", race.other_wrote ? "store" : "load", " by thread ", race.other.thread,
                   between_blocks ? OfBlock(owner, race.other.rank) : "", " at ", kOtherPlace, ", with no ",
                   between_blocks ? "cluster barrier or mbarrier" : "barrier", " between");
  if (between_blocks) absl::StrAppend(&misuse.message, ", in the shared memory", OfBlock(owner, owner.rank()));
  warp.launch().report.Add(std::move(misuse));
}

// An access to a block of which nothing is known yet, not even that it has begun.
void ReportNotBegun(Warp& warp, const Inst& inst, const AccessFacts& facts, int lane, Block& owner, uint32_t offset) {
  constexpr auto kCode = sassay::v1::VERDICT_CODE_OOB_SHARED;
  if (!warp.launch().report.Wants(kCode, inst.id, warp.block().index())) return;
  Misuse misuse;
  misuse.code = kCode;
  misuse.where = warp.PlaceOf(inst, lane);
  misuse.buffer = "shared";
  misuse.access_bytes = facts.bytes;
  misuse.message = absl::StrCat(AccessAt(warp, facts, lane, offset), ", in the shared memory of block ", owner.rank(),
                                " of the cluster, which may not have begun: no cluster barrier before");
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

// What an access of a thread is to the race detector.
Touch TouchOf(Warp& warp, const Inst& inst, const AccessFacts& facts, int lane, bool changes) {
  Touch touch;
  touch.thread = static_cast<uint16_t>(warp.ThreadOf(lane));
  touch.inst = inst.id;
  touch.atomic = facts.atomic;
  touch.changes = changes && facts.is_volatile;
  touch.of_unit = facts.of_unit;
  touch.swizzle = facts.swizzle & 7;
  return touch;
}

// Notes one lane's access to the shared memory of another block of the cluster, and reports its race if it has one.
void NoteAbroad(Warp& warp, const Inst& inst, const AccessFacts& facts, int lane, Block& owner, uint32_t offset,
                bool changes) {
  SharedMemory &own = warp.block().shared(), &shared = owner.shared();
  if (facts.acquire) own.LearnAt(shared, offset);
  if (!own.HeardOf(owner.rank())) ReportNotBegun(warp, inst, facts, lane, owner, offset);
  const Touch touch = TouchOf(warp, inst, facts, lane, changes);
  Race race;
  const bool raced = facts.kind == AccessKind::kRead ? shared.Read(offset, facts.bytes, touch, race, own)
                                                     : shared.Write(offset, facts.bytes, touch, race, own);
  if (raced) ReportRace(warp, inst, facts, lane, owner, offset, race);
  if (facts.release) own.TellAt(shared, warp.index(), offset);
}

// Notes one lane's access to shared memory, and reports its race if it has one.
void NoteOwn(Warp& warp, const Inst& inst, const AccessFacts& facts, int lane, const uint8_t* at, bool changes) {
  SharedMemory& shared = warp.block().shared();
  const CopiesUnderWay& copies = warp.block().copies();
  const uint32_t offset = static_cast<uint32_t>(at - shared.data());
  if (facts.acquire) shared.Observe(warp.index(), offset);
  const Touch touch = TouchOf(warp, inst, facts, lane, changes);
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
    ReportRace(warp, inst, facts, lane, warp.block(), offset, race);
  }
  if (facts.release) shared.Publish(warp.index(), offset);
}

}  // namespace

absl::string_view Verb(AccessKind kind) {
  return kind == AccessKind::kRead ? "load" : kind == AccessKind::kWrite ? "store" : "atomic";
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

void NoteShared(Warp& warp, const Inst& inst, const AccessFacts& facts, const Lanes& lanes, int lane, bool changes) {
  if ((lanes.remote >> lane & 1) == 0) return NoteOwn(warp, inst, facts, lane, lanes.at[lane], changes);
  Block& owner = *lanes.block[lane];
  const uint32_t offset = static_cast<uint32_t>(lanes.at[lane] - owner.shared().data());
  NoteAbroad(warp, inst, facts, lane, owner, offset, changes);
}

void OrderByGlobal(Warp& warp, const AccessFacts& facts) {
  constexpr uint64_t kGlobalClock = uint64_t{1} << 40;
  SharedMemory& own = warp.block().shared();
  Past& cluster = warp.block().cluster().by_global();
  if (facts.acquire) own.Observe(warp.index(), kGlobalClock), own.Learn(cluster);
  if (facts.release) own.Publish(warp.index(), kGlobalClock), own.Tell(warp.index(), cluster);
}

std::string DescribeShared(const LaunchContext& launch, uint32_t offset) {
  const SharedPlace place = PlaceInShared(launch, offset);
  return absl::StrCat("offset ", place.offset, " of ", place.name);
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
  if (fresh || of_unit || std::memcmp(to, values, bytes) != 0) NoteOwn(warp, inst, facts, lane, to, true);
  warp.block().copies().Begin(shared.size(), offset, from, bytes, MarkOf(warp, inst, lane, of_unit));
}

void NoteCopyTo(Warp& warp, const Inst& inst, int lane, Block& block, uint32_t offset, uint32_t bytes) {
  AccessFacts facts;
  facts.kind = AccessKind::kWrite;
  facts.bytes = bytes;
  facts.of_unit = true;
  const CopyMark* read = block.copies().ReadAt(offset, bytes);
  if (read != nullptr) {
    ReportReadUnderWay(warp, inst, facts, lane, offset, *read);
  } else {
    NoteAbroad(warp, inst, facts, lane, block, offset, true);
  }
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
  if (own) NoteOwn(warp, inst, facts, lane, shared.data() + offset, false);
  block.copies().BeginRead(shared.size(), offset, bytes, MarkOf(warp, inst, lane, true));
}

void NoteUnitReadEnd(Warp& warp, const Inst& inst, int lane, uint32_t offset, uint32_t bytes) {
  warp.block().copies().EndRead(offset, bytes);
  NoteOwn(warp, inst, UnitRead(bytes), lane, warp.block().shared().data() + offset, false);
}

void ReportStillToCome(Block& block) {
  constexpr auto kCode = sassay::v1::VERDICT_CODE_OOB_SHARED;
  LaunchContext& launch = block.launch();
  for (const Touch& touch : block.shared().StillToCome()) {
    const Place place = PlaceOf(block, touch);
    if (!launch.report.Wants(kCode, touch.inst, place.block)) continue;
    Misuse misuse;
    misuse.code = kCode;
    misuse.where = place;
    misuse.buffer = "shared";
    misuse.message =
        absl::StrCat("an access by thread ", touch.thread, " to the shared memory of block ", block.rank(),
                     " of the cluster, which may have exited by then: no cluster barrier or mbarrier behind it");
    launch.report.Add(std::move(misuse));
  }
}

}  // namespace sassay::emulator
