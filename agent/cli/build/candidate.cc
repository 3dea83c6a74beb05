#include "agent/cli/build/candidate.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle.h"

namespace sassay::agent {

void AddCandidateArguments(CLI::App& command, CandidateArguments& arguments, const std::string& placeholder) {
  const bool judged = placeholder == "CANDIDATE";
  command
      .add_option(placeholder, arguments.paths,
                  absl::StrCat("source files (compiled as one translation unit), a folder, one Python file (Triton)",
                               judged ? ", a FlashInfer solution JSON, or a bundle" : ", or a FlashInfer solution JSON"))
      ->required()
      ->type_name("");
  command.add_option("-I", arguments.include_directories, "folder for #include <...>; may be given several times")
      ->type_name("DIR")
      ->expected(1)
      ->type_size(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("-D", arguments.defines, "macro for the compiler; may be given several times")
      ->type_name("NAME[=VALUE]")
      ->expected(1)
      ->type_size(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

bool IsBundle(const CandidateArguments& arguments) {
  return arguments.paths.size() == 1 && absl::EndsWith(arguments.paths.front(), ".bundle");
}

absl::StatusOr<BuiltBundle> ReadBundle(const std::string& path) {
  BuiltBundle built;
  absl::StatusOr<std::string> bytes = ReadFile(path, BundleLimits().max_bytes);
  if (absl::IsResourceExhausted(bytes.status())) return absl::InvalidArgumentError(bytes.status().message());
  RETURN_IF_ERROR(bytes.status());
  built.bytes = *std::move(bytes);
  absl::StatusOr<v1::Bundle> bundle = ParseBundle(built.bytes);
  if (!bundle.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path,
                                                   " is not a bundle that can be read: ", bundle.status().message(),
                                                   ". `mini-ptx-agent compile` makes bundles."));
  }
  built.bundle = *std::move(bundle);
  return built;
}

void NoteSuggestedSize(Session& session, const std::string& name, const v1::Workload& workload) {
  if (!absl::StrContains(name, '/'))
    session.progress().Note(absl::StrCat(name, " names no size; taking ", workload.name()));
}

}  // namespace sassay::agent
