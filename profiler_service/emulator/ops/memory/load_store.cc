#include <bit>
#include <cstring>

#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/memory/racing.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"
#include "profiler_service/emulator/ops/memory/banks.h"

namespace sassay::emulator {
namespace {

struct Facts {
  AccessFacts access;
  uint32_t element_bytes = 0, elements = 0;
  bool is_signed = false;
};

uint64_t Extended(uint64_t value, const Facts& facts) {
  if (!facts.is_signed || facts.element_bytes == 8) return value;
  const int shift = 64 - 8 * static_cast<int>(facts.element_bytes);
  return static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
}

uint64_t ReadElement(const uint8_t* at, const Facts& facts) {
  const uint32_t bytes = facts.element_bytes;
  if (facts.access.atomic && bytes == 4)
    return Extended(__atomic_load_n(reinterpret_cast<const uint32_t*>(at), __ATOMIC_ACQUIRE), facts);
  if (facts.access.atomic && bytes == 8)
    return __atomic_load_n(reinterpret_cast<const uint64_t*>(at), __ATOMIC_ACQUIRE);
  return Extended(ReadRacing(at, bytes), facts);
}

void WriteElement(uint8_t* at, uint64_t value, const Facts& facts) {
  const uint32_t bytes = facts.element_bytes;
  if (facts.access.atomic && bytes == 4) {
    __atomic_store_n(reinterpret_cast<uint32_t*>(at), static_cast<uint32_t>(value), __ATOMIC_RELEASE);
  } else if (facts.access.atomic && bytes == 8) {
    __atomic_store_n(reinterpret_cast<uint64_t*>(at), value, __ATOMIC_RELEASE);
  } else {
    WriteRacing(at, value, bytes);
  }
}

bool Differs(const uint8_t* at, uint64_t value, const Facts& facts) {
  const uint64_t old = ReadElement(at, facts), kept = ~uint64_t{0} >> (64 - 8 * facts.element_bytes);
  return ((old ^ value) & kept) != 0;
}

// Reports an address made from never written memory, then the taint of what was loaded.
void CheckAddress(Warp& warp, const Inst& inst, const Operand& base) {
  const uint32_t tainted = warp.Tainted(base) & warp.mask();
  if (tainted != 0) ReportUninitialized(warp, inst, warp.TaintOrigin(base), tainted, "used as an address");
}

void TaintLoaded(Warp& warp, const Inst& inst, const Facts& facts, const Lanes& lanes) {
  for (uint32_t k = 0; k < facts.elements; ++k) {
    const uint32_t never = NeverWritten(lanes, k * facts.element_bytes, facts.element_bytes);
    if (never != 0) {
      Warp::Origin origin;
      origin.global = (lanes.global & never) != 0;
      const Allocation* allocation = warp.block().Hint(inst.id);
      origin.buffer = origin.global && allocation != nullptr ? allocation->label
                      : (lanes.shared & never) != 0          ? "shared memory"
                                                             : "local memory";
      warp.NoteOrigin(inst.id, std::move(origin));
    }
    if (never != 0 || warp.any_taint()) warp.Taint(inst.o[k], never, inst);
  }
}

// Slots as wide as the elements: the common case.
template <class T>
void LoadSame(Warp& warp, const Inst& inst, const Lanes& lanes, uint32_t elements) {
  for (uint32_t k = 0; k < elements; ++k) {
    T* d = warp.Out<T>(inst.o[k]);
    for (uint32_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      d[lane] = ReadRacing<T>(lanes.at[lane] + k * sizeof(T));
    }
  }
}

Flow Load(Warp& warp, const Inst& inst) {
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  const Operand& base = inst.o[inst.destinations];
  uint64_t addresses[kLanes];
  Lanes lanes;
  Addresses(warp, base, inst.immediate, addresses);
  if (warp.checked()) CheckAddress(warp, inst, base);
  if (!Access(warp, inst, facts.access, addresses, lanes)) return Flow::kRedirected;
  if (warp.launch().counted) CountPasses(warp, inst, lanes, facts.access.bytes);
  if (warp.checked()) TaintLoaded(warp, inst, facts, lanes);
  if (!facts.access.atomic && inst.a == 4) {
    LoadSame<uint32_t>(warp, inst, lanes, facts.elements);
  } else if (!facts.access.atomic && inst.a == 8) {
    LoadSame<uint64_t>(warp, inst, lanes, facts.elements);
  } else if (!facts.access.atomic && inst.a == 2) {
    LoadSame<uint16_t>(warp, inst, lanes, facts.elements);
  } else {
    for (uint32_t k = 0; k < facts.elements; ++k) {
      for (uint32_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        warp.SetLane(inst.o[k], lane, ReadElement(lanes.at[lane] + k * facts.element_bytes, facts));
      }
    }
  }
  // A lane whose access was refused reads zero.
  for (uint32_t rest = warp.mask() & ~lanes.mask; rest != 0; rest &= rest - 1) {
    for (uint32_t k = 0; k < facts.elements; ++k) warp.SetLane(inst.o[k], std::countr_zero(rest), 0);
  }
  return Flow::kNext;
}

// A kernel's parameter at a fixed place: the same for every lane. `b`: its offset.
Flow LoadParameter(Warp& warp, const Inst& inst) {
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  const uint8_t* parameters = warp.launch().parameters.data() + inst.b;
  for (uint32_t k = 0; k < facts.elements; ++k) {
    uint64_t value = 0;
    std::memcpy(&value, parameters + k * facts.element_bytes, facts.element_bytes);
    value = Extended(value, facts);
    for (uint32_t rest = warp.mask(); rest != 0; rest &= rest - 1)
      warp.SetLane(inst.o[k], std::countr_zero(rest), value);
  }
  return Flow::kNext;
}

// Stored values that were never written: into global memory as a whole they are a finding, otherwise they stay
// unwritten.
void SpreadTaint(Warp& warp, const Inst& inst, const Facts& facts, const Lanes& lanes) {
  uint32_t all = ~0u, origin = 0;
  for (uint32_t k = 0; k < facts.elements; ++k) {
    all &= warp.Tainted(inst.o[k]);
    if (warp.Tainted(inst.o[k]) != 0) origin = warp.TaintOrigin(inst.o[k]);
  }
  const uint32_t published = all & lanes.global;
  if (published != 0) ReportUninitialized(warp, inst, origin, published, "stored to global memory");
  for (uint32_t k = 0; k < facts.elements; ++k) {
    for (uint32_t rest = warp.Tainted(inst.o[k]) & lanes.mask & ~published; rest != 0; rest &= rest - 1) {
      uint8_t* unwritten = lanes.unwritten[std::countr_zero(rest)];
      if (unwritten != nullptr) SetRacing(unwritten + k * facts.element_bytes, true, facts.element_bytes);
    }
  }
}

// Both return the lanes whose memory changed; `seen`: the lanes whose memory others see.
template <class T>
uint32_t StoreSame(Warp& warp, const Inst& inst, const Lanes& lanes, uint32_t elements, uint32_t seen) {
  uint32_t changed = 0;
  for (uint32_t k = 0; k < elements; ++k) {
    const T* values = warp.In<T>(inst.o[k]);
    for (uint32_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      uint8_t* at = lanes.at[lane] + k * sizeof(T);
      if (ReadRacing<T>(at) == values[lane]) continue;
      changed |= 1u << lane;
      if ((seen >> lane & 1) == 0) warp.NoteLocal(at, &values[lane], sizeof(T));
      WriteRacing(at, values[lane]);
    }
  }
  return changed;
}

uint32_t StoreAny(Warp& warp, const Inst& inst, const Lanes& lanes, const Facts& facts, uint32_t seen) {
  uint32_t changed = 0;
  for (uint32_t k = 0; k < facts.elements; ++k) {
    for (uint32_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const uint64_t value = warp.Lane(inst.o[k], lane);
      uint8_t* at = lanes.at[lane] + k * facts.element_bytes;
      if (Differs(at, value, facts)) {
        changed |= 1u << lane;
        if ((seen >> lane & 1) == 0) warp.NoteLocal(at, &value, facts.element_bytes);
      }
      WriteElement(at, value, facts);
    }
  }
  return changed;
}

Flow Store(Warp& warp, const Inst& inst) {
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  const Operand& base = inst.o[facts.elements];
  uint64_t addresses[kLanes];
  Lanes lanes;
  Addresses(warp, base, inst.immediate, addresses);
  if (!Access(warp, inst, facts.access, addresses, lanes)) return Flow::kRedirected;
  if (warp.launch().counted) CountPasses(warp, inst, lanes, facts.access.bytes);
  if (warp.checked()) {
    CheckAddress(warp, inst, base);
    uint8_t values[kLanes * 64];
    for (uint32_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      for (uint32_t k = 0; k < facts.elements; ++k) {
        const uint64_t value = warp.Lane(inst.o[k], lane);
        std::memcpy(values + lane * 64 + k * facts.element_bytes, &value, facts.element_bytes);
      }
    }
    NoteStore(warp, inst, facts.access, lanes, values, 64);
    if (warp.any_taint()) SpreadTaint(warp, inst, facts, lanes);
  }
  const uint32_t seen = lanes.shared | lanes.global;
  uint32_t changed = 0;
  if (!facts.access.atomic && inst.a == 4) {
    changed = StoreSame<uint32_t>(warp, inst, lanes, facts.elements, seen);
  } else if (!facts.access.atomic && inst.a == 8) {
    changed = StoreSame<uint64_t>(warp, inst, lanes, facts.elements, seen);
  } else if (!facts.access.atomic && inst.a == 2) {
    changed = StoreSame<uint16_t>(warp, inst, lanes, facts.elements, seen);
  } else {
    changed = StoreAny(warp, inst, lanes, facts, seen);
  }
  if ((changed & seen) != 0) warp.block().NoteChange();
  return Flow::kNext;
}

// ---- decoding ----

absl::Status ParseFacts(Decoder& d, const ptx::Operand& address, const ptx::Operand& data, Facts& facts) {
  const Type type = d.type();
  facts.element_bytes = SizeOf(type);
  facts.elements = static_cast<uint32_t>(Decoder::Elements(data).size());
  facts.is_signed = IsSigned(type);
  const uint32_t declared = d.Has("v2") ? 2 : d.Has("v4") ? 4 : d.Has("v8") ? 8 : 1;
  if (type == Type::kNone || type == Type::kPred || type == Type::kB128) return d.Lacks();
  if (facts.elements != declared) return d.Malformed("as many registers as the vector has elements");
  if (d.Has("async") || d.Has("bulk")) return d.Lacks();
  const AccessKind kind = facts.access.kind;
  facts.access = ParseAccess(d, address);
  facts.access.kind = kind;
  facts.access.bytes = facts.element_bytes * facts.elements;
  if (facts.access.bytes > 32) return d.Malformed("at most 32 bytes");
  return absl::OkStatus();
}

absl::Status DecodeLoad(Decoder& d) {
  RETURN_IF_ERROR(d.NeedOperands(2, 3));  // a third one is a cache policy
  Facts facts;
  const ptx::Operand& address = d.operand(1);
  RETURN_IF_ERROR(ParseFacts(d, address, d.operand(0), facts));
  if (facts.access.kind == AccessKind::kRead) facts.access.release = false;
  bool same = true;
  for (const ptx::Operand* element : Decoder::Elements(d.operand(0))) {
    RETURN_IF_ERROR(d.WideDestination(*element, facts.element_bytes));
    same &= d.code().operands.back().bytes == facts.element_bytes;
  }
  d.inst().a = same ? facts.element_bytes : 0;
  const uint16_t spins = facts.access.atomic ? kSpins : 0;
  RETURN_IF_ERROR(d.Address(address));
  const ptx::Operand& base = address.elements[0];
  if (facts.access.space == Space::kParam && base.kind == ptx::Operand::kVariable && !facts.access.frame_relative) {
    ASSIGN_OR_RETURN(const uint64_t named, d.AddressOf(base));
    const uint64_t offset = named - kParamWindow + address.bits;
    if (offset > d.code().parameter_bytes || facts.access.bytes > d.code().parameter_bytes - offset) {
      return d.Malformed("an address inside the kernel's parameters");
    }
    d.inst().b = static_cast<uint32_t>(offset);
    d.Attach(facts);
    return d.Set(LoadParameter, kTaintStops);
  }
  d.Attach(facts);
  return d.Set(Load, kTaintOwn | spins);
}

absl::Status DecodeStore(Decoder& d) {
  if (d.Has("async")) return DecodeAsyncStore(d);
  RETURN_IF_ERROR(d.NeedOperands(2, 3));
  Facts facts;
  facts.access.kind = AccessKind::kWrite;
  RETURN_IF_ERROR(ParseFacts(d, d.operand(0), d.operand(1), facts));
  facts.access.acquire = false;
  facts.access.tells_changes = true;
  bool same = true;
  for (const ptx::Operand* element : Decoder::Elements(d.operand(1))) {
    RETURN_IF_ERROR(d.WideSource(*element, d.type()));
    same &= d.code().operands.back().bytes == facts.element_bytes;
  }
  d.inst().a = same ? facts.element_bytes : 0;
  RETURN_IF_ERROR(d.Address(d.operand(0)));
  d.Attach(facts);
  return d.Set(Store, kTaintOwn | (facts.access.atomic ? kSpins : 0));
}

Flow Nothing(Warp&, const Inst&) { return Flow::kNext; }
absl::Status DecodeNothing(Decoder& d) { return d.Set(Nothing); }

// createpolicy: a cache policy says nothing about results.
Flow CreatePolicy(Warp& warp, const Inst& inst) {
  Map<uint64_t>(warp, inst.o[0], [](int) { return uint64_t{0}; });
  return Flow::kNext;
}
absl::Status DecodeCreatePolicy(Decoder& d) {
  RETURN_IF_ERROR(d.Destination(d.operand(0), 8));
  return d.Set(CreatePolicy);
}

// isspacep: `a` is the space.
Flow IsSpace(Warp& warp, const Inst& inst) {
  const uint64_t* address = warp.In<uint64_t>(inst.o[1]);
  auto inside = [](uint64_t value, uint64_t window) { return value - window < kWindowBytes; };
  const uint32_t truth = Collect([&](int i) {
    switch (static_cast<Space>(inst.a)) {
      case Space::kShared:
        return inside(address[i], kSharedWindow);
      case Space::kLocal:
        return inside(address[i], kLocalWindow);
      case Space::kParam:
        return inside(address[i], kParamWindow);
      case Space::kConst:
        return false;
      default:
        return address[i] < kSharedWindow;
    }
  });
  warp.SetPredicate(inst.o[0], truth);
  return Flow::kNext;
}

absl::Status DecodeIsSpace(Decoder& d) {
  d.inst().a = static_cast<uint32_t>(ParseAccess(d, ptx::Operand()).space);
  return Regular(d, IsSpace, Type::kPred, {Type::kU64});
}

}  // namespace

void RegisterLoadStore(OpTable& table) {
  table.Add("ld", DecodeLoad);
  table.Add("ldu", DecodeLoad);
  table.Add("st", DecodeStore);
  table.Add("prefetch", DecodeNothing);
  table.Add("prefetchu", DecodeNothing);
  table.Add("applypriority", DecodeNothing);
  table.Add("discard", DecodeNothing);
  table.Add("createpolicy", DecodeCreatePolicy);
  table.Add("isspacep", DecodeIsSpace);
}

}  // namespace sassay::emulator
