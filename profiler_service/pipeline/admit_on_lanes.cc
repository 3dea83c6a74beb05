#include "profiler_service/pipeline/admit_on_lanes.h"

#include <variant>
#include <vector>

namespace sassay::pipeline {

AdmittedOnLanes AdmitOnLanes(const Lanes& lanes, absl::string_view bundle_bytes, const sassay::v1::Workload& workload,
                             const admission::Limits& limits) {
  AdmittedOnLanes everywhere;
  std::vector<admission::AdmissionResult> results;
  for (size_t index = 0; index < lanes.size(); ++index) {
    size_t same = 0;
    while (same < index && !SameKind(lanes.lane(same), lanes.lane(index))) ++same;
    results.push_back(same < index ? results[same]
                                   : admission::Admit(bundle_bytes, workload, limits, FactsOf(lanes.lane(index))));
    if (auto* admitted = std::get_if<admission::AdmittedBundle>(&results.back()); admitted != nullptr) {
      everywhere.admitted.emplace(index, *admitted);
      continue;
    }
    const auto& rejection = std::get<admission::Rejection>(results.back());
    if (!everywhere.refusal.has_value() || everywhere.refusal->code == sassay::v1::VERDICT_CODE_ARCH_MISMATCH) {
      everywhere.refusal = verdict::Failure{rejection.code, rejection.Line(), {}, {}};
    }
  }
  return everywhere;
}

}  // namespace sassay::pipeline
