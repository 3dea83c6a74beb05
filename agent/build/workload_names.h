// Workload names as users write them.
#ifndef SASSAY_AGENT_BUILD_WORKLOAD_NAMES_H_
#define SASSAY_AGENT_BUILD_WORKLOAD_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/config/settings.h"
#include "common/workload/catalog.h"

namespace sassay::agent {

// Splits "a/M=1,N=2,b/M=3" into "a/M=1,N=2" and "b/M=3": a part with '=' and without '/' goes on with the name before
// it.
std::vector<std::string> SplitWorkloadNames(absl::string_view text);

// The built-in definitions and those of the `definitions` setting.
absl::StatusOr<WorkloadCatalog> LoadCatalog(const Settings& settings);

// The workload of that name. A definition alone means its first suggested size. An unknown name gets the nearest one in
// its message.
absl::StatusOr<v1::Workload> ResolveWorkload(const WorkloadCatalog& catalog, const std::string& name);

// The smaller shape that tools of the sanitizer look at instead of the workload's own, where the `sanitize` setting
// asks for the slow ones and the definition has such a shape; at most one.
std::vector<v1::Workload> ShapesForSanitizers(const Settings& settings, const WorkloadCatalog& catalog,
                                              const v1::Workload& workload);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BUILD_WORKLOAD_NAMES_H_
