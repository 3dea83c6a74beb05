#include "profiler_service/judge/guarded_buffer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/device/poison.h"
#include "profiler_service/judge/gpu/bytes.h"

namespace sassay::judge {
namespace {

// What a GPU maps: a tensor begins where it would begin if it had an object to itself.
constexpr uint64_t kGranule = 2 << 20;

absl::StatusOr<std::shared_ptr<const device::SharedMemory>> AllocateObject(device::Device& device, uint64_t bytes) {
  ASSIGN_OR_RETURN(device::SharedMemory memory, device.AllocateShared(bytes));
  const auto free = [&device](const device::SharedMemory* freed) {
    device.Free(freed->address).IgnoreError();
    delete freed;
  };
  return std::shared_ptr<const device::SharedMemory>(new device::SharedMemory(std::move(memory)), free);
}

}  // namespace

absl::StatusOr<std::vector<GuardedRange>> AllocateGuarded(device::Device& device, absl::Span<const uint64_t> sizes) {
  const bool together = device.info().kind == "cuda";
  std::vector<GuardedRange> ranges;
  uint64_t all = 0;
  for (const uint64_t size : sizes) {
    GuardedRange& range = ranges.emplace_back();
    range.begin = all;
    range.size_bytes = size + 2 * kGuardBytes;
    if (together) all += range.size_bytes = (range.size_bytes + kGranule - 1) / kGranule * kGranule;
  }
  std::shared_ptr<const device::SharedMemory> object;
  for (GuardedRange& range : ranges) {
    if (object == nullptr || !together) {
      ASSIGN_OR_RETURN(object, AllocateObject(device, together ? all : range.size_bytes));
      if (!together) range.size_bytes = object->object_bytes;
    }
    range.object = object;
  }
  return ranges;
}

absl::StatusOr<GuardedBuffer> GuardedBuffer::Create(device::Device& device, GuardedRange range, absl::string_view name,
                                                    uint64_t size_bytes, uint64_t guard_seed, gpu::Kernels* kernels) {
  GuardedBuffer buffer(device, std::move(range), name, size_bytes, guard_seed, kernels);
  RETURN_IF_ERROR(buffer.FillGuards());
  return buffer;
}

GuardedBuffer::GuardedBuffer(device::Device& device, GuardedRange range, absl::string_view name, uint64_t size_bytes,
                             uint64_t guard_seed, gpu::Kernels* kernels)
    : device_(&device),
      name_(name),
      size_bytes_(size_bytes),
      guard_seed_(guard_seed),
      kernels_(kernels),
      range_(std::move(range)) {}

absl::Status GuardedBuffer::Write(absl::string_view bytes) {
  if (bytes.size() != size_bytes_) {
    return absl::InternalError(absl::StrCat(name_, " has ", size_bytes_, " bytes, not ", bytes.size()));
  }
  return device_->Write(address(), bytes);
}

absl::Status GuardedBuffer::Poison(uint64_t seed) { return device_->Poison(address(), size_bytes_, seed); }

absl::Status GuardedBuffer::RenewGuards(uint64_t guard_seed) {
  guard_seed_ = guard_seed;
  return FillGuards();
}

absl::StatusOr<std::string> GuardedBuffer::Read() const { return ReadRange(kGuardBytes, size_bytes_); }

absl::StatusOr<absl::optional<sassay::v1::Finding>> GuardedBuffer::CheckGuards() const {
  const uint64_t end = kGuardBytes + size_bytes_;
  ASSIGN_OR_RETURN(const Damage before, CheckGuard(0, kGuardBytes));
  ASSIGN_OR_RETURN(const Damage behind, CheckGuard(end, range_.size_bytes - end));
  absl::optional<sassay::v1::Finding> finding;
  if (before.bytes + behind.bytes > 0) finding = Describe(before, behind);
  return finding;
}

sassay::v1::Finding GuardedBuffer::Describe(const Damage& before, const Damage& behind) const {
  sassay::v1::Finding finding;
  finding.set_code(sassay::v1::VERDICT_CODE_GUARD_BAND);
  finding.set_buffer(name_);
  finding.set_count(before.bytes + behind.bytes);
  if (behind.bytes > 0) {
    finding.set_distance_bytes(static_cast<int64_t>(behind.nearest));
    finding.set_message(absl::StrCat(behind.bytes, " bytes were written past the end of ", name_, " (", size_bytes_,
                                     " bytes), the nearest ", behind.nearest, " bytes behind its end"));
  } else {
    finding.set_distance_bytes(-static_cast<int64_t>(before.nearest) - 1);
    finding.set_message(absl::StrCat(before.bytes, " bytes were written before the start of ", name_, ", the nearest ",
                                     before.nearest + 1, " bytes before its first byte"));
  }
  return finding;
}

absl::Status GuardedBuffer::FillGuards() {
  RETURN_IF_ERROR(FillGuard(0, kGuardBytes));
  const uint64_t end = kGuardBytes + size_bytes_;
  return FillGuard(end, range_.size_bytes - end);
}

absl::Status GuardedBuffer::FillGuard(uint64_t offset, uint64_t size) {
  if (kernels_ == nullptr) return device_->Write(begin() + offset, GuardPattern(offset, size));
  RETURN_IF_ERROR(gpu::FillPattern(*kernels_, begin() + offset, size, guard_seed_, offset));
  return kernels_->Finish();
}

absl::StatusOr<GuardedBuffer::Damage> GuardedBuffer::CheckGuard(uint64_t offset, uint64_t size) const {
  gpu::ByteDifference difference{0, UINT64_MAX, 0};
  if (kernels_ != nullptr) {
    ASSIGN_OR_RETURN(difference, gpu::CheckPattern(*kernels_, begin() + offset, size, guard_seed_, offset));
  } else {
    ASSIGN_OR_RETURN(const std::string actual, ReadRange(offset, size));
    const std::string expected = GuardPattern(offset, size);
    for (size_t i = 0; i < size; ++i) {
      if (expected[i] == actual[i]) continue;
      ++difference.count;
      difference.first = std::min<uint64_t>(difference.first, i);
      difference.last = i;
    }
  }
  if (difference.count == 0) return Damage();
  return Damage{difference.count, offset == 0 ? size - 1 - difference.last : difference.first};
}

absl::StatusOr<std::string> GuardedBuffer::ReadRange(uint64_t offset, uint64_t size) const {
  std::string bytes(size, '\0');
  RETURN_IF_ERROR(device_->Read(absl::MakeSpan(bytes.data(), bytes.size()), begin() + offset));
  return bytes;
}

std::string GuardedBuffer::GuardPattern(uint64_t offset, uint64_t size) const {
  std::string pattern(size, '\0');
  device::FillPoison(absl::MakeSpan(pattern.data(), pattern.size()), guard_seed_, offset);
  return pattern;
}

}  // namespace sassay::judge
