#include "agent/trajectory/read_manifest.h"

#include "absl/strings/str_cat.h"
#include "agent/trajectory/json_form.h"
#include "agent/trajectory/layout.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sassay::agent {

absl::StatusOr<v1::RunManifest> ReadManifest(const std::filesystem::path& folder) {
  const absl::StatusOr<std::string> text = ReadUntrustedFile(ManifestPath(folder), kMaxManifestBytes);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(
        absl::StrCat(folder.string(), " is no run: it has no run.json. `mini-ptx-agent run -o DIR` makes runs."));
  }
  if (!text.ok()) return absl::DataLossError(text.status().message());
  v1::RunManifest manifest;
  if (const absl::Status status = ParseJson(*text, manifest); !status.ok())
    return absl::DataLossError(absl::StrCat(ManifestPath(folder).string(), ": ", status.message()));
  return manifest;
}

}  // namespace sassay::agent
