#include "profiler_service/judge/gpu/bytes.h"

#include "common/base/status_macros.h"
#include "common/workload/definition.h"
#include "profiler_service/judge/numerics/element.h"

namespace sassay::judge::gpu {
namespace {

constexpr ByteDifference kNone{0, UINT64_MAX, 0};

absl::Status Clear(Kernels& kernels) {
  return kernels.device().Write(kernels.scratch(),
                                absl::MakeConstSpan(reinterpret_cast<const char*>(&kNone), sizeof(kNone)));
}

absl::StatusOr<ByteDifference> Result(Kernels& kernels) {
  ByteDifference difference{};
  RETURN_IF_ERROR(kernels.Fetch(&difference, sizeof(difference), kernels.scratch()));
  return difference;
}

}  // namespace

absl::Status GenerateTensor(Kernels& kernels, const sassay::v1::TensorSpec& spec, uint64_t seed, uint32_t tensor,
                            Distribution distribution, const IntegerRange& range, device::DeviceAddress destination) {
  const Recipe recipe = RecipeOf(spec, tensor, distribution, range);
  GenerateArguments arguments{};
  ASSIGN_OR_RETURN(arguments.element, ElementOf(spec.dtype()));
  arguments.destination = destination;
  arguments.count = ElementCount(spec);
  arguments.seed = seed;
  arguments.normal_table = kernels.normal_table();
  arguments.columns = recipe.columns;
  arguments.minimum = recipe.minimum;
  arguments.extent = recipe.extent;
  arguments.stream = recipe.stream;
  arguments.distribution = static_cast<uint32_t>(recipe.distribution);
  arguments.floating = IsFloating(spec.dtype());
  return kernels.Walk("sassay_generate", (arguments.count + 7) / 8, arguments);
}

absl::Status FillPattern(Kernels& kernels, device::DeviceAddress memory, uint64_t size_bytes, uint64_t seed,
                         uint64_t offset_bytes) {
  return kernels.Walk("sassay_pattern_fill", size_bytes / 8,
                      PatternArguments{memory, size_bytes, seed, offset_bytes, 0});
}

absl::StatusOr<ByteDifference> CheckPattern(Kernels& kernels, device::DeviceAddress memory, uint64_t size_bytes,
                                            uint64_t seed, uint64_t offset_bytes) {
  RETURN_IF_ERROR(Clear(kernels));
  RETURN_IF_ERROR(kernels.Walk("sassay_pattern_check", size_bytes / 8,
                               PatternArguments{memory, size_bytes, seed, offset_bytes, kernels.scratch()}));
  return Result(kernels);
}

absl::StatusOr<ByteDifference> Difference(Kernels& kernels, device::DeviceAddress expected,
                                          device::DeviceAddress actual, uint64_t size_bytes) {
  RETURN_IF_ERROR(Clear(kernels));
  RETURN_IF_ERROR(kernels.Walk("sassay_difference", size_bytes / 8,
                               DifferenceArguments{expected, actual, size_bytes, kernels.scratch()}));
  return Result(kernels);
}

}  // namespace sassay::judge::gpu
