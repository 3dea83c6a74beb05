// Hostile bundles, whole, through the whole door.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "profiler_service/admission/testing/example_bundle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sassay::admission;
  static const auto& workload = *new sassay::v1::Workload(ExampleWorkload());
  static const auto& device = *new DeviceFacts(ExampleDevice());
  static const Limits limits;
  const AdmissionResult result =
      Admit(absl::string_view(reinterpret_cast<const char*>(data), size), workload, limits, device);
  if (const auto* rejection = std::get_if<Rejection>(&result)) {
    // A refusal always says something.
    if (rejection->reason.empty() || rejection->code == sassay::v1::VERDICT_CODE_OK) std::abort();
  }
  return 0;
}
