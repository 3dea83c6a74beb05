// Hostile launch plans against the facts of a real cubin. What the checker accepts is checked again here, by other
// code, for the promises the runner relies on: every pointer inside a declared buffer, every argument of the cubin's
// size.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "profiler_service/admission/arch_limits.h"
#include "profiler_service/admission/plan_checks.h"
#include "profiler_service/admission/testing/example_bundle.h"

namespace {

using sassay::admission::PlanChecker;
namespace v1 = sassay::v1;

void Require(bool condition) {
  if (!condition) std::abort();
}

void RequirePointer(const v1::LaunchPlan& plan, const v1::BufferPointer& pointer) {
  Require(pointer.buffer() < static_cast<uint32_t>(plan.buffers_size()));
  Require(pointer.offset_bytes() <= plan.buffers(static_cast<int>(pointer.buffer())).size_bytes());
}

void RequireBytes(const v1::LaunchPlan& plan, const v1::RelocatableBytes& bytes) {
  for (const v1::Relocation& relocation : bytes.relocations()) {
    const uint64_t size = relocation.has_pointer() ? 8 : 128;
    Require(relocation.at_bytes() <= bytes.data().size() && bytes.data().size() - relocation.at_bytes() >= size);
    if (relocation.has_pointer()) RequirePointer(plan, relocation.pointer());
    if (!relocation.has_pointer()) Require(relocation.tensor_map() < static_cast<uint32_t>(plan.tensor_maps_size()));
  }
}

void RequireSteps(const v1::LaunchPlan& plan, const sassay::Cubin& cubin,
                  const google::protobuf::RepeatedPtrField<v1::Step>& steps) {
  for (const v1::Step& step : steps) {
    if (step.has_upload()) RequireBytes(plan, step.upload().bytes());
    if (!step.has_launch()) continue;
    const sassay::CubinKernel* kernel = cubin.FindKernel(step.launch().kernel());
    Require(kernel != nullptr && kernel->parameters.size() == static_cast<size_t>(step.launch().arguments_size()));
    for (int i = 0; i < step.launch().arguments_size(); ++i) {
      Require(step.launch().arguments(i).data().size() == kernel->parameters[i].size_bytes);
      RequireBytes(plan, step.launch().arguments(i));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto& cubin = *new sassay::Cubin(*sassay::Cubin::Parse(sassay::admission::ExampleBundle().cubin()));
  static const auto& workload = *new v1::Workload(sassay::admission::ExampleWorkload());
  static const auto& device = *new sassay::admission::DeviceFacts(sassay::admission::ExampleDevice());
  static const sassay::admission::Limits limits;
  v1::LaunchPlan plan;
  if (!plan.ParseFromArray(data, static_cast<int>(size))) return 0;
  PlanChecker checker(plan, workload, cubin, *sassay::admission::FindArchLimits(cubin.sm()), limits, device,
                      "plans[0]");
  if (checker.Check().has_value()) return 0;
  for (const v1::TensorMap& map : plan.tensor_maps()) RequirePointer(plan, map.base());
  RequireSteps(plan, cubin, plan.setup());
  RequireSteps(plan, cubin, plan.steady());
  return 0;
}
