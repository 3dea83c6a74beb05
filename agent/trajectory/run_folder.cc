#include "agent/trajectory/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "agent/trajectory/json_form.h"
#include "agent/trajectory/layout.h"
#include "agent/trajectory/read_manifest.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;

absl::Status MakeFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("cannot make ", path.string(), ": ", error.message(), "."));
}

// A folder inside the run. A link there leads out of it.
absl::Status MakeOwnFolder(const fs::path& path) {
  std::error_code error;
  if (fs::is_symlink(path, error))
    return absl::DataLossError(absl::StrCat(path.string(), " is a link; expected a folder of the run itself."));
  return MakeFolder(path);
}

absl::Status MakeOwnFolders(const fs::path& run) {
  RETURN_IF_ERROR(MakeOwnFolder(run / "prompts"));
  return MakeOwnFolder(run / "trajectories");
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunFolder>> RunFolder::Lock(const fs::path& path) {
  UniqueFd lock(::open((path / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!lock.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("open ", (path / "lock").string()));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        path.string(), " is being worked on by another process. Wait for it to end, or choose another folder."));
  }
  return std::unique_ptr<RunFolder>(new RunFolder(path, std::move(lock)));
}

absl::StatusOr<std::unique_ptr<RunFolder>> RunFolder::Create(const fs::path& path, const v1::RunManifest& manifest) {
  ASSIGN_OR_RETURN(const std::string text, JsonOf(manifest, /*pretty=*/true));
  RETURN_IF_ERROR(MakeFolder(path));
  ASSIGN_OR_RETURN(std::unique_ptr<RunFolder> folder, Lock(path));
  std::error_code error;
  if (fs::exists(ManifestPath(path), error)) {
    return absl::FailedPreconditionError(absl::StrCat(path.string(),
                                                      " holds a run already. `mini-ptx-agent run "
                                                      "--resume ",
                                                      path.string(),
                                                      "` goes on with it; a new run "
                                                      "wants a new folder."));
  }
  RETURN_IF_ERROR(MakeOwnFolders(path));
  RETURN_IF_ERROR(WriteFileAtomically(ManifestPath(path), absl::StrCat(text, "\n")));
  folder->manifest_ = manifest;
  return folder;
}

absl::StatusOr<std::unique_ptr<RunFolder>> RunFolder::Open(const fs::path& path) {
  RETURN_IF_ERROR(ReadManifest(path).status());
  ASSIGN_OR_RETURN(std::unique_ptr<RunFolder> folder, Lock(path));
  ASSIGN_OR_RETURN(folder->manifest_, ReadManifest(path));
  RETURN_IF_ERROR(MakeOwnFolders(path));
  return folder;
}

absl::StatusOr<std::string> RunFolder::WritePrompt(absl::string_view text) {
  const std::string sha256 = Sha256Hex(text);
  std::error_code error;
  if (fs::exists(PromptPath(path_, sha256), error)) return sha256;
  RETURN_IF_ERROR(WriteFileAtomically(PromptPath(path_, sha256), text));
  return sha256;
}

absl::StatusOr<std::unique_ptr<TrajectoryLog>> RunFolder::OpenLog(absl::string_view id,
                                                                  std::function<absl::Time()> now) {
  RETURN_IF_ERROR(MakeOwnFolder(TrajectoryPath(path_, id)));
  return TrajectoryLog::Open(LogPath(path_, id), std::move(now));
}

absl::Status RunFolder::WriteSource(absl::string_view id, uint32_t turn, absl::string_view name,
                                    absl::string_view code) {
  const fs::path folder = TrajectoryPath(path_, id) / TurnName(turn);
  RETURN_IF_ERROR(MakeOwnFolder(folder));
  return WriteFileAtomically(folder / std::string(name), code);
}

}  // namespace sassay::agent
