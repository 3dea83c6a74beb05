// Which of several algorithms is the fastest here: a short measurement on scratch tensors.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_TRIAL_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_TRIAL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "profiler_service/device/cuda/driver.h"
#include "profiler_service/device/device.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge {

// Device memory of the current context, freed on destruction; the context must then be current.
class DeviceMemory {
 public:
  // RESOURCE_EXHAUSTED, with `what` and the size, if there is not enough. No bytes: address 0.
  static absl::StatusOr<DeviceMemory> Allocate(const device::cuda::Driver& driver, uint64_t size_bytes,
                                               absl::string_view what);
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  device::DeviceAddress address() const { return address_; }
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  const device::cuda::Driver* driver_ = nullptr;
  device::DeviceAddress address_ = 0;
  uint64_t size_bytes_ = 0;
};

// Scratch tensors of a workload's sizes, a stream and a pair of events.
//
// Samples are taken as the timing stage takes them: one call each, with a cold L2, algorithms in turn, so that a
// falling clock meets all of them. Inputs are random bf16 patterns within (-2, 2): zeros would draw less power and
// favour other algorithms. Life cycle: Create, Measure, drop. Thread-compatible; the context must stay current. The
// driver must outlive it.
class Trial {
 public:
  using Run = std::function<absl::Status(absl::Span<const device::DeviceAddress> inputs,
                                         absl::Span<const device::DeviceAddress> outputs, void* stream)>;

  static absl::StatusOr<std::unique_ptr<Trial>> Create(const device::cuda::Driver& driver,
                                                       const sassay::v1::Workload& workload);
  ~Trial();

  // Median nanoseconds of each; infinity for one that refuses to run. INTERNAL if the context is lost.
  absl::StatusOr<std::vector<double>> Measure(absl::Span<const Run> runs);
  // Index of the fastest: those within 5 % of it by Measure are measured again, longer. INTERNAL, with what one of them
  // said, if none runs.
  absl::StatusOr<int> Fastest(absl::Span<const Run> runs);

 private:
  explicit Trial(const device::cuda::Driver& driver) : driver_(driver) {}
  absl::Status Prepare(const sassay::v1::Workload& workload);
  absl::Status FillRandomly(const DeviceMemory& memory, const std::string& pattern);
  absl::Status WarmUp(absl::Span<const Run> runs);
  absl::StatusOr<std::vector<double>> Rounds(absl::Span<const Run> runs, int rounds);
  absl::StatusOr<double> Sample(const Run& run);

  const device::cuda::Driver& driver_;
  std::vector<DeviceMemory> memory_;
  std::vector<device::DeviceAddress> inputs_;
  std::vector<device::DeviceAddress> outputs_;
  DeviceMemory flush_;
  CUstream stream_ = nullptr;
  CUevent begin_ = nullptr;
  CUevent end_ = nullptr;
  absl::Status refusal_;  // the last one
};

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_TRIAL_H_
