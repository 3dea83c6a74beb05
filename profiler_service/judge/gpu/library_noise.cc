#include "profiler_service/judge/gpu/library_noise.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/workload/definition.h"
#include "profiler_service/judge/gpu/compare.h"

namespace sassay::judge::gpu {
namespace {

// Names and a few numbers each.
constexpr size_t kKeptMeasurements = 10'000;

// Asking again would end the same.
bool Stays(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsUnimplemented(status) || absl::IsInvalidArgument(status);
}

LibraryNoise::Measured Unavailable(absl::string_view why) {
  LibraryNoise::Measured measured;
  measured.unavailable = std::string(why);
  return measured;
}

// What a library's failure means; for memory the caller can make room.
absl::StatusOr<LibraryNoise::Measured> Failed(const absl::Status& status) {
  if (absl::IsResourceExhausted(status)) return status;
  LibraryNoise::Measured measured = Unavailable(status.message());
  measured.may_end_otherwise = !Stays(status);
  return measured;
}

}  // namespace

absl::StatusOr<Baseline*> LibraryNoise::LibraryOf(Kernels& kernels, const sassay::v1::Workload& workload) {
  const std::string key = absl::StrCat(workload.definition_sha256(), "/", workload.name());
  const auto found =
      std::find_if(libraries_.begin(), libraries_.end(), [&](const Library& library) { return library.key == key; });
  if (found != libraries_.end()) {
    libraries_.splice(libraries_.begin(), libraries_, found);
  } else {
    absl::StatusOr<std::unique_ptr<Baseline>> call = make_(workload, kernels.device());
    if (!call.ok() && !Stays(call.status())) return call.status();
    libraries_.push_front({key, std::move(call)});
    if (libraries_.size() > kKeptLibraries) libraries_.pop_back();
  }
  RETURN_IF_ERROR(libraries_.front().call.status());
  return libraries_.front().call->get();
}

absl::StatusOr<LibraryNoise::Measured> LibraryNoise::Measure(Kernels& kernels, const sassay::v1::Workload& workload,
                                                             const std::string& key,
                                                             absl::Span<const device::DeviceAddress> inputs,
                                                             const std::vector<ExpectedOutput>& expected) {
  if (!make_ || workload.baseline().empty()) return Measured();
  if (const auto known = measured_.find(key); known != measured_.end()) return known->second;
  ASSIGN_OR_RETURN(Measured measured, Run(kernels, workload, inputs, expected));
  if (measured.may_end_otherwise) return measured;
  if (measured_.size() >= kKeptMeasurements) measured_.clear();
  return measured_[key] = std::move(measured);
}

absl::StatusOr<LibraryNoise::Measured> LibraryNoise::Run(Kernels& kernels, const sassay::v1::Workload& workload,
                                                         absl::Span<const device::DeviceAddress> inputs,
                                                         const std::vector<ExpectedOutput>& expected) {
  const absl::StatusOr<Baseline*> library = LibraryOf(kernels, workload);
  if (!library.ok()) return Failed(library.status());
  std::vector<DeviceMemory> memory;
  std::vector<device::DeviceAddress> outputs;
  for (const sassay::v1::TensorSpec& output : workload.outputs()) {
    ASSIGN_OR_RETURN(DeviceMemory room, kernels.Allocate(TensorBytes(output), "the library's output"));
    outputs.push_back(room.address());
    memory.push_back(std::move(room));
  }
  Baseline& call = **library;
  const absl::Status enqueued = call.Enqueue(inputs, outputs, kernels.device().stream());
  RETURN_IF_ERROR(kernels.Finish());
  if (!enqueued.ok()) return Failed(enqueued);
  Measured measured;
  measured.library = absl::StrCat(call.facts().library, " ", call.facts().version);
  for (int i = 0; i < workload.outputs_size(); ++i) {
    ASSIGN_OR_RETURN(const double ratio, NoiseRatio(kernels, workload.outputs(i), expected[i], outputs[i]));
    if (!std::isfinite(ratio)) {
      return Unavailable(absl::StrCat(measured.library, " gives what is no number in ", workload.outputs(i).name()));
    }
    measured.ratios.push_back(ratio);
  }
  return measured;
}

}  // namespace sassay::judge::gpu
