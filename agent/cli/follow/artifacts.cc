#include "agent/cli/follow/artifacts.h"

#include "absl/strings/str_cat.h"
#include "agent/render/text.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

constexpr mode_t kArtifactMode = 0644;

absl::StatusOr<std::filesystem::path> Save(
    const v1::Artifact& artifact, const std::filesystem::path& folder,
    const std::function<absl::StatusOr<std::string>(const v1::Artifact&)>& fetch) {
  if (!IsPlainFileName(artifact.name())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the service gave it a name that is no plain file name: ", PrintableLine(artifact.name())));
  }
  ASSIGN_OR_RETURN(const std::string bytes, fetch(artifact));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return absl::FailedPreconditionError(absl::StrCat(folder.string(), ": ", error.message()));
  const std::filesystem::path path = folder / artifact.name();
  RETURN_IF_ERROR(WriteFileAtomically(path, bytes, kArtifactMode));
  return path;
}

}  // namespace

void SaveArtifacts(const v1::Verdict& verdict, const std::filesystem::path& folder,
                   const std::function<absl::StatusOr<std::string>(const v1::Artifact&)>& fetch,
                   const std::function<void(absl::string_view)>& say) {
  for (const v1::DiagnosisReport& report : verdict.diagnoses()) {
    for (const v1::Artifact& artifact : report.artifacts()) {
      const auto path = Save(artifact, folder, fetch);
      say(path.ok() ? absl::StrCat("saved ", path->string(), " (", BytesText(artifact.size_bytes()), ")")
                    : absl::StrCat("not saved: ", PrintableLine(artifact.name()), ": ", path.status().message()));
    }
  }
}

}  // namespace sassay::agent
