// A path that somebody else wrote into a file beside which it belongs: a note's kernel, a data set's tensors.
#ifndef SASSAY_COMMON_BASE_FOREIGN_PATH_BELOW_H_
#define SASSAY_COMMON_BASE_FOREIGN_PATH_BELOW_H_

#include <filesystem>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay {

// The real path of `untrusted_relative` below `folder`, with every link on the way followed. INVALID_ARGUMENT where
// that lies elsewhere (by "..", an absolute path, a link to a file or a folder); NOT_FOUND where nothing is. Whoever
// may change the folder meanwhile can change the answer.
absl::StatusOr<std::filesystem::path> PathBelow(const std::filesystem::path& folder,
                                                absl::string_view untrusted_relative);

}  // namespace sassay

#endif  // SASSAY_COMMON_BASE_FOREIGN_PATH_BELOW_H_
