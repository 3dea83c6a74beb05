#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/descriptor/tensor_geometry.h"
#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/cluster.h"
#include "profiler_service/emulator/memory/racing.h"
#include "profiler_service/emulator/ops/async/barrier_access.h"
#include "profiler_service/emulator/ops/async/bulk_work.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"

// cp.async.bulk and cp.async.bulk.tensor (PTX ISA 9.0, 9.7.9.25 and 9.7.9.27): one thread asks, TMA does it later.
namespace sassay::emulator {
namespace {

// By CUtensorMapDataType: what a reduction works on.
constexpr Type kElementTypes[] = {Type::kU8,  Type::kU16, Type::kU32, Type::kS32,  Type::kU64, Type::kS64,
                                  Type::kF16, Type::kF32, Type::kF64, Type::kBf16, Type::kF32, Type::kNone};

// What stands for elements outside of a tensor that is filled with NaN, in eight bytes.
uint64_t NanFill(uint32_t data_type) {
  const uint32_t bytes = data_type < std::size(kElementTypes) ? SizeOf(kElementTypes[data_type]) : 4;
  return bytes == 2 ? 0x7fff7fff7fff7fff : bytes == 8 ? 0x7fffffffffffffff : 0x7fffffff7fffffff;
}

// An operand among the sources, and what is added to it.
struct AddressOperand {
  int index = -1;
  int64_t displacement = 0;
};

struct Facts {
  bool tensor = false, loads = false;
  bool from_shared = false;  // a load whose source is the block's own shared memory
  bool of_pair = false;      // .cta_group::2: the barrier may lie in the other block of the destination's pair
  uint32_t rank = 0;
  AddressOperand shared, global, barrier;        // `global`: of the tensor map where there is one
  int size = -1, coordinates = -1, blocks = -1;  // sources
  AccessFacts barrier_access;
  bool prefetches = false;  // names a box, and moves nothing that could be seen
  bool reduces = false;
  absl::string_view reduction_name;
  Reduction reduction;
};

// One lane's request as it takes shape.
class Request {
 public:
  Request(Warp& warp, const Inst& inst, const Facts& facts, int lane)
      : warp_(warp), inst_(inst), facts_(facts), lane_(lane) {}

  // False: the launch has ended, or (in a checked one) the request has been refused and reported.
  bool Make();

 private:
  uint64_t Address(const AddressOperand& operand) const {
    return warp_.Lane(inst_.o[operand.index], lane_) + static_cast<uint64_t>(operand.displacement);
  }
  bool Refuse(sassay::v1::VerdictCode code, std::string message);
  bool ReadMap();
  bool FindShared();
  bool ReadCoordinates(int32_t (&at)[kMaxTensorRank]);
  bool AddTensorRows();
  bool AddPlainRow();
  bool AddRow(uint32_t offset, const BoxRow& row, uint32_t bytes);
  bool Start();
  bool StartLoad();
  bool StartLoadInto(Block& into, const BarrierPlace& barrier, const std::shared_ptr<BulkTransfer>& transfer);
  bool SignalsItsOwn(const Block& into, const Block& signals) const;
  uint32_t RankSignalled(uint32_t into, const Block& named) const;
  bool StartStore();

  Warp& warp_;
  const Inst& inst_;
  const Facts& facts_;
  const int lane_;
  TensorGeometry geometry_;
  uint32_t bytes_ = 0;
  Block* block_ = nullptr;  // whose shared memory it is about
  uint32_t shared_offset_ = 0;
  BulkTransfer transfer_;
};

bool Request::Refuse(sassay::v1::VerdictCode code, std::string message) {
  if (!warp_.checked()) {
    warp_.Fault(code, inst_, std::move(message), lane_);
    return false;
  }
  if (!warp_.launch().report.Wants(code, inst_.id, warp_.block().index())) return false;
  Misuse misuse;
  misuse.code = code;
  misuse.where = warp_.PlaceOf(inst_, lane_);
  misuse.message = std::move(message);
  warp_.launch().report.Add(std::move(misuse));
  return false;
}

bool Request::ReadMap() {
  AccessFacts facts;
  facts.bytes = 128;
  facts.alignment = 64;
  uint64_t addresses[kLanes] = {};
  addresses[lane_] = Address(facts_.global);
  Lanes lanes;
  if (!Access(warp_, inst_, facts, addresses, lanes) || lanes.mask == 0) return false;
  uint8_t bytes[128];
  CopyFromRacing(bytes, lanes.at[lane_], sizeof(bytes));
  if (!DecodeTensorGeometry(bytes, geometry_)) {
    return Refuse(sassay::v1::VERDICT_CODE_DESCRIPTOR_INVALID,
                  "the address of the tensor map leads to bytes that cuTensorMapEncodeTiled has not made");
  }
  if (geometry_.rank != facts_.rank) {
    return Refuse(sassay::v1::VERDICT_CODE_DESCRIPTOR_INVALID,
                  absl::StrCat("a copy of ", facts_.rank, " dimensions by a tensor map of ", geometry_.rank));
  }
  if (!facts_.prefetches && geometry_.SpanBytes() > warp_.block().shared().size()) {
    return Refuse(sassay::v1::VERDICT_CODE_OOB_SHARED,
                  absl::StrCat("the tensor map's box has ", geometry_.SpanBytes(), " bytes, the block ",
                               warp_.block().shared().size(), " of shared memory"));
  }
  const Type element =
      geometry_.data_type < std::size(kElementTypes) ? kElementTypes[geometry_.data_type] : Type::kNone;
  if (facts_.reduces && !FindReduction(facts_.reduction_name, element, transfer_.reduction)) {
    warp_.Fail(absl::UnimplementedError(absl::StrCat("emulator lacks a reduction by ", facts_.reduction_name,
                                                     " for the tensor map's data type ", geometry_.data_type)));
    return false;
  }
  bytes_ = static_cast<uint32_t>(geometry_.BoxBytes());
  transfer_.swizzle = geometry_.swizzle;
  transfer_.by_map = true;
  return true;
}

// The whole of it must lie inside; tensors at 128-byte borders, swizzled ones at their pattern's.
bool Request::FindShared() {
  AccessFacts facts;
  facts.space = Space::kShared;
  facts.of_cluster = facts_.loads;
  facts.kind = facts_.loads ? AccessKind::kWrite : AccessKind::kRead;
  facts.bytes = facts_.tensor ? static_cast<uint32_t>(geometry_.SpanBytes()) : bytes_;
  facts.alignment = facts_.tensor ? 128 : 16;
  facts.of_unit = facts.quiet = true;
  facts.tells_changes = true;
  uint64_t addresses[kLanes] = {};
  addresses[lane_] = Address(facts_.shared);
  Lanes lanes;
  if (!Access(warp_, inst_, facts, addresses, lanes) || lanes.mask == 0) return false;
  block_ = lanes.block[lane_];
  shared_offset_ = static_cast<uint32_t>(lanes.at[lane_] - block_->shared().data());
  return true;
}

bool Request::AddRow(uint32_t offset, const BoxRow& row, uint32_t bytes) {
  BulkRow& added = transfer_.rows.emplace_back();
  added.offset = shared_offset_ + offset;
  added.bytes = bytes;
  if (row.begin >= row.end) return true;
  AccessFacts facts;
  facts.space = facts_.from_shared ? Space::kShared : Space::kGlobal;
  facts.quiet = facts_.from_shared;
  facts.kind = facts_.loads ? AccessKind::kRead : facts_.reduces ? AccessKind::kAtomic : AccessKind::kWrite;
  facts.bytes = row.end - row.begin;
  facts.alignment = 1;
  facts.of_unit = facts.tells_changes = true;
  uint64_t addresses[kLanes] = {};
  addresses[lane_] = row.address;
  Lanes lanes;
  if (!Access(warp_, inst_, facts, addresses, lanes) || lanes.mask == 0) return false;
  added.begin = row.begin;
  added.end = row.end;
  added.global = lanes.at[lane_];
  added.unwritten = lanes.unwritten[lane_];
  added.input = lanes.inputs != 0;
  return true;
}

bool Request::ReadCoordinates(int32_t (&at)[kMaxTensorRank]) {
  for (uint32_t d = 0; d < facts_.rank; ++d) {
    at[d] = static_cast<int32_t>(warp_.Lane(inst_.o[facts_.coordinates + static_cast<int>(d)], lane_));
  }
  // The ISA does not say so; an H200 calls anything else an illegal instruction (tests/gpu/tma_rules.cc).
  const int64_t first_byte = int64_t{at[0]} * geometry_.element_bits / 8;
  if (first_byte % 16 != 0) {
    return Refuse(sassay::v1::VERDICT_CODE_ILLEGAL_INSTRUCTION,
                  absl::StrCat("a box whose innermost coordinate is ", at[0], ", which is byte ", first_byte,
                               " of the tensor's rows; TMA takes multiples of 16 bytes there"));
  }
  return true;
}

bool Request::AddTensorRows() {
  int32_t at[kMaxTensorRank] = {};
  if (!ReadCoordinates(at)) return false;
  if (geometry_.fills_with_nan) transfer_.fill = NanFill(geometry_.data_type);
  bool good = true;
  ForBoxRows(geometry_, at, [&](const BoxRow& row) { good = good && AddRow(row.offset, row, geometry_.RowBytes()); });
  return good;
}

bool Request::AddPlainRow() {
  BoxRow row;
  row.end = bytes_;
  row.address = Address(facts_.global);
  if (row.address % 16 != 0) {
    return Refuse(
        sassay::v1::VERDICT_CODE_MISALIGNED,
        absl::StrCat("a bulk copy at global address 0x", absl::Hex(row.address), ", which is not a multiple of 16"));
  }
  return bytes_ == 0 || AddRow(0, row, bytes_);
}

bool Request::StartLoad() {
  BarrierPlace places[kLanes];
  uint32_t here = 0;
  if (!FindBarriers(warp_, inst_, inst_.o[facts_.barrier.index], facts_.barrier_access, facts_.barrier.displacement,
                    places, here) ||
      here == 0) {
    return false;
  }
  BarrierPlace barrier = places[lane_];
  if (!SignalsItsOwn(*block_, *barrier.block) && bytes_ > 0) {
    return Refuse(
        sassay::v1::VERDICT_CODE_BARRIER_MISUSE,
        absl::StrCat("a bulk copy to block ", block_->rank(), " of the cluster that signals a barrier of block ",
                     barrier.block->rank(), facts_.of_pair ? ", which is not of its pair" : ""));
  }
  const auto transfer = std::make_shared<BulkTransfer>(std::move(transfer_));
  if (facts_.blocks < 0) return StartLoadInto(bytes_ > 0 ? *block_ : *barrier.block, barrier, transfer);
  Cluster& cluster = warp_.block().cluster();
  const uint64_t ranks = warp_.Lane(inst_.o[facts_.blocks], lane_) & 0xffff;
  if (ranks >> cluster.size() != 0) {
    return Refuse(sassay::v1::VERDICT_CODE_ILLEGAL_INSTRUCTION,
                  absl::StrCat("multicast to blocks 0x", absl::Hex(ranks), " of a cluster of ", cluster.size()));
  }
  const Block& named = *barrier.block;
  for (uint32_t rank = 0; rank < cluster.size(); ++rank) {
    if ((ranks >> rank & 1) == 0) continue;
    const uint32_t signalled = RankSignalled(rank, named);
    if (signalled >= cluster.size()) {
      return Refuse(sassay::v1::VERDICT_CODE_BARRIER_MISUSE,
                    absl::StrCat("multicast to block ", rank,
                                 " that signals the other one of its pair, in a cluster of ", cluster.size()));
    }
    barrier.block = &cluster.block(signalled);
    if (!StartLoadInto(cluster.block(rank), barrier, transfer)) return false;
  }
  return true;
}

bool Request::SignalsItsOwn(const Block& into, const Block& signals) const {
  return &into == &signals || (facts_.of_pair && into.rank() / 2 == signals.rank() / 2);
}

// Of a load that goes to many: the barrier of each destination, or that of its pair's block which is even or odd as the
// named one is.
uint32_t Request::RankSignalled(uint32_t into, const Block& named) const {
  return facts_.of_pair ? (into & ~1u) | (named.rank() & 1) : into;
}

bool Request::StartLoadInto(Block& into, const BarrierPlace& barrier, const std::shared_ptr<BulkTransfer>& transfer) {
  if (!CheckBarrier(warp_, inst_, lane_, barrier)) return false;
  Block& own = warp_.block();
  auto load = std::make_unique<BulkLoad>(transfer, into, own, barrier.offset);
  if (warp_.checked()) load->Begin(warp_);
  if (warp_.checked()) own.shared().Publish(warp_.index(), transfer->cause);
  if (barrier.block->mbarriers().Defer(barrier.offset, std::move(load))) return true;
  warp_.Fail(absl::UnimplementedError("emulator lacks room for so many copies that signal one mbarrier"));
  return false;
}

bool Request::StartStore() {
  if (warp_.checked()) {
    for (const BulkRow& row : transfer_.rows) {
      for (uint32_t piece = 0; piece < row.bytes / 16; ++piece) {
        NoteUnitRead(warp_, inst_, lane_, warp_.block(), transfer_.PieceAt(row, piece), 16);
      }
    }
  }
  if (warp_.block().Extension<BulkGroups>().Add(warp_, std::move(transfer_))) return true;
  warp_.Fail(absl::UnimplementedError("emulator lacks room for so many stores of one bulk group"));
  return false;
}

bool Request::Make() {
  transfer_.inst = &inst_;
  transfer_.lane = lane_;
  transfer_.warp = warp_.index();
  transfer_.reduces = facts_.reduces;
  transfer_.reduction = facts_.reduction;
  if (facts_.tensor && !ReadMap()) return false;
  if (facts_.prefetches) {
    int32_t at[kMaxTensorRank] = {};
    return ReadCoordinates(at);
  }
  if (!facts_.tensor) bytes_ = static_cast<uint32_t>(warp_.Lane(inst_.o[facts_.size], lane_));
  if (bytes_ % 16 != 0) {
    return Refuse(sassay::v1::VERDICT_CODE_MISALIGNED,
                  absl::StrCat("a bulk copy of ", bytes_, " bytes, which is not a multiple of 16"));
  }
  if (bytes_ > 0 && !FindShared()) return false;
  if (!(facts_.tensor ? AddTensorRows() : AddPlainRow())) return false;
  transfer_.bytes = bytes_;
  if (!transfer_.held.Hold(warp_.launch(), static_cast<int64_t>(transfer_.rows.size() + 1))) {
    warp_.Fail(absl::UnimplementedError(
        absl::StrCat("emulator lacks room for bulk copies of more than ", HeldCopies::kMost, " rows under way")));
    return false;
  }
  return facts_.loads ? StartLoad() : StartStore();
}

// Lanes one after the other; a request that is refused in a checked launch is left out.
Flow Copy(Warp& warp, const Inst& inst) {
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  const uint32_t all = warp.mask();
  for (uint32_t rest = all; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    warp.SetMask(1u << lane);
    const bool made = Request(warp, inst, facts, lane).Make();
    warp.SetMask(all);
    if (!made && warp.launch().stop) return Flow::kRedirected;
  }
  return Flow::kNext;
}

Flow Commit(Warp& warp, const Inst&) {
  BulkGroups& groups = warp.block().Extension<BulkGroups>();
  for (uint32_t rest = warp.mask(); rest != 0; rest &= rest - 1) {
    if (groups.Commit(warp, std::countr_zero(rest))) continue;
    return warp.Fail(absl::UnimplementedError("emulator lacks room for so many bulk groups of one thread"));
  }
  return Flow::kNext;
}

Flow Wait(Warp& warp, const Inst& inst) {
  BulkGroups& groups = warp.block().Extension<BulkGroups>();
  for (uint32_t rest = warp.mask(); rest != 0; rest &= rest - 1) {
    groups.Wait(warp, std::countr_zero(rest), inst.a);
  }
  return Flow::kNext;
}

Flow Nothing(Warp&, const Inst&) { return Flow::kNext; }

// ---- decoding ----

absl::Status AppendAddress(Decoder& d, const ptx::Operand& operand, AddressOperand& address) {
  address.index = d.inst().sources;
  RETURN_IF_ERROR(d.Address(operand));
  address.displacement = std::exchange(d.inst().immediate, 0);
  return absl::OkStatus();
}

// [map, {coordinates}]
absl::Status AppendTensor(Decoder& d, const ptx::Operand& operand, Facts& facts) {
  if (operand.kind != ptx::Operand::kAddress || operand.elements.size() < 2) return d.Malformed("[map, {coordinates}]");
  RETURN_IF_ERROR(AppendAddress(d, operand, facts.global));
  const auto coordinates = Decoder::Elements(operand.elements[1]);
  if (coordinates.size() != facts.rank) return d.Malformed(absl::StrCat(facts.rank, " coordinates"));
  facts.coordinates = d.inst().sources;
  for (const ptx::Operand* coordinate : coordinates) RETURN_IF_ERROR(d.Source(*coordinate, Type::kS32));
  return absl::OkStatus();
}

absl::Status ParseRank(Decoder& d, Facts& facts) {
  for (uint32_t rank = 1; rank <= kMaxTensorRank; ++rank) {
    if (d.Has(absl::StrCat(rank, "d"))) facts.rank = rank;
  }
  if (facts.tensor && facts.rank == 0) return d.Malformed("1d to 5d");
  for (const absl::string_view part : d.source().parts) {
    if (absl::StartsWith(part, "im2col") || absl::StartsWith(part, "tile::") || part == "cp_mask") return d.Lacks();
  }
  return absl::OkStatus();
}

absl::Status ParseForm(Decoder& d, Facts& facts) {
  facts.tensor = d.Has("tensor");
  RETURN_IF_ERROR(ParseRank(d, facts));
  facts.loads = d.Has("mbarrier::complete_tx::bytes");
  if (!facts.loads && !d.Has("bulk_group")) return d.Malformed("a way to tell that it is done");
  facts.from_shared = facts.loads && !d.Has("global");
  facts.reduces = d.Part(1) == "reduce";
  facts.of_pair = d.Has("cta_group::2");
  if (facts.of_pair && !(facts.loads && facts.tensor)) return d.Malformed(".cta_group for loads of tensors only");
  return absl::OkStatus();
}

// What a reduction of a tensor works on is known from its map alone: one type per data type.
absl::Status ParseReduction(Decoder& d, Facts& facts) {
  for (const absl::string_view name : {"add", "min", "max", "inc", "dec", "and", "or", "xor"}) {
    if (!d.Has(name)) continue;
    facts.reduction_name = name;
    if (facts.tensor || FindReduction(name, d.type(), facts.reduction)) return absl::OkStatus();
  }
  return d.Lacks();
}

absl::Status DecodeLoad(Decoder& d, Facts facts) {
  const bool to_many = d.Has("multicast::cluster");
  const size_t plain = facts.tensor ? 3 : 4;
  const size_t operands = plain + (to_many ? 1 : 0) + (d.Has("L2::cache_hint") ? 1 : 0);
  RETURN_IF_ERROR(d.NeedOperands(operands, operands));
  RETURN_IF_ERROR(AppendAddress(d, d.operand(0), facts.shared));
  if (facts.tensor) {
    RETURN_IF_ERROR(AppendTensor(d, d.operand(1), facts));
  } else {
    RETURN_IF_ERROR(AppendAddress(d, d.operand(1), facts.global));
    facts.size = d.inst().sources;
    RETURN_IF_ERROR(d.Source(d.operand(2), Type::kU32));
  }
  RETURN_IF_ERROR(AppendAddress(d, d.operand(plain - 1), facts.barrier));
  if (to_many) {
    facts.blocks = d.inst().sources;
    RETURN_IF_ERROR(d.Source(d.operand(plain), Type::kU16));
  }
  facts.barrier_access = BarrierAccess(d);
  d.Attach(facts);
  return d.Set(Copy, kTaintStops);
}

absl::Status DecodeStore(Decoder& d, Facts facts) {
  const size_t plain = facts.tensor ? 2 : 3;
  const size_t operands = plain + (d.Has("L2::cache_hint") ? 1 : 0);
  RETURN_IF_ERROR(d.NeedOperands(operands, operands));
  if (facts.tensor) {
    RETURN_IF_ERROR(AppendTensor(d, d.operand(0), facts));
  } else {
    RETURN_IF_ERROR(AppendAddress(d, d.operand(0), facts.global));
  }
  RETURN_IF_ERROR(AppendAddress(d, d.operand(1), facts.shared));
  if (!facts.tensor) {
    facts.size = d.inst().sources;
    RETURN_IF_ERROR(d.Source(d.operand(2), Type::kU32));
  }
  if (facts.reduces) RETURN_IF_ERROR(ParseReduction(d, facts));
  d.Attach(facts);
  return d.Set(Copy, kTaintStops);
}

absl::Status DecodePrefetch(Decoder& d, Facts facts) {
  if (!d.Has("tensor")) return d.Set(Nothing);
  facts.tensor = facts.prefetches = true;
  RETURN_IF_ERROR(ParseRank(d, facts));
  RETURN_IF_ERROR(d.NeedOperands(1, 2));  // the second is a cache policy
  RETURN_IF_ERROR(AppendTensor(d, d.operand(0), facts));
  d.Attach(std::move(facts));
  return d.Set(Copy);
}

}  // namespace

absl::Status DecodeBulkCopy(Decoder& d) {
  if (d.Has("commit_group")) return d.Set(Commit);
  if (d.Has("wait_group")) {
    if (d.operand(0).kind != ptx::Operand::kInteger) return d.Malformed("a constant");
    d.inst().a = static_cast<uint32_t>(d.operand(0).bits & 0xffff);
    return d.Set(Wait);
  }
  Facts facts;
  if (d.Has("prefetch")) return DecodePrefetch(d, std::move(facts));
  RETURN_IF_ERROR(ParseForm(d, facts));
  return facts.loads ? DecodeLoad(d, std::move(facts)) : DecodeStore(d, std::move(facts));
}

}  // namespace sassay::emulator
