#include "agent/interop/triton/child_files.h"

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

struct EmbeddedFile {
  const char* path;
  const char* content;
};

#include "agent/interop/triton/child_files.inc"

}  // namespace

absl::Status WriteTritonChild(const std::filesystem::path& folder) {
  for (const EmbeddedFile& file : kChildFiles) {
    const std::filesystem::path path = folder / file.path;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error)
      return absl::UnavailableError(absl::StrCat(path.parent_path().string(), " cannot be made: ", error.message()));
    RETURN_IF_ERROR(WriteFileAtomically(path, file.content, 0644));
  }
  return absl::OkStatus();
}

}  // namespace sassay::agent
