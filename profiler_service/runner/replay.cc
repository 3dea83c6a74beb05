#include "profiler_service/runner/replay.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"

namespace sassay::runner {
namespace {

using device::DeviceAddress;
using device::Execution;

// A driver's launch queue holds about a thousand launches and blocks when it is full, which a deadline cannot
// interrupt.
constexpr uint64_t kOperationsBetweenWaits = 512;
constexpr uint64_t kMaxCallsBetweenWaits = 64;

bool IsOk(const Execution& execution) { return execution.outcome == worker::RUN_OUTCOME_OK; }

bool IsTensor(v1::BufferKind kind) { return kind == v1::BUFFER_KIND_INPUT || kind == v1::BUFFER_KIND_OUTPUT; }

// Each buffer gets a pattern of its own, so that one allocation's poison is no other's.
uint64_t SeedFor(uint64_t seed, uint32_t buffer) { return seed ^ (0xD1B54A32D192ED03 * (uint64_t{buffer} + 1)); }

absl::Status RefuseOverflow(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the plan's ", what, " does not fit in 64 bits"));
}

// What the plan has no say in cannot be refused because of it.
absl::Status Ours(const absl::Status& status) {
  return absl::IsInvalidArgument(status) ? absl::InternalError(status.message()) : status;
}

// Bytes from the first row's start to the last row's end.
absl::StatusOr<uint64_t> Extent(uint64_t width_bytes, uint64_t rows, uint64_t pitch_bytes) {
  if (rows <= 1) return rows == 0 ? 0 : width_bytes;
  uint64_t extent = 0;
  if (__builtin_mul_overflow(rows - 1, pitch_bytes, &extent) || __builtin_add_overflow(extent, width_bytes, &extent)) {
    return RefuseOverflow("row pitch times rows");
  }
  return extent;
}

// What a step puts into the driver's queue; rows are transfers of their own.
uint64_t Operations(const v1::Step& step) {
  if (step.has_copy()) return std::max<uint64_t>(step.copy().rows(), 1);
  if (step.has_memset()) return std::max<uint64_t>(step.memset().rows(), 1);
  return step.has_launch() || step.has_upload() ? 1 : 0;
}

// What one call puts into the driver's queue, at most kOperationsBetweenWaits for each step.
uint64_t OperationsOfACall(const v1::LaunchPlan& plan) {
  uint64_t operations = 0;
  for (const v1::Step& step : plan.steady()) {
    operations += std::min<uint64_t>(Operations(step), kOperationsBetweenWaits);
  }
  return operations;
}

// Calls that may be in the driver's queue together.
int CallsBetweenWaits(const v1::LaunchPlan& plan) {
  const uint64_t fit = kOperationsBetweenWaits / std::max<uint64_t>(OperationsOfACall(plan), 1);
  return static_cast<int>(std::clamp<uint64_t>(fit, 1, kMaxCallsBetweenWaits));
}

}  // namespace

void Append(Execution& earlier, Execution later) {
  std::move(later.findings.begin(), later.findings.end(), std::back_inserter(earlier.findings));
  std::move(later.warps.begin(), later.warps.end(), std::back_inserter(earlier.warps));
  earlier.device_output += later.device_output;
  earlier.device_ns += later.device_ns;
  if (!IsOk(earlier)) return;
  earlier.outcome = later.outcome;
  earlier.code = later.code;
  earlier.message = std::move(later.message);
}

std::string Replay::Label(uint32_t index) const {
  if (!buffer(index).name().empty()) return buffer(index).name();
  uint32_t ordinal = 0;
  for (uint32_t i = 0; i < index; ++i) ordinal += buffer(i).name().empty();
  return absl::StrCat("workspace ", ordinal);
}

absl::Status Replay::Load(const v1::Bundle& bundle) {
  if (loaded_) return absl::FailedPreconditionError("a runner runs one candidate; this one has one already");
  if (bundle.plans_size() != 1) {
    return absl::InternalError(absl::StrCat("expected a bundle with one plan, got ", bundle.plans_size()));
  }
  RETURN_IF_ERROR(device_.LoadModule(bundle));
  plan_ = bundle.plans(0);
  places_.resize(static_cast<size_t>(plan_.buffers_size()));
  NoteAnnouncements(plan_.setup());
  NoteAnnouncements(plan_.steady());
  loaded_ = true;
  return absl::OkStatus();
}

absl::Status Replay::Bind(absl::Span<const worker::SharedRegion> regions, absl::Span<const UniqueFd> descriptors,
                          uint32_t set) {
  return Ours(BindRegions(regions, descriptors, set));
}

absl::Status Replay::BindRegions(absl::Span<const worker::SharedRegion> regions, absl::Span<const UniqueFd> descriptors,
                                 uint32_t set) {
  if (!loaded_) return absl::FailedPreconditionError("buffers came before the candidate");
  if (set != sets_.size() || (set > 0 && mode_ != worker::RUN_MODE_TIMED)) {
    return absl::InternalError(absl::StrCat("tensors of set ", set, " came after ", sets_.size(), " others"));
  }
  for (uint32_t i = 0; i < places_.size(); ++i) {
    if (set > 0 && IsTensor(buffer(i).kind())) places_[i].alive = false;
  }
  for (const auto& region : regions) {
    ASSIGN_OR_RETURN(const DeviceAddress object, Object(region, descriptors));
    RETURN_IF_ERROR(BindRegion(region, object));
  }
  earlier_descriptors_ += descriptors.size();
  for (uint32_t i = 0; i < places_.size(); ++i) {
    if (IsTensor(buffer(i).kind()) && !places_[i].alive) {
      return absl::InternalError(absl::StrCat("no memory was handed over for tensor ", Label(i)));
    }
  }
  sets_.emplace_back(places_.size());
  for (uint32_t i = 0; i < places_.size(); ++i) {
    if (IsTensor(buffer(i).kind())) sets_.back()[i] = places_[i].address;
  }
  bound_ = true;
  return UseSet(0);
}

absl::StatusOr<DeviceAddress> Replay::Object(const worker::SharedRegion& region,
                                             absl::Span<const UniqueFd> descriptors) {
  const auto known = objects_.find(region.memory());
  if (known != objects_.end()) return known->second;
  const size_t come = earlier_descriptors_ + descriptors.size();
  if (region.memory() < earlier_descriptors_ || region.memory() >= come) {
    return absl::InternalError(absl::StrCat("a region names descriptor ", region.memory(), " of ", come));
  }
  const UniqueFd& descriptor = descriptors[region.memory() - earlier_descriptors_];
  ASSIGN_OR_RETURN(const DeviceAddress object, device_.MapShared(descriptor.get(), region.object_bytes()));
  objects_.emplace(region.memory(), object);
  return object;
}

absl::Status Replay::UseSet(uint32_t set) {
  if (set >= sets_.size()) {
    return absl::InternalError(absl::StrCat("a call was asked for on set ", set, " of ", sets_.size()));
  }
  for (uint32_t i = 0; i < places_.size(); ++i) {
    if (IsTensor(buffer(i).kind())) places_[i].address = sets_[set][i];
  }
  return absl::OkStatus();
}

absl::Status Replay::BindRegion(const worker::SharedRegion& region, DeviceAddress object) {
  if (region.buffer() >= places_.size() || !IsTensor(buffer(region.buffer()).kind())) {
    return absl::InternalError(absl::StrCat("buffer ", region.buffer(), " of the plan is no tensor"));
  }
  const uint64_t size = buffer(region.buffer()).size_bytes();
  if (region.size_bytes() != size || region.offset_bytes() > region.object_bytes() ||
      size > region.object_bytes() - region.offset_bytes()) {
    return absl::InternalError(absl::StrCat("tensor ", Label(region.buffer()), " has ", size, " bytes, the region ",
                                            region.size_bytes(), " at ", region.offset_bytes(), " of ",
                                            region.object_bytes()));
  }
  Place& place = places_[region.buffer()];
  place.judge_address = object + region.offset_bytes();
  if (exact()) {
    RETURN_IF_ERROR(Revive(region.buffer()));
    const bool input = buffer(region.buffer()).kind() == v1::BUFFER_KIND_INPUT;
    return input ? device_.MarkInput(place.address) : absl::OkStatus();
  }
  place.address = place.judge_address;
  place.alive = true;
  return absl::OkStatus();
}

absl::Status Replay::FindSymbols() {
  return ForEach(v1::BUFFER_KIND_SYMBOL, [this](uint32_t i) -> absl::Status {
    absl::StatusOr<device::SymbolRegion> symbol = device_.Symbol(buffer(i).name());
    if (absl::IsNotFound(symbol.status())) {
      return absl::InvalidArgumentError(absl::StrCat("the module has no variable ", buffer(i).name()));
    }
    RETURN_IF_ERROR(symbol.status());
    if (symbol->size_bytes < buffer(i).size_bytes()) {
      return absl::InvalidArgumentError(absl::StrCat("variable ", buffer(i).name(), " has ", symbol->size_bytes,
                                                     " bytes, the plan says ", buffer(i).size_bytes()));
    }
    places_[i].address = symbol->address;
    places_[i].alive = true;
    return absl::OkStatus();
  });
}

void Replay::NoteAnnouncements(const Steps& steps) {
  for (const v1::Step& step : steps) {
    if (step.has_allocate() && step.allocate().buffer() < places_.size()) {
      places_[step.allocate().buffer()].announced = true;
    }
  }
}

absl::Status Replay::ForEach(v1::BufferKind kind, absl::FunctionRef<absl::Status(uint32_t)> action) {
  for (uint32_t i = 0; i < places_.size(); ++i) {
    if (buffer(i).kind() == kind) RETURN_IF_ERROR(action(i));
  }
  return absl::OkStatus();
}

absl::Status Replay::Revive(uint32_t index) {
  Place& place = places_[index];
  if (place.alive) return absl::OkStatus();
  ASSIGN_OR_RETURN(place.address, device_.Allocate(buffer(index).size_bytes(), Label(index)));
  place.alive = true;
  return absl::OkStatus();
}

// The address stays: host code that goes on using it shall be seen doing so.
absl::Status Replay::Bury(uint32_t index) {
  Place& place = places_[index];
  if (!place.alive) return absl::OkStatus();
  place.alive = false;
  return device_.Free(place.address);
}

absl::Status Replay::PoisonBuffer(uint32_t index) {
  return device_.Poison(places_[index].address, buffer(index).size_bytes(), SeedFor(seed_, index));
}

absl::Status Replay::Prepare(v1::BufferKind allocations) { return Ours(PrepareMemory(allocations)); }

absl::Status Replay::PrepareMemory(v1::BufferKind allocations) {
  if (!exact()) {
    // No timed call finds the answer of the one before it.
    if (mode_ == worker::RUN_MODE_TIMED) {
      ++seed_;
      RETURN_IF_ERROR(ForEach(v1::BUFFER_KIND_OUTPUT, [this](uint32_t i) { return PoisonBuffer(i); }));
    }
    return ForEach(allocations, [this](uint32_t i) -> absl::Status {
      RETURN_IF_ERROR(Revive(i));
      return PoisonBuffer(i);
    });
  }
  RETURN_IF_ERROR(ForEach(v1::BUFFER_KIND_INPUT, [this](uint32_t i) {
    return device_.Copy(places_[i].address, places_[i].judge_address, buffer(i).size_bytes());
  }));
  RETURN_IF_ERROR(ForEach(v1::BUFFER_KIND_OUTPUT, [this](uint32_t i) { return PoisonBuffer(i); }));
  return ForEach(allocations, [this](uint32_t i) -> absl::Status {
    // What a call leaked is gone when the next one begins.
    if (places_[i].announced) return Bury(i);
    RETURN_IF_ERROR(Revive(i));
    return PoisonBuffer(i);
  });
}

absl::Status Replay::CopyOutputsToJudge() {
  if (!exact()) return absl::OkStatus();
  return ForEach(v1::BUFFER_KIND_OUTPUT, [this](uint32_t i) {
    return device_.Copy(places_[i].judge_address, places_[i].address, buffer(i).size_bytes());
  });
}

absl::StatusOr<Execution> Replay::Setup(uint64_t poison_seed, absl::Time deadline) {
  if (!bound_) return absl::FailedPreconditionError("setup was asked for before buffers were handed over");
  seed_ = poison_seed;
  RETURN_IF_ERROR(FindSymbols());
  RETURN_IF_ERROR(Prepare(v1::BUFFER_KIND_SETUP_ALLOCATION));
  // The first call is a call, too: setup may use what a call owns.
  RETURN_IF_ERROR(Prepare(v1::BUFFER_KIND_CALL_ALLOCATION));
  set_up_ = true;
  return RunAndWait(plan_.setup(), deadline);
}

absl::StatusOr<Execution> Replay::Steady(uint64_t poison_seed, absl::Time deadline, absl::optional<uint32_t> left_out) {
  if (!set_up_) return absl::FailedPreconditionError("a call was asked for before setup");
  seed_ = poison_seed;
  RETURN_IF_ERROR(Prepare(v1::BUFFER_KIND_CALL_ALLOCATION));
  if (mode_ == worker::RUN_MODE_COUNTED) {
    ASSIGN_OR_RETURN(launch_by_launch_, device_.CountLaunches());
  }
  ASSIGN_OR_RETURN(Execution execution,
                   left_out.has_value() ? RunWithout(*left_out, deadline) : RunAndWait(plan_.steady(), deadline));
  if (IsOk(execution)) RETURN_IF_ERROR(Ours(CopyOutputsToJudge()));
  return execution;
}

absl::StatusOr<Execution> Replay::RunWithout(uint32_t launch, absl::Time deadline) {
  Steps steps;
  uint32_t launches = 0;
  for (const v1::Step& step : plan_.steady()) {
    if (!step.has_launch() || launches++ != launch) *steps.Add() = step;
  }
  if (steps.size() < plan_.steady_size()) return RunAndWait(steps, deadline);
  return absl::FailedPreconditionError(
      absl::StrCat("launch ", launch, " was to be left out of a call of ", launches, " launches"));
}

absl::StatusOr<Execution> Replay::RunAndWait(const Steps& steps, absl::Time deadline) {
  ASSIGN_OR_RETURN(Execution execution, Run(steps, deadline));
  if (!IsOk(execution)) return execution;
  ASSIGN_OR_RETURN(Execution last, device_.Synchronize(deadline));
  Append(execution, std::move(last));
  return execution;
}

absl::StatusOr<Execution> Replay::Run(const Steps& steps, absl::Time deadline) {
  Execution execution;
  uint64_t queued = 0;
  for (const v1::Step& step : steps) {
    // Freeing waits for the device, without a deadline of its own.
    const bool full = queued > 0 && queued + Operations(step) > kOperationsBetweenWaits;
    if (full || (exact() && step.has_free()) || (launch_by_launch_ && queued > 0 && step.has_launch())) {
      queued = 0;
      ASSIGN_OR_RETURN(Execution so_far, device_.Synchronize(deadline));
      Append(execution, std::move(so_far));
      if (!IsOk(execution)) return execution;
    }
    queued += Operations(step);
    if (absl::Status status = Perform(step); !status.ok()) {
      if (step.source_line().empty()) return FaultBehind(status, deadline);
      return FaultBehind(absl::Status(status.code(), absl::StrCat(status.message(), " (", step.source_line(), ")")),
                         deadline);
    }
  }
  return execution;
}

// After a kernel's fault every call fails, whoever's it is. A refusal has said its own cause already.
absl::StatusOr<Execution> Replay::FaultBehind(const absl::Status& status, absl::Time deadline) {
  if (absl::IsInvalidArgument(status) || absl::IsUnimplemented(status)) return status;
  absl::StatusOr<Execution> ended = device_.Synchronize(deadline);
  if (ended.ok() && !IsOk(*ended)) return ended;
  return status;
}

absl::Status Replay::Perform(const v1::Step& step) {
  switch (step.action_case()) {
    case v1::Step::kLaunch:
      return PerformLaunch(step.launch());
    case v1::Step::kUpload: {
      ASSIGN_OR_RETURN(const std::string bytes, Relocate(step.upload().bytes()));
      ASSIGN_OR_RETURN(const DeviceAddress to, Resolve(step.upload().destination(), bytes.size()));
      return device_.Write(to, bytes);
    }
    case v1::Step::kCopy:
      return PerformCopy(step.copy());
    case v1::Step::kMemset:
      return PerformMemset(step.memset());
    case v1::Step::kAllocate:
    case v1::Step::kFree: {
      const uint32_t index = step.has_free() ? step.free().buffer() : step.allocate().buffer();
      if (index >= places_.size() || IsTensor(buffer(index).kind()) || buffer(index).kind() == v1::BUFFER_KIND_SYMBOL) {
        return absl::InvalidArgumentError(absl::StrCat("buffer ", index, " is not an allocation of the plan"));
      }
      if (!exact()) return absl::OkStatus();
      if (step.has_free()) return Bury(index);
      RETURN_IF_ERROR(Revive(index));
      return PoisonBuffer(index);
    }
    case v1::Step::ACTION_NOT_SET:
      return absl::InvalidArgumentError("a step of the plan asks for nothing");
  }
  return absl::InvalidArgumentError("a step of the plan asks for something unknown");
}

absl::Status Replay::PerformLaunch(const v1::KernelLaunch& launch) {
  device::Launch ready;
  ready.kernel = launch.kernel();
  ready.grid = launch.grid();
  ready.block = launch.block();
  ready.cluster = launch.cluster();
  ready.dynamic_shared_bytes = launch.dynamic_shared_bytes();
  ready.cooperative = launch.cooperative();
  ready.programmatic_stream_serialization = launch.programmatic_stream_serialization();
  ready.shared_carveout_percent = static_cast<int>(launch.shared_carveout_percent_plus_one()) - 1;
  for (const auto& argument : launch.arguments()) {
    ASSIGN_OR_RETURN(std::string bytes, Relocate(argument));
    ready.arguments.push_back(std::move(bytes));
  }
  return device_.Enqueue(ready);
}

absl::Status Replay::PerformCopy(const v1::DeviceCopy& copy) {
  const uint64_t rows = std::max<uint64_t>(copy.rows(), 1);
  ASSIGN_OR_RETURN(const uint64_t to_bytes, Extent(copy.width_bytes(), rows, copy.destination_pitch_bytes()));
  ASSIGN_OR_RETURN(const uint64_t from_bytes, Extent(copy.width_bytes(), rows, copy.source_pitch_bytes()));
  ASSIGN_OR_RETURN(const DeviceAddress to, Resolve(copy.destination(), to_bytes));
  ASSIGN_OR_RETURN(const DeviceAddress from, Resolve(copy.source(), from_bytes));
  for (uint64_t row = 0; row < rows; ++row) {
    RETURN_IF_ERROR(device_.Copy(to + row * copy.destination_pitch_bytes(), from + row * copy.source_pitch_bytes(),
                                 copy.width_bytes()));
  }
  return absl::OkStatus();
}

absl::Status Replay::PerformMemset(const v1::DeviceMemset& memset) {
  const uint64_t rows = std::max<uint64_t>(memset.rows(), 1);
  uint64_t width_bytes = 0;
  if (__builtin_mul_overflow(memset.width_elements(), uint64_t{memset.element_bytes()}, &width_bytes)) {
    return RefuseOverflow("memset width");
  }
  ASSIGN_OR_RETURN(const uint64_t bytes, Extent(width_bytes, rows, memset.pitch_bytes()));
  ASSIGN_OR_RETURN(const DeviceAddress to, Resolve(memset.destination(), bytes));
  for (uint64_t row = 0; row < rows; ++row) {
    RETURN_IF_ERROR(
        device_.Fill(to + row * memset.pitch_bytes(), memset.value(), memset.element_bytes(), memset.width_elements()));
  }
  return absl::OkStatus();
}

absl::StatusOr<DeviceAddress> Replay::Resolve(const v1::BufferPointer& pointer, uint64_t size_bytes) const {
  if (pointer.buffer() >= places_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the plan names buffer ", pointer.buffer(), " of ", places_.size()));
  }
  const uint64_t size = buffer(pointer.buffer()).size_bytes();
  if (pointer.offset_bytes() > size || size_bytes > size - pointer.offset_bytes()) {
    return absl::InvalidArgumentError(absl::StrCat(size_bytes, " bytes at offset ", pointer.offset_bytes(), " leave ",
                                                   Label(pointer.buffer()), ", which has ", size));
  }
  const Place& place = places_[pointer.buffer()];
  if (place.address == 0) {
    return absl::InvalidArgumentError(absl::StrCat(Label(pointer.buffer()), " is used before it was allocated"));
  }
  return place.address + pointer.offset_bytes();
}

absl::StatusOr<std::string> Replay::Relocate(const v1::RelocatableBytes& bytes) {
  std::string result = bytes.data();
  for (const v1::Relocation& relocation : bytes.relocations()) {
    std::string patch;
    if (relocation.has_pointer()) {
      ASSIGN_OR_RETURN(const DeviceAddress address, Resolve(relocation.pointer(), 0));
      patch.assign(reinterpret_cast<const char*>(&address), sizeof(address));
    } else if (relocation.target_case() == v1::Relocation::kTensorMap) {
      ASSIGN_OR_RETURN(const auto map, EncodedMap(relocation.tensor_map()));
      patch.assign(map.data(), map.size());
    }
    if (patch.empty() || relocation.at_bytes() > result.size() ||
        patch.size() > result.size() - relocation.at_bytes()) {
      return absl::InvalidArgumentError(absl::StrCat("a relocation at byte ", relocation.at_bytes(), " of ",
                                                     result.size(), " has no target or no room"));
    }
    result.replace(relocation.at_bytes(), patch.size(), patch);
  }
  return result;
}

absl::StatusOr<std::array<char, 128>> Replay::EncodedMap(uint32_t index) {
  if (index >= static_cast<uint32_t>(plan_.tensor_maps_size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan names tensor map ", index, " of ", plan_.tensor_maps_size()));
  }
  const v1::TensorMap& map = plan_.tensor_maps(static_cast<int>(index));
  ASSIGN_OR_RETURN(const DeviceAddress base, Resolve(map.base(), 0));
  const auto known = encoded_maps_.find({index, base});
  if (known != encoded_maps_.end()) return known->second;
  ASSIGN_OR_RETURN(const auto encoded, device_.EncodeTensorMap(map, base));
  encoded_maps_[{index, base}] = encoded;
  return encoded;
}

std::vector<worker::Placement> Replay::Placements() const {
  std::vector<worker::Placement> placements;
  for (uint32_t i = 0; i < places_.size(); ++i) {
    if (places_[i].address == 0) continue;
    worker::Placement placement;
    placement.set_buffer(Label(i));
    placement.set_address(places_[i].address);
    placement.set_size_bytes(buffer(i).size_bytes());
    placements.push_back(std::move(placement));
  }
  return placements;
}

bool Replay::held_while_timed() const { return OperationsOfACall(plan_) <= kOperationsBetweenWaits / 2; }

absl::StatusOr<device::Stretch> Replay::WarmUp(const device::StretchLength& length, absl::Time deadline) {
  if (!set_up_) return absl::FailedPreconditionError("a warm-up was asked for before setup");
  RETURN_IF_ERROR(UseSet(0));
  RETURN_IF_ERROR(Prepare(v1::BUFFER_KIND_CALL_ALLOCATION));
  device::StretchLength fitting = length;
  fitting.batch = CallsBetweenWaits(plan_);
  absl::StatusOr<device::Stretch> stretch =
      device::RunStretch(device_, fitting, deadline, [&](int) { return Run(plan_.steady(), deadline); });
  if (stretch.ok()) return stretch;
  device::Stretch faulty;
  ASSIGN_OR_RETURN(faulty.execution, FaultBehind(stretch.status(), deadline));
  return faulty;
}

absl::StatusOr<device::SampledBlock> Replay::Time(uint64_t poison_seed, absl::Span<const uint32_t> sets,
                                                  absl::Time deadline) {
  if (!set_up_) return absl::FailedPreconditionError("a timed call was asked for before setup");
  seed_ = poison_seed;
  const auto prepare = [&](int call) -> absl::StatusOr<Execution> {
    RETURN_IF_ERROR(UseSet(sets[static_cast<size_t>(call)]));
    RETURN_IF_ERROR(Prepare(v1::BUFFER_KIND_CALL_ALLOCATION));
    return Execution();
  };
  absl::StatusOr<device::SampledBlock> block =
      device::SampleBlock(device_, static_cast<int>(sets.size()), held_while_timed(), deadline, prepare,
                          [&](int) { return Run(plan_.steady(), deadline); });
  if (block.ok()) return block;
  device::SampledBlock faulty;
  ASSIGN_OR_RETURN(faulty.execution, FaultBehind(block.status(), deadline));
  return faulty;
}

}  // namespace sassay::runner
