#include "common/base/foreign/path_below.h"

#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sassay {

absl::StatusOr<std::filesystem::path> PathBelow(const std::filesystem::path& folder,
                                                absl::string_view untrusted_relative) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  const fs::path real = error ? fs::path() : fs::canonical(root / std::string(untrusted_relative), error);
  if (error) return absl::NotFoundError(absl::StrCat("no file ", untrusted_relative, " in ", folder.string()));
  const fs::path relative = real.lexically_relative(root);
  if (!relative.empty() && *relative.begin() != "..") return real;
  return absl::InvalidArgumentError(absl::StrCat(untrusted_relative, " lies outside of ", folder.string()));
}

}  // namespace sassay
