// Replays a launch plan on a device: what the candidate's host code asked for, done by our own code.
//
// Device-independent, and the only place that knows what a plan means. Admission has validated the plan; the checks
// here (every pointer inside its buffer, every buffer alive) are the second wall, because what stands behind them is
// memory.
#ifndef SASSAY_PROFILER_SERVICE_RUNNER_REPLAY_H_
#define SASSAY_PROFILER_SERVICE_RUNNER_REPLAY_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/base/fd.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "profiler_service/device/device.h"
#include "profiler_service/device/sampler.h"
#include "profiler_service/wire/worker.pb.h"

namespace sassay::runner {

// One candidate on one device.
//
// Life cycle: Load, Bind, Setup once, then Steady or Time as often as wanted. After an Execution that is not OK, or a
// failure, give it up. Thread-compatible. Ownership: the device must outlive it; mappings go with the device.
//
// Memory by mode. PLAIN, COUNTED, TIMED: tensors are the judge's own memory; allocations of the plan live from the
// first call to the end (they are hoisted; a free is not replayed). CHECKED: every buffer is an allocation of its own
// and of exact size, lives exactly as long as the host code let it live, and tensors are copied from and to the judge's
// memory: shared mappings are rounded up and would hide an overrun.
//
// Poison: allocations of a call before every call, allocations of setup before Setup only; an honest split-K zeroes its
// semaphores once.
//
// Failure: INVALID_ARGUMENT the plan or the device's loader refuses (the candidate's fault; never from Bind, where the
// plan has no say); UNIMPLEMENTED the device lacks an instruction; others are our own trouble. Faults and timeouts are
// Executions, also where they show first as the failure of what came after the launch.
class Replay {
 public:
  Replay(device::Device& device, sassay::worker::RunMode mode) : device_(device), mode_(mode) {}

  // `bundle` holds exactly one plan.
  absl::Status Load(const sassay::v1::Bundle& bundle);
  // Every INPUT and OUTPUT buffer of the plan needs a region. TIMED: several sets of them, in order; the first is the
  // one that Setup and WarmUp work on, and later ones may lie in objects that came with earlier ones.
  absl::Status Bind(absl::Span<const sassay::worker::SharedRegion> regions, absl::Span<const UniqueFd> descriptors,
                    uint32_t set = 0);
  absl::StatusOr<device::Execution> Setup(uint64_t poison_seed, absl::Time deadline);
  // `left_out`: a launch that is not made, by its position among the launches of a call.
  absl::StatusOr<device::Execution> Steady(uint64_t poison_seed, absl::Time deadline,
                                           absl::optional<uint32_t> left_out = absl::nullopt);
  // TIMED: steady calls back to back, to bring the clock to where it stays and everything lazy behind us.
  absl::StatusOr<device::Stretch> WarmUp(const device::StretchLength& length, absl::Time deadline);
  // TIMED: one sample for each of `sets`, as SampleBlock takes them, with outputs and call allocations poisoned before
  // each.
  absl::StatusOr<device::SampledBlock> Time(uint64_t poison_seed, absl::Span<const uint32_t> sets, absl::Time deadline);
  // Whether a call's launches fit into the device's queue, so that they can wait there for one another.
  bool held_while_timed() const;

  // Where every living buffer is.
  std::vector<sassay::worker::Placement> Placements() const;
  // Load has been asked for and went well.
  bool loaded() const { return loaded_; }

 private:
  // The plan's buffer in this process.
  struct Place {
    device::DeviceAddress address = 0;
    bool alive = false;
    // CHECKED: the judge's copy of a tensor.
    device::DeviceAddress judge_address = 0;
    // A step of the plan says when its life begins.
    bool announced = false;
  };
  using Steps = google::protobuf::RepeatedPtrField<sassay::v1::Step>;

  bool exact() const { return mode_ == sassay::worker::RUN_MODE_CHECKED; }
  const sassay::v1::Buffer& buffer(uint32_t index) const { return plan_.buffers(static_cast<int>(index)); }
  std::string Label(uint32_t index) const;

  absl::Status BindRegions(absl::Span<const sassay::worker::SharedRegion> regions,
                           absl::Span<const UniqueFd> descriptors, uint32_t set);
  // Maps it if nobody has: an object of this message, or of an earlier one.
  absl::StatusOr<device::DeviceAddress> Object(const sassay::worker::SharedRegion& region,
                                               absl::Span<const UniqueFd> descriptors);
  absl::Status BindRegion(const sassay::worker::SharedRegion& region, device::DeviceAddress object);
  absl::Status FindSymbols();
  void NoteAnnouncements(const Steps& steps);
  absl::Status ForEach(sassay::v1::BufferKind kind, absl::FunctionRef<absl::Status(uint32_t)> action);
  absl::Status Revive(uint32_t index);
  absl::Status Bury(uint32_t index);
  absl::Status PoisonBuffer(uint32_t index);
  // What must be so before the setup steps or the steady steps run.
  absl::Status Prepare(sassay::v1::BufferKind allocations);
  absl::Status PrepareMemory(sassay::v1::BufferKind allocations);
  absl::Status CopyOutputsToJudge();

  absl::StatusOr<device::Execution> Run(const Steps& steps, absl::Time deadline);
  absl::StatusOr<device::Execution> RunWithout(uint32_t launch, absl::Time deadline);
  absl::StatusOr<device::Execution> RunAndWait(const Steps& steps, absl::Time deadline);
  // The fault that an earlier launch turns out to have made, or `status` where there is none.
  absl::StatusOr<device::Execution> FaultBehind(const absl::Status& status, absl::Time deadline);
  absl::Status Perform(const sassay::v1::Step& step);
  absl::Status PerformLaunch(const sassay::v1::KernelLaunch& launch);
  absl::Status PerformCopy(const sassay::v1::DeviceCopy& copy);
  absl::Status PerformMemset(const sassay::v1::DeviceMemset& memset);
  // Calls work on these tensors from now on.
  absl::Status UseSet(uint32_t set);

  absl::StatusOr<device::DeviceAddress> Resolve(const sassay::v1::BufferPointer& pointer, uint64_t size_bytes) const;
  absl::StatusOr<std::string> Relocate(const sassay::v1::RelocatableBytes& bytes);
  absl::StatusOr<std::array<char, 128>> EncodedMap(uint32_t index);

  device::Device& device_;
  const sassay::worker::RunMode mode_;
  sassay::v1::LaunchPlan plan_;
  bool loaded_ = false;
  bool bound_ = false;
  bool set_up_ = false;
  // The device counts launch by launch: every launch is waited for.
  bool launch_by_launch_ = false;
  uint64_t seed_ = 0;
  std::vector<Place> places_;
  // The judge's objects that are mapped, by their position among all descriptors that have come, and how many had come
  // before the message that is being bound.
  std::map<uint32_t, device::DeviceAddress> objects_;
  size_t earlier_descriptors_ = 0;
  // TIMED: addresses of the tensors, by set and buffer; other buffers' are 0.
  std::vector<std::vector<device::DeviceAddress>> sets_;
  std::map<std::pair<uint32_t, device::DeviceAddress>, std::array<char, 128>> encoded_maps_;
};

// Adds what happened later to what happened before; the first cause stays.
void Append(device::Execution& earlier, device::Execution later);

}  // namespace sassay::runner

#endif  // SASSAY_PROFILER_SERVICE_RUNNER_REPLAY_H_
