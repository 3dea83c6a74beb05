#include "profiler_service/pipeline/estimate.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "profiler_service/pipeline/cases.h"

namespace sassay::pipeline {

absl::Duration EstimateCall(const sassay::v1::Workload& workload, absl::string_view ptx, const EmulatorSpeed& speed) {
  const bool tensor = absl::StrContains(ptx, "mma.sync") || absl::StrContains(ptx, "wgmma.mma_async") ||
                      absl::StrContains(ptx, "tcgen05.mma");
  return absl::Seconds(workload.flop() / (tensor ? speed.tensor_flops : speed.scalar_flops));
}

std::string SizeThatFits(const sassay::v1::Workload& workload, const WorkloadCatalog& catalog, absl::string_view ptx,
                         absl::Duration limit, const EmulatorSpeed& speed) {
  // Siblings of the definition with smaller constant axes are named by their operator: the first that fits.
  std::string best;
  absl::Duration longest = absl::ZeroDuration();
  const auto consider = [&](const sassay::v1::Workload& candidate) {
    const absl::Duration call = EstimateCall(candidate, ptx, speed);
    if (call > limit || call <= longest) return;
    longest = call;
    best = candidate.name();
  };
  for (const std::string& name : workload.suggested_workloads()) {
    if (const auto suggested = catalog.Resolve(name); suggested.ok()) consider(*suggested);
  }
  if (!best.empty()) return best;
  for (const sassay::v1::Workload& sibling : catalog.List()) {
    if (sibling.reference() == workload.reference()) consider(sibling);
  }
  return best;
}

std::string Rough(absl::Duration duration) {
  if (duration < absl::Minutes(2)) return absl::StrFormat("%d s", std::max<int64_t>(0, duration / absl::Seconds(1)));
  if (duration < absl::Hours(2)) return absl::StrFormat("%d min", duration / absl::Minutes(1));
  return absl::StrFormat("%d h", duration / absl::Hours(1));
}

absl::optional<verdict::Failure> RefuseSlowRun(const EmulatedRun& run, const sassay::v1::Workload& workload,
                                               const WorkloadCatalog& catalog, absl::string_view ptx,
                                               absl::string_view device, const EmulatorSpeed& speed) {
  const absl::Duration total = run.call * kEmulatedCalls;
  if (total <= run.left && run.call <= run.longest_call) return absl::nullopt;
  const std::string takes = absl::StrCat("would take about ", Rough(total), " on ", device);
  if (total <= run.usual && run.call <= run.longest_call) {
    return verdict::Failure{
        sassay::v1::VERDICT_CODE_QUEUE_DEADLINE,
        absl::StrCat(takes, ", the run's deadline is in ", Rough(run.left), "; ask for a longer one"),
        {},
        {}};
  }
  const absl::Duration limit = std::min(std::max(run.left, run.usual) / kEmulatedCalls, run.longest_call);
  const std::string fits = SizeThatFits(workload, catalog, ptx, limit, speed);
  return verdict::Failure{sassay::v1::VERDICT_CODE_TOO_LARGE_FOR_DEVICE,
                          absl::StrCat(takes, ", the deadline is in ", Rough(run.left),
                                       fits.empty() ? "" : absl::StrCat("; ", fits, " fits")),
                          {},
                          {}};
}

}  // namespace sassay::pipeline
