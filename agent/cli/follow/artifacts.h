// Where the files of a verdict go on this machine.
#ifndef SASSAY_AGENT_CLI_FOLLOW_ARTIFACTS_H_
#define SASSAY_AGENT_CLI_FOLLOW_ARTIFACTS_H_

#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::agent {

// Fetches and saves every artifact of the verdict into `folder`, which is made if it is not there; a file of the same
// name is replaced. `say` hears one line per artifact, saved or not: the verdict stands without them.
void SaveArtifacts(const v1::Verdict& verdict, const std::filesystem::path& folder,
                   const std::function<absl::StatusOr<std::string>(const v1::Artifact&)>& fetch,
                   const std::function<void(absl::string_view)>& say);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CLI_FOLLOW_ARTIFACTS_H_
