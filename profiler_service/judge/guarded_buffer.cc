#include "profiler_service/judge/guarded_buffer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/device/poison.h"

namespace sassay::judge {
namespace {

// Changed bytes on one side.
struct Damage {
  uint64_t bytes = 0;
  uint64_t nearest = 0;  // distance from the tensor, 0 for the adjacent byte
};

Damage Compare(absl::string_view expected, absl::string_view actual, bool tensor_is_behind) {
  Damage damage;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == actual[i]) continue;
    if (tensor_is_behind || damage.bytes == 0) damage.nearest = tensor_is_behind ? expected.size() - 1 - i : i;
    ++damage.bytes;
  }
  return damage;
}

sassay::v1::Finding Describe(const std::string& name, uint64_t size_bytes, const Damage& before, const Damage& behind) {
  sassay::v1::Finding finding;
  finding.set_code(sassay::v1::VERDICT_CODE_GUARD_BAND);
  finding.set_buffer(name);
  finding.set_count(before.bytes + behind.bytes);
  if (behind.bytes > 0) {
    finding.set_distance_bytes(static_cast<int64_t>(behind.nearest));
    finding.set_message(absl::StrCat(behind.bytes, " bytes were written past the end of ", name, " (", size_bytes,
                                     " bytes), the nearest ", behind.nearest, " bytes behind its end"));
  } else {
    finding.set_distance_bytes(-static_cast<int64_t>(before.nearest) - 1);
    finding.set_message(absl::StrCat(before.bytes, " bytes were written before the start of ", name, ", the nearest ",
                                     before.nearest + 1, " bytes before its first byte"));
  }
  return finding;
}

}  // namespace

absl::StatusOr<GuardedBuffer> GuardedBuffer::Create(device::Device& device, absl::string_view name, uint64_t size_bytes,
                                                    uint64_t guard_seed) {
  ASSIGN_OR_RETURN(device::SharedMemory memory, device.AllocateShared(size_bytes + 2 * kGuardBytes));
  GuardedBuffer buffer(device, name, size_bytes, guard_seed, std::move(memory));
  for (uint64_t offset : {uint64_t{0}, kGuardBytes + size_bytes}) {
    const uint64_t size = offset == 0 ? kGuardBytes : buffer.object_bytes() - offset;
    RETURN_IF_ERROR(device.Write(buffer.memory_.address + offset, buffer.GuardPattern(offset, size)));
  }
  return buffer;
}

GuardedBuffer::GuardedBuffer(device::Device& device, absl::string_view name, uint64_t size_bytes, uint64_t guard_seed,
                             device::SharedMemory memory)
    : device_(&device), name_(name), size_bytes_(size_bytes), guard_seed_(guard_seed), memory_(std::move(memory)) {}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      name_(std::move(other.name_)),
      size_bytes_(other.size_bytes_),
      guard_seed_(other.guard_seed_),
      memory_(std::move(other.memory_)) {}

GuardedBuffer::~GuardedBuffer() {
  if (device_ != nullptr) device_->Free(memory_.address).IgnoreError();
}

absl::Status GuardedBuffer::Write(absl::string_view bytes) {
  if (bytes.size() != size_bytes_) {
    return absl::InternalError(absl::StrCat(name_, " has ", size_bytes_, " bytes, not ", bytes.size()));
  }
  return device_->Write(memory_.address + kGuardBytes, bytes);
}

absl::Status GuardedBuffer::Poison(uint64_t seed) {
  return device_->Poison(memory_.address + kGuardBytes, size_bytes_, seed);
}

absl::StatusOr<std::string> GuardedBuffer::Read() const { return ReadRange(kGuardBytes, size_bytes_); }

absl::StatusOr<absl::optional<sassay::v1::Finding>> GuardedBuffer::CheckGuards() const {
  const uint64_t end = kGuardBytes + size_bytes_, tail = object_bytes() - end;
  ASSIGN_OR_RETURN(const std::string before, ReadRange(0, kGuardBytes));
  ASSIGN_OR_RETURN(const std::string behind, ReadRange(end, tail));
  const Damage front = Compare(GuardPattern(0, kGuardBytes), before, true);
  const Damage back = Compare(GuardPattern(end, tail), behind, false);
  absl::optional<sassay::v1::Finding> finding;
  if (front.bytes + back.bytes > 0) finding = Describe(name_, size_bytes_, front, back);
  return finding;
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
