#include "profiler_service/emulator/memory/global_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sassay::emulator {
namespace {

constexpr uint64_t kGranule = 512;
constexpr uint64_t kAlignment = uint64_t{1} << 16;
// Between what kernels are given: at least this, at most twice as much.
constexpr uint64_t kGap = uint64_t{1} << 28;
constexpr uint64_t kOwnGap = uint64_t{1} << 21;
constexpr uint64_t kGivenBase = 0x100000000000;
constexpr uint64_t kOwnBase = 0x400000000000;
constexpr uint64_t kOwnEnd = 0x7f0000000000;

uint64_t RoundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

absl::StatusOr<HostMapping> MapHost(uint64_t bytes, int fd) {
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot map ", bytes, " bytes: ", std::strerror(errno)));
  }
  return HostMapping(static_cast<uint8_t*>(data), bytes);
}

}  // namespace

HostMapping::~HostMapping() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

GlobalMemory::GlobalMemory(bool exact, uint64_t limit_bytes)
    : exact_(exact), limit_bytes_(limit_bytes), random_(std::random_device()()) {
  given_ = {kGivenBase, kOwnBase, {}};
  own_ = {kOwnBase, kOwnEnd, {}};
  given_.next += RandomGap();
}

uint64_t GlobalMemory::RandomGap() { return kGap + random_() % (kGap / kAlignment) * kAlignment; }

absl::StatusOr<uint64_t> GlobalMemory::Place(Arena& arena, HostMapping memory, uint64_t size_bytes,
                                             absl::string_view label, bool written) {
  const uint64_t gap = &arena == &own_ ? kOwnGap : RandomGap();
  if (size_bytes > arena.end - arena.next || gap >= arena.end - arena.next - size_bytes) {
    return absl::ResourceExhaustedError("the emulated device has run out of addresses");
  }
  auto allocation = std::make_unique<Allocation>();
  if (exact_ && !written) {
    ASSIGN_OR_RETURN(allocation->shadow, MapHost(RoundUp(std::max<uint64_t>(size_bytes, 1), kGranule), -1));
    allocation->unwritten = allocation->shadow.data();
    std::memset(allocation->unwritten, 1, size_bytes);
  }
  allocation->base = arena.next;
  allocation->size = size_bytes;
  allocation->accessible = exact_ ? size_bytes : RoundUp(size_bytes, kGranule);
  allocation->host = memory.data();
  allocation->memory = std::move(memory);
  allocation->label = std::string(label);
  arena.next = RoundUp(arena.next + size_bytes + gap, kAlignment);
  allocated_bytes_ += size_bytes;
  arena.allocations.push_back(std::move(allocation));
  return arena.allocations.back()->base;
}

absl::StatusOr<uint64_t> GlobalMemory::Allocate(uint64_t size_bytes, absl::string_view label, bool written) {
  if (size_bytes > limit_bytes_ || allocated_bytes_ > limit_bytes_ - size_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("emulated device memory: ", size_bytes, " bytes asked for '",
                                                     label, "', ", allocated_bytes_, " of ", limit_bytes_, " in use"));
  }
  ASSIGN_OR_RETURN(HostMapping memory, MapHost(RoundUp(std::max<uint64_t>(size_bytes, 1), kGranule), -1));
  return Place(given_, std::move(memory), size_bytes, label, written);
}

absl::StatusOr<uint64_t> GlobalMemory::AllocateShared(uint64_t size_bytes, UniqueFd& fd) {
  if (size_bytes == 0 || size_bytes > limit_bytes_ || allocated_bytes_ > limit_bytes_ - size_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("emulated device memory: ", size_bytes,
                                                     " shared bytes asked for, ", allocated_bytes_, " of ",
                                                     limit_bytes_, " in use"));
  }
  fd.reset(memfd_create("sassay-emulated", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid() || ftruncate(fd.get(), static_cast<off_t>(size_bytes)) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("memfd of ", size_bytes, " bytes: ", std::strerror(errno)));
  }
  ASSIGN_OR_RETURN(HostMapping memory, MapHost(size_bytes, fd.get()));
  return Place(own_, std::move(memory), size_bytes, "shared object", true);
}

absl::StatusOr<uint64_t> GlobalMemory::MapShared(int fd, uint64_t object_bytes) {
  struct stat facts = {};
  if (fstat(fd, &facts) != 0) return absl::InvalidArgumentError(absl::StrCat("fstat: ", std::strerror(errno)));
  if (object_bytes == 0 || static_cast<uint64_t>(facts.st_size) < object_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("shared object of ", facts.st_size, " bytes, ", object_bytes, " were announced"));
  }
  ASSIGN_OR_RETURN(HostMapping memory, MapHost(object_bytes, fd));
  return Place(exact_ ? own_ : given_, std::move(memory), object_bytes, "shared object", true);
}

absl::Status GlobalMemory::Free(uint64_t address) {
  Arena& arena = address < given_.end ? given_ : own_;
  const auto found =
      std::find_if(arena.allocations.begin(), arena.allocations.end(),
                   [address](const auto& allocation) { return allocation->base == address && allocation->live; });
  if (found == arena.allocations.end()) {
    return absl::InvalidArgumentError(absl::StrCat("free of 0x", absl::Hex(address), ", which is no live allocation"));
  }
  Allocation& allocation = **found;
  allocated_bytes_ -= allocation.size;
  if (&arena == &own_) {
    arena.allocations.erase(found);
    return absl::OkStatus();
  }
  allocation.live = false;
  allocation.memory = HostMapping();
  allocation.shadow = HostMapping();
  allocation.host = allocation.unwritten = nullptr;
  return absl::OkStatus();
}

size_t GlobalMemory::Arena::CountUpTo(uint64_t address) const {
  const auto after =
      std::upper_bound(allocations.begin(), allocations.end(), address,
                       [](uint64_t wanted, const auto& allocation) { return wanted < allocation->base; });
  return static_cast<size_t>(after - allocations.begin());
}

const Allocation* GlobalMemory::Arena::Find(uint64_t address, uint64_t bytes) const {
  const size_t count = CountUpTo(address);
  if (count == 0) return nullptr;
  const Allocation* allocation = allocations[count - 1].get();
  return allocation->live && allocation->Contains(address, bytes) ? allocation : nullptr;
}

const Allocation* GlobalMemory::Nearest(uint64_t address) const {
  const size_t count = given_.CountUpTo(address);
  const Allocation* above = count < given_.allocations.size() ? given_.allocations[count].get() : nullptr;
  const Allocation* below = count > 0 ? given_.allocations[count - 1].get() : nullptr;
  if (below == nullptr) return above != nullptr && above->base - address <= kGap ? above : nullptr;
  if (address - below->base < below->size) return below;
  const uint64_t past = address - below->base - below->size;
  if (above != nullptr && above->base - address < past) return above;
  return past <= 4 * kGap ? below : nullptr;
}

const Allocation* GlobalMemory::Find(uint64_t address, uint64_t bytes) const { return given_.Find(address, bytes); }

absl::StatusOr<uint8_t*> GlobalMemory::Host(uint64_t address, uint64_t bytes) const {
  const Allocation* allocation = ArenaOf(address).Find(address, bytes);
  if (allocation == nullptr) {
    const Allocation* nearest = Nearest(address);
    return absl::InvalidArgumentError(
        absl::StrCat("range of ", bytes, " bytes at 0x", absl::Hex(address), " does not lie inside an allocation",
                     nearest == nullptr ? ""
                                        : absl::StrCat("; the nearest is '", nearest->label, "' of ", nearest->size,
                                                       " bytes", nearest->live ? "" : ", freed")));
  }
  return allocation->host + (address - allocation->base);
}

void GlobalMemory::Mark(uint64_t address, uint64_t bytes, bool written) {
  const Allocation* allocation = ArenaOf(address).Find(address, bytes);
  if (allocation == nullptr || allocation->unwritten == nullptr) return;
  std::memset(allocation->unwritten + (address - allocation->base), written ? 0 : 1, bytes);
}

void GlobalMemory::CopyMarks(uint64_t destination, uint64_t source, uint64_t bytes) {
  const Allocation* from = ArenaOf(source).Find(source, bytes);
  const Allocation* to = ArenaOf(destination).Find(destination, bytes);
  if (from == nullptr || to == nullptr || to->unwritten == nullptr) return;
  uint8_t* marks = to->unwritten + (destination - to->base);
  if (from->unwritten == nullptr) {
    std::memset(marks, 0, bytes);
  } else {
    std::memmove(marks, from->unwritten + (source - from->base), bytes);
  }
}

absl::Status GlobalMemory::SetInput(uint64_t address) {
  for (auto& allocation : given_.allocations) {
    if (allocation->base != address || !allocation->live) continue;
    allocation->input = true;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("no live allocation begins at 0x", absl::Hex(address)));
}

void GlobalMemory::SetReadOnly(uint64_t address) {
  for (auto& allocation : given_.allocations) allocation->read_only |= allocation->base == address;
}

}  // namespace sassay::emulator
