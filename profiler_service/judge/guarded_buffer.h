// A tensor in memory that the judge owns and the runner maps, with guard bands on both sides.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GUARDED_BUFFER_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_GUARDED_BUFFER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "profiler_service/device/device.h"
#include "profiler_service/judge/gpu/kernels.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::judge {

// Guard bands are at least this long; the one behind goes on to the end of the object.
inline constexpr uint64_t kGuardBytes = 64 << 10;

// One shared object: guard, tensor, guard.
//
// Life cycle: Create, then fill and check as often as wanted; destruction frees the memory (a runner that still maps it
// keeps its own mapping). Threads: thread-compatible. Ownership: the device must outlive it. Failure: a Status is the
// device's trouble; what a candidate did to guards is a Finding.
class GuardedBuffer {
 public:
  // `name` is the tensor's, for findings; `guard_seed` the pattern of the guards. With `kernels` (which outlive it; may
  // be null) patterns are written and checked on the device.
  static absl::StatusOr<GuardedBuffer> Create(device::Device& device, absl::string_view name, uint64_t size_bytes,
                                              uint64_t guard_seed, gpu::Kernels* kernels = nullptr);
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&&) = delete;
  ~GuardedBuffer();

  const std::string& name() const { return name_; }
  int fd() const { return memory_.fd.get(); }
  uint64_t object_bytes() const { return memory_.object_bytes; }
  uint64_t offset_bytes() const { return kGuardBytes; }
  uint64_t size_bytes() const { return size_bytes_; }
  // The tensor's first byte on the device.
  device::DeviceAddress address() const { return memory_.address + kGuardBytes; }

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

  GuardedBuffer(device::Device& device, absl::string_view name, uint64_t size_bytes, uint64_t guard_seed,
                gpu::Kernels* kernels, device::SharedMemory memory);
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
  device::SharedMemory memory_;
};

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GUARDED_BUFFER_H_
