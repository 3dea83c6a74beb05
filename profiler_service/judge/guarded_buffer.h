// A tensor in memory that the judge owns and the runner maps, with guard bands on both sides.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GUARDED_BUFFER_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_GUARDED_BUFFER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "profiler_service/device/device.h"
#include "profiler_service/judge/gpu/kernels.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::judge {

// Guard bands are at least this long; the one behind goes on to the end of the range.
inline constexpr uint64_t kGuardBytes = 64 << 10;

// Where a buffer with its guards lies in a shared object; the last one that does frees the object (a runner that still
// maps it keeps its own mapping).
struct GuardedRange {
  std::shared_ptr<const device::SharedMemory> object;
  uint64_t begin = 0;
  uint64_t size_bytes = 0;
};

// Ranges for buffers of these sizes. On a GPU all of them are in one object, each in granules of its own, 2 MiB, as if
// it were alone: the driver of a busy host takes 25 ms to allocate, export and map each object. Elsewhere memory that
// nobody has allocated stays where a stray access is noticed at once: each has an object. The device must outlive them.
absl::StatusOr<std::vector<GuardedRange>> AllocateGuarded(device::Device& device, absl::Span<const uint64_t> sizes);

// One range: guard, tensor, guard.
//
// Life cycle: Create, then fill and check as often as wanted. Threads: thread-compatible. Ownership: the device must
// outlive it. Failure: a Status is the device's trouble; what a candidate did to guards is a Finding.
class GuardedBuffer {
 public:
  // `name` is the tensor's, for findings; `guard_seed` the pattern of the guards. With `kernels` (which outlive it; may
  // be null) patterns are written and checked on the device.
  static absl::StatusOr<GuardedBuffer> Create(device::Device& device, GuardedRange range, absl::string_view name,
                                              uint64_t size_bytes, uint64_t guard_seed,
                                              gpu::Kernels* kernels = nullptr);

  const std::string& name() const { return name_; }
  const device::SharedMemory& object() const { return *range_.object; }
  // In the object.
  uint64_t offset_bytes() const { return range_.begin + kGuardBytes; }
  uint64_t size_bytes() const { return size_bytes_; }
  // The tensor's first byte on the device.
  device::DeviceAddress address() const { return begin() + kGuardBytes; }

  absl::Status Write(absl::string_view bytes);
  absl::Status Poison(uint64_t seed);
  // The guards get another pattern; what was written there is no longer found.
  absl::Status RenewGuards(uint64_t guard_seed);
  absl::StatusOr<std::string> Read() const;

  // The guards as one finding, if any of their bytes changed: the distance is that of the byte nearest to the tensor.
  absl::StatusOr<absl::optional<sassay::v1::Finding>> CheckGuards() const;

 private:
  // Changed bytes of one guard.
  struct Damage {
    uint64_t bytes = 0;
    uint64_t nearest = 0;  // distance from the tensor, 0 for the adjacent byte
  };

  GuardedBuffer(device::Device& device, GuardedRange range, absl::string_view name, uint64_t size_bytes,
                uint64_t guard_seed, gpu::Kernels* kernels);
  // The first guard's.
  device::DeviceAddress begin() const { return range_.object->address + range_.begin; }
  sassay::v1::Finding Describe(const Damage& before, const Damage& behind) const;
  absl::Status FillGuards();
  absl::Status FillGuard(uint64_t offset, uint64_t size);
  absl::StatusOr<Damage> CheckGuard(uint64_t offset, uint64_t size) const;
  absl::StatusOr<std::string> ReadRange(uint64_t offset, uint64_t size) const;
  std::string GuardPattern(uint64_t offset, uint64_t size) const;

  device::Device* device_;
  std::string name_;
  uint64_t size_bytes_;
  uint64_t guard_seed_;
  gpu::Kernels* kernels_;
  GuardedRange range_;
};

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GUARDED_BUFFER_H_
