#include "agent/build/workload_names.h"

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sassay::agent {

std::vector<std::string> SplitWorkloadNames(absl::string_view text) {
  std::vector<std::string> names;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    part = absl::StripAsciiWhitespace(part);
    const bool goes_on = !names.empty() && absl::StrContains(part, '=') && !absl::StrContains(part, '/');
    if (goes_on) {
      absl::StrAppend(&names.back(), ",", part);
    } else {
      names.emplace_back(part);
    }
  }
  return names;
}

absl::StatusOr<WorkloadCatalog> LoadCatalog(const Settings& settings) {
  std::vector<std::filesystem::path> folders;
  for (const std::string& folder : settings.List("definitions")) folders.emplace_back(folder);
  if (folders.empty()) return WorkloadCatalog::BuiltIn();
  return WorkloadCatalog::Load(folders);
}

absl::StatusOr<v1::Workload> ResolveWorkload(const WorkloadCatalog& catalog, const std::string& name) {
  const Definition* definition = catalog.FindDefinition(name);
  if (definition != nullptr && !definition->suggested_axes.empty())
    return MakeWorkload(*definition, definition->suggested_axes.front());
  return catalog.Resolve(name);
}

std::vector<v1::Workload> ShapesForSanitizers(const Settings& settings, const WorkloadCatalog& catalog,
                                              const v1::Workload& workload) {
  if (settings.Text("sanitize") != "full") return {};
  const Definition* definition = catalog.FindDefinition(workload.definition());
  if (definition == nullptr) return {};
  const absl::optional<v1::Workload> shape = SanitizeShape(*definition, workload);
  return shape.has_value() ? std::vector<v1::Workload>{*shape} : std::vector<v1::Workload>();
}

}  // namespace sassay::agent
