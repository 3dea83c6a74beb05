// The workloads this installation knows: the built-in definitions and those of the user's directories.
#ifndef SASSAY_COMMON_WORKLOAD_CATALOG_H_
#define SASSAY_COMMON_WORKLOAD_CATALOG_H_

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/workload/definition.h"
#include "sassay/v1/workload.pb.h"

namespace sassay {

// A definition name and values for axes, taken apart: "gemm_n256_k256/M=256".
struct WorkloadName {
  std::string definition;
  std::map<std::string, int64_t> axes;
};

// INVALID_ARGUMENT for anything but NAME or NAME/AXIS=VALUE,AXIS=VALUE with positive decimal values, each axis once.
absl::StatusOr<WorkloadName> ParseWorkloadName(absl::string_view untrusted);

// Definitions by name.
//
// Life cycle: loaded once, immutable. Threads: const methods from any thread. Ownership: holds everything by value.
// Failure: Load names the file and the field; Resolve says what exists and what comes near.
class WorkloadCatalog {
 public:
  // Only the definitions that ship with Sassay.
  static const WorkloadCatalog& BuiltIn();
  // Those and every *.json below `directories` (FlashInfer-Trace's layout or flat). ALREADY_EXISTS if two definitions
  // share a name; NOT_FOUND if a directory or a golden file is missing.
  static absl::StatusOr<WorkloadCatalog> Load(absl::Span<const std::filesystem::path> directories);

  // Sorted by name.
  const std::map<std::string, Definition>& definitions() const { return definitions_; }
  // Null if there is none.
  const Definition* FindDefinition(absl::string_view name) const;

  // "gemm_n256_k256/M=256" -> the workload with concrete shapes; axes may come in any order. INVALID_ARGUMENT for a
  // malformed name and for a missing, unknown, constant or absurd axis; NOT_FOUND for an unknown definition.
  absl::StatusOr<sassay::v1::Workload> Resolve(absl::string_view untrusted_name) const;

  // Every suggested workload of every definition; a definition that suggests none is left out unless it has no variable
  // axes. What `ListWorkloads` shows.
  std::vector<sassay::v1::Workload> List() const;

  // Where a golden reference of `definition` lies; empty for other references.
  std::filesystem::path GoldenPath(const Definition& definition) const;

 private:
  absl::Status Add(absl::string_view json, const std::filesystem::path& directory);
  absl::Status LoadDirectory(const std::filesystem::path& directory);
  absl::Status UnknownDefinition(absl::string_view name) const;

  std::map<std::string, Definition> definitions_;
  std::map<std::string, std::filesystem::path> directories_;  // by definition name; for golden files
};

// The workload of `definition` with these values of its variable axes. Same failures as Resolve.
absl::StatusOr<sassay::v1::Workload> MakeWorkload(const Definition& definition,
                                                  const std::map<std::string, int64_t>& variable_axes);

// The same workload at its definition's sanitize shape, for tools that are too slow for its own; nothing where the
// definition has none, or where the workload is that already.
absl::optional<sassay::v1::Workload> SanitizeShape(const Definition& definition, const sassay::v1::Workload& workload);

}  // namespace sassay

#endif  // SASSAY_COMMON_WORKLOAD_CATALOG_H_
