#include "profiler_service/pipeline/admit_on_lanes.h"

#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/toolchain/cuda_drivers.h"

namespace sassay::pipeline {
namespace {

// Nothing is wrong with the bundle: a device with a newer driver runs it.
verdict::Failure DriverTooOld(const Lane& lane, absl::string_view toolkit, absl::string_view driver_cuda) {
  return {sassay::v1::VERDICT_CODE_DEVICE_LOST,
          absl::StrCat("built with ", WhatToolkitNeeds(toolkit), "; ", lane.label(), " has driver ",
                       lane.device().driver_version(), " (CUDA ", driver_cuda, ")"),
          {},
          {}};
}

}  // namespace

AdmittedOnLanes AdmitOnLanes(const Lanes& lanes, absl::string_view bundle_bytes, const sassay::v1::Workload& workload,
                             const admission::Limits& limits, absl::string_view driver_cuda) {
  AdmittedOnLanes everywhere;
  std::vector<admission::AdmissionResult> results;
  for (size_t index = 0; index < lanes.size(); ++index) {
    size_t same = 0;
    while (same < index && !SameKind(lanes.lane(same), lanes.lane(index))) ++same;
    results.push_back(same < index ? results[same]
                                   : admission::Admit(bundle_bytes, workload, limits, FactsOf(lanes.lane(index))));
    if (auto* admitted = std::get_if<admission::AdmittedBundle>(&results.back()); admitted != nullptr) {
      const std::string& toolkit = admitted->bundle().compilation().toolkit_version();
      if (!lanes.lane(index).emulated() && !RunsOn(toolkit, driver_cuda)) {
        everywhere.refusal = DriverTooOld(lanes.lane(index), toolkit, driver_cuda);
      } else {
        everywhere.admitted.emplace(index, *admitted);
      }
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
