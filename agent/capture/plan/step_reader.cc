#include "agent/capture/plan/step_reader.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/capture/runtime/memory.h"
#include "agent/capture/runtime/tensor_map.h"
#include "common/demangle/demangle.h"

namespace sassay::capture {
namespace {

namespace v1 = sassay::v1;

constexpr size_t kMaxSteps = 100'000, kMaxStreams = 256, kMaxSymbolBytes = 64 << 10, kMaxHostRanges = 64;

Refusal Malformed(absl::string_view what) {
  return {v1::VERDICT_CODE_LAUNCH_INVALID, absl::StrCat("the record of run() makes no sense: ", what), ""};
}

uint64_t Load64(const std::string& data, size_t at) {
  uint64_t value = 0;
  std::memcpy(&value, data.data() + at, sizeof value);
  return value;
}

bool SetDim3(const google::protobuf::RepeatedField<uint32_t>& from, v1::Dim3* to) {
  if (from.size() != 3) return false;
  to->set_x(from[0]);
  to->set_y(from[1]);
  to->set_z(from[2]);
  return true;
}

// In megabytes of constants some eight bytes look like a pointer by chance. A pointer that host code computed wrongly
// is aligned, in a small structure, and not far from its buffer.
bool IsProbablyData(const Place& outside, size_t at, size_t size) {
  const auto distance = static_cast<int64_t>(outside.offset_bytes);
  const int64_t reach = int64_t{1} << 28;
  const auto end = static_cast<int64_t>(outside.allocation->size_bytes);
  return at % 8 != 0 || size > 4096 || distance < -reach || distance > end + reach;
}

std::string FreedMemory(const Allocation& allocation) {
  return absl::StrCat("an allocation of ", allocation.size_bytes, " bytes that was freed",
                      allocation.freed_at.empty() ? "" : " at ", allocation.freed_at, " before");
}

const char* CallName(int call) {
  static constexpr const char* kNames[] = {"no", "first", "second", "third"};
  return kNames[call >= 0 && call <= 3 ? call : 0];
}

}  // namespace

StepReader::StepReader(const Record& untrusted_record, int calls, const v1::Workload& workload,
                       const SourceLines& lines, absl::Time deadline)
    : record_(untrusted_record),
      workload_(workload),
      lines_(lines),
      result_{std::vector<CallSteps>(static_cast<size_t>(calls)), {}, MemoryMap(calls == 1), {}, {}},
      orders_(static_cast<size_t>(calls)),
      deadline_(deadline) {
  for (const auto* tensors : {&workload.inputs(), &workload.outputs()}) {
    for (const v1::TensorSpec& tensor : *tensors) tensors_ += tensor.scalar() ? 0 : 1;
  }
}

OrRefusal<RecordedSteps> StepReader::Read() {
  size_t events = 0;
  for (const Event& event : record_.events()) {
    if (auto refusal = OnEvent(event)) return *std::move(refusal);
    if (auto refusal = CheckLimits(++events)) return *std::move(refusal);
  }
  return std::move(result_);
}

StepReader::OptionalRefusal StepReader::CheckLimits(size_t events) const {
  if (call_ > 0 && result_.calls[static_cast<size_t>(call_ - 1)].steps.size() > kMaxSteps) {
    return Refusal{v1::VERDICT_CODE_HOST_LIMIT,
                   absl::StrCat("run() asks for more than ", kMaxSteps, " launches, copies and allocations"), ""};
  }
  if (call_ > 0 && orders_[static_cast<size_t>(call_ - 1)].streams() > kMaxStreams) {
    return Refusal{v1::VERDICT_CODE_HOST_LIMIT, absl::StrCat("run() uses more than ", kMaxStreams, " streams"), ""};
  }
  if (events % 256 == 0 && absl::Now() > deadline_) return TookTooLong();
  return absl::nullopt;
}

StepReader::OptionalRefusal StepReader::OnEvent(const Event& event) {
  if (event.has_call_mark()) {
    if (event.call_mark().end()) return absl::nullopt;
    if (event.call_mark().call() != static_cast<uint32_t>(call_ + 1) ||
        event.call_mark().call() > result_.calls.size()) {
      return Malformed("its calls are out of order");
    }
    ++call_;
    launches_ = 0;
    tensor_addresses_.clear();
    return absl::nullopt;
  }
  if (call_ == 0) return absl::nullopt;
  Ordering& order = orders_[static_cast<size_t>(call_ - 1)];
  switch (event.what_case()) {
    case Event::kAllocate:
      return OnAllocate(event);
    case Event::kFree:
      return OnFree(event);
    case Event::kLaunch:
      return OnLaunch(event);
    case Event::kUpload:
      return OnUpload(event);
    case Event::kCopy:
      return OnCopy(event);
    case Event::kMemset:
      return OnMemset(event);
    case Event::kTensorMap:
      return OnTensorMap(event);
    case Event::kEventRecord:
      order.OnEventRecord(event.event_record());
      return absl::nullopt;
    case Event::kStreamWait:
      order.OnStreamWait(event.stream_wait());
      return absl::nullopt;
    case Event::kHostWait:
      order.OnHostWait(event.host_wait());
      return absl::nullopt;
    case Event::kHostRange:
      if (result_.host_ranges.size() < kMaxHostRanges)
        result_.host_ranges.emplace(event.host_range().begin(), event.host_range().end());
      return absl::nullopt;
    default:
      return absl::nullopt;
  }
}

v1::Step& StepReader::AddStep(const Event& event, uint64_t recorded_stream) {
  CallSteps& call = result_.calls[static_cast<size_t>(call_ - 1)];
  const auto index = static_cast<uint32_t>(call.steps.size());
  const Ordering::Position position = orders_[static_cast<size_t>(call_ - 1)].Next(index, recorded_stream);
  v1::Step& step = call.steps.emplace_back();
  step.set_stream(position.stream);
  for (uint32_t earlier : position.depends_on) step.add_depends_on(earlier);
  step.set_source_line(lines_.Of(event));
  return step;
}

StepReader::OptionalRefusal StepReader::OnAllocate(const Event& event) {
  const Allocate& allocate = event.allocate();
  const Allocation* allocation = result_.memory.Add(allocate, call_, lines_.Of(event));
  if (allocation == nullptr) return Malformed("an address was given out twice");
  const absl::optional<Place> place = result_.memory.Find(allocation->address, call_);
  result_.calls[static_cast<size_t>(call_ - 1)].pointers[{place->buffer, 0}] = allocation->address;
  if (allocation->origin == ORIGIN_TENSOR) return AddTensor(allocation->address);
  if (allocation->origin != ORIGIN_ALLOCATION) return absl::nullopt;
  AddStep(event, allocate.stream()).mutable_allocate()->set_buffer(place->buffer);
  return absl::nullopt;
}

StepReader::OptionalRefusal StepReader::OnFree(const Event& event) {
  const absl::optional<Place> place = result_.memory.Find(event.free().address(), call_);
  if (!place.has_value() || place->allocation->origin != ORIGIN_ALLOCATION)
    return Malformed("it frees what was not allocated");
  if (!result_.memory.Free(event.free().address(), lines_.Of(event))) return Malformed("it frees memory twice");
  // Freeing at the next call what this one leaves behind is how growing workspaces work; it orders nothing in this
  // call.
  if (place->allocation->call != call_) return absl::nullopt;
  AddStep(event, event.free().stream()).mutable_free()->set_buffer(place->buffer);
  return absl::nullopt;
}

StepReader::OptionalRefusal StepReader::OnLaunch(const Event& event) {
  const Launch& recorded = event.launch();
  ++launches_;
  if (recorded.kernel() != Printable(recorded.kernel(), kMaxSymbolBytes)) return Malformed("a kernel without a name");
  v1::KernelLaunch& launch = *AddStep(event, recorded.stream()).mutable_launch();
  launch.set_kernel(recorded.kernel());
  if (!SetDim3(recorded.grid(), launch.mutable_grid()) || !SetDim3(recorded.block(), launch.mutable_block()) ||
      (recorded.cluster_size() > 0 && !SetDim3(recorded.cluster(), launch.mutable_cluster()))) {
    return Malformed("a grid without three extents");
  }
  launch.set_dynamic_shared_bytes(recorded.dynamic_shared_bytes());
  launch.set_cooperative(recorded.cooperative());
  launch.set_programmatic_stream_serialization(recorded.programmatic_stream_serialization());
  launch.set_shared_carveout_percent_plus_one(recorded.shared_carveout_percent_plus_one());
  for (int i = 0; i < recorded.arguments_size(); ++i) {
    const std::string where = absl::StrCat("launch ", launches_, " (", ShortKernelName(recorded.kernel()), ")",
                                           lines_.At(event), ", parameter ", i + 1);
    if (auto refusal = Relocate(recorded.arguments(i), where, launch.add_arguments())) return refusal;
  }
  return absl::nullopt;
}

StepReader::OptionalRefusal StepReader::OnUpload(const Event& event) {
  v1::Upload& upload = *AddStep(event, event.upload().stream()).mutable_upload();
  const std::string where = Where(event, "the copy to the device");
  if (auto refusal = Point(event.upload().destination(), where, upload.mutable_destination())) return refusal;
  return Relocate(event.upload().data(), where, upload.mutable_bytes());
}

StepReader::OptionalRefusal StepReader::OnCopy(const Event& event) {
  const Copy& recorded = event.copy();
  v1::DeviceCopy& copy = *AddStep(event, recorded.stream()).mutable_copy();
  copy.set_width_bytes(recorded.width_bytes());
  copy.set_rows(recorded.rows());
  copy.set_destination_pitch_bytes(recorded.destination_pitch_bytes());
  copy.set_source_pitch_bytes(recorded.source_pitch_bytes());
  if (auto refusal = Point(recorded.destination(), Where(event, "the copy's destination"), copy.mutable_destination()))
    return refusal;
  return Point(recorded.source(), Where(event, "the copy's source"), copy.mutable_source());
}

StepReader::OptionalRefusal StepReader::OnMemset(const Event& event) {
  const Memset& recorded = event.memset();
  v1::DeviceMemset& fill = *AddStep(event, recorded.stream()).mutable_memset();
  fill.set_value(recorded.value());
  fill.set_element_bytes(recorded.element_bytes());
  fill.set_width_elements(recorded.width_elements());
  fill.set_rows(recorded.rows());
  fill.set_pitch_bytes(recorded.pitch_bytes());
  return Point(recorded.destination(), Where(event, "the memset"), fill.mutable_destination());
}

StepReader::OptionalRefusal StepReader::OnTensorMap(const Event& event) {
  encodings_.emplace(event.tensor_map().index(), &event.tensor_map());
  return absl::nullopt;
}

std::string StepReader::Where(const Event& event, const char* what) const {
  return absl::StrCat(what, lines_.At(event));
}

std::string StepReader::TensorName(uint32_t index) const {
  uint32_t seen = 0;
  for (const auto* tensors : {&workload_.inputs(), &workload_.outputs()}) {
    for (const v1::TensorSpec& tensor : *tensors) {
      if (!tensor.scalar() && seen++ == index) return tensor.name();
    }
  }
  return absl::StrCat("#", index);
}

StepReader::OptionalRefusal StepReader::CheckPlace(const Place& place, const std::string& where) const {
  const Allocation& allocation = *place.allocation;
  const bool tensor = allocation.origin == ORIGIN_TENSOR;
  if (place.stale) {
    const std::string what =
        tensor ? absl::StrCat("tensor ", TensorName(allocation.index))
               : absl::StrCat("allocation", allocation.source_line.empty() ? "" : " of " + allocation.source_line);
    return Refusal{v1::VERDICT_CODE_PTR_CACHED,
                   absl::StrCat(where, " still points at the ", CallName(allocation.call), " call's ", what, " in the ",
                                CallName(call_),
                                " call: host code keeps a pointer (a static?) where it must use the one it is given"),
                   ""};
  }
  if (allocation.freed) {
    return Refusal{v1::VERDICT_CODE_POINTER_OUT_OF_BUFFER,
                   absl::StrCat(where, " points into ", FreedMemory(allocation)), ""};
  }
  if (!place.outside) return absl::nullopt;
  const auto distance = static_cast<int64_t>(place.offset_bytes);
  const std::string beyond = distance < 0
                                 ? absl::StrCat(-distance, " bytes before the start of ")
                                 : absl::StrCat(place.offset_bytes - allocation.size_bytes, " bytes past the end of ");
  return Refusal{
      v1::VERDICT_CODE_POINTER_OUT_OF_BUFFER,
      absl::StrCat(where, " points ", beyond,
                   tensor ? absl::StrCat("tensor ", TensorName(allocation.index)) : std::string("an allocation"),
                   " of ", allocation.size_bytes, " bytes"),
      ""};
}

StepReader::OptionalRefusal StepReader::Point(uint64_t address, const std::string& where, v1::BufferPointer* out) {
  const absl::optional<Place> place = result_.memory.Find(address, call_);
  if (!place.has_value()) {
    return Refusal{v1::VERDICT_CODE_POINTER_OUT_OF_BUFFER, absl::StrCat(where, " is not inside any device buffer"), ""};
  }
  if (auto refusal = CheckPlace(*place, where)) return refusal;
  out->set_buffer(place->buffer);
  out->set_offset_bytes(place->offset_bytes);
  result_.calls[static_cast<size_t>(call_ - 1)].pointers[{place->buffer, place->offset_bytes}] = address;
  return absl::nullopt;
}

StepReader::OptionalRefusal StepReader::RelocatePointer(uint64_t value, size_t at, const std::string& where,
                                                        size_t size, v1::RelocatableBytes* out, bool* found) {
  const absl::optional<Place> place = result_.memory.Find(value, call_);
  *found = place.has_value() && !(place->outside && IsProbablyData(*place, at, size));
  if (!*found) return absl::nullopt;
  if (place->allocation->freed && !place->stale && size > sizeof value) {
    result_.warnings.insert(absl::StrCat(where, " holds (at byte ", at, ") the address of ",
                                         FreedMemory(*place->allocation), "; it is passed as a null pointer"));
    return absl::nullopt;
  }
  v1::Relocation& relocation = *out->add_relocations();
  relocation.set_at_bytes(at);
  return Point(value, where, relocation.mutable_pointer());
}

StepReader::OptionalRefusal StepReader::Relocate(const std::string& data, const std::string& where,
                                                 v1::RelocatableBytes* out) {
  std::string literal = data;
  for (size_t at = 0; at + sizeof(uint64_t) <= data.size();) {
    size_t taken = 0;
    if (data.compare(at, sizeof kTensorMapMagic, reinterpret_cast<const char*>(kTensorMapMagic),
                     sizeof kTensorMapMagic) == 0 &&
        at + kTensorMapBytes <= data.size()) {
      v1::Relocation& relocation = *out->add_relocations();
      relocation.set_at_bytes(at);
      uint32_t number = 0;
      if (auto refusal = UseTensorMap(Load64(data, at + offsetof(TensorMapToken, index)), where, &number))
        return refusal;
      relocation.set_tensor_map(number);
      taken = kTensorMapBytes;
    } else if (const uint64_t value = Load64(data, at); IsDevicePointer(value)) {
      bool found = false;
      if (auto refusal = RelocatePointer(value, at, where, data.size(), out, &found)) return refusal;
      if (found) taken = sizeof value;
    }
    std::memset(literal.data() + at, 0, taken);
    at += taken == 0 ? 1 : taken;
  }
  if (auto refusal = CheckDistances(literal, where)) return refusal;
  out->set_data(std::move(literal));
  return absl::nullopt;
}

StepReader::OptionalRefusal StepReader::AddTensor(uint64_t address) {
  if (tensor_addresses_.size() == tensors_) return Malformed("more tensors than the workload has");
  for (uint64_t other : tensor_addresses_) {
    distances_.insert(other - address);
    distances_.insert(address - other);
  }
  tensor_addresses_.push_back(address);
  return absl::nullopt;
}

// A distance between two tensors is not a pointer, and cannot be relocated: kept from an earlier call it would be the
// same in all later ones and slip through the comparison.
StepReader::OptionalRefusal StepReader::CheckDistances(const std::string& data, const std::string& where) const {
  if (data.size() > 4096) return absl::nullopt;
  for (size_t at = 0; at + sizeof(uint64_t) <= data.size(); at += sizeof(uint64_t)) {
    if (distances_.count(Load64(data, at)) == 0) continue;
    return Refusal{
        v1::VERDICT_CODE_PTR_CACHED,
        absl::StrCat(
            where,
            " holds the distance between two tensors' addresses: tensors move between calls; pass both pointers"),
        ""};
  }
  return absl::nullopt;
}

StepReader::OptionalRefusal StepReader::UseTensorMap(uint64_t index, const std::string& where, uint32_t* number) {
  const auto found = index < (uint64_t{1} << 32) ? encodings_.find(static_cast<uint32_t>(index)) : encodings_.end();
  if (found == encodings_.end()) return Malformed("a tensor map that was never encoded");
  const TensorMap& recorded = *found->second;
  v1::TensorMap map;
  if (auto refusal = Point(recorded.base(), absl::StrCat(where, ": its tensor map"), map.mutable_base()))
    return refusal;
  map.set_data_type(recorded.data_type());
  *map.mutable_global_dim() = recorded.global_dim();
  *map.mutable_global_stride_bytes() = recorded.global_stride_bytes();
  *map.mutable_box_dim() = recorded.box_dim();
  *map.mutable_element_stride() = recorded.element_stride();
  map.set_interleave(recorded.interleave());
  map.set_swizzle(recorded.swizzle());
  map.set_l2_promotion(recorded.l2_promotion());
  map.set_oob_fill(recorded.oob_fill());
  const auto [position, added] =
      map_numbers_.emplace(map.SerializeAsString(), static_cast<uint32_t>(result_.tensor_maps.size()));
  if (added) result_.tensor_maps.push_back(std::move(map));
  *number = position->second;
  return absl::nullopt;
}

}  // namespace sassay::capture
