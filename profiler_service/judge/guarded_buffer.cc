#include "profiler_service/judge/guarded_buffer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/device/poison.h"
#include "profiler_service/judge/gpu/bytes.h"

namespace sassay::judge {
absl::StatusOr<GuardedBuffer> GuardedBuffer::Create(device::Device& device, absl::string_view name, uint64_t size_bytes,
                                                    uint64_t guard_seed, gpu::Kernels* kernels) {
  ASSIGN_OR_RETURN(device::SharedMemory memory, device.AllocateShared(size_bytes + 2 * kGuardBytes));
  GuardedBuffer buffer(device, name, size_bytes, guard_seed, kernels, std::move(memory));
  RETURN_IF_ERROR(buffer.FillGuards());
  return buffer;
}

GuardedBuffer::GuardedBuffer(device::Device& device, absl::string_view name, uint64_t size_bytes, uint64_t guard_seed,
                             gpu::Kernels* kernels, device::SharedMemory memory)
    : device_(&device),
      name_(name),
      size_bytes_(size_bytes),
      guard_seed_(guard_seed),
      kernels_(kernels),
      memory_(std::move(memory)) {}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      name_(std::move(other.name_)),
      size_bytes_(other.size_bytes_),
      guard_seed_(other.guard_seed_),
      kernels_(other.kernels_),
      memory_(std::move(other.memory_)) {}

GuardedBuffer::~GuardedBuffer() {
  if (device_ != nullptr) device_->Free(memory_.address).IgnoreError();
}

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
  ASSIGN_OR_RETURN(const Damage behind, CheckGuard(end, object_bytes() - end));
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
  return FillGuard(end, object_bytes() - end);
}

absl::Status GuardedBuffer::FillGuard(uint64_t offset, uint64_t size) {
  if (kernels_ == nullptr) return device_->Write(memory_.address + offset, GuardPattern(offset, size));
  RETURN_IF_ERROR(gpu::FillPattern(*kernels_, memory_.address + offset, size, guard_seed_, offset));
  return kernels_->Finish();
}

absl::StatusOr<GuardedBuffer::Damage> GuardedBuffer::CheckGuard(uint64_t offset, uint64_t size) const {
  gpu::ByteDifference difference{0, UINT64_MAX, 0};
  if (kernels_ != nullptr) {
    ASSIGN_OR_RETURN(difference, gpu::CheckPattern(*kernels_, memory_.address + offset, size, guard_seed_, offset));
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
  RETURN_IF_ERROR(device_->Read(absl::MakeSpan(bytes.data(), bytes.size()), memory_.address + offset));
  return bytes;
}

std::string GuardedBuffer::GuardPattern(uint64_t offset, uint64_t size) const {
  std::string pattern(size, '\0');
  device::FillPoison(absl::MakeSpan(pattern.data(), pattern.size()), guard_seed_, offset);
  return pattern;
}

}  // namespace sassay::judge
