// Of several CUDA toolkits on a machine the one of a certain release.
#ifndef SASSAY_COMMON_TOOLCHAIN_RELEASES_H_
#define SASSAY_COMMON_TOOLCHAIN_RELEASES_H_

#include <string>

#include "absl/status/statusor.h"

namespace sassay {

// The home of a toolkit of `release` ("12", "12.8" or "12.8.93"): `cuda_home` where that is given, else the first of
// $SASSAY_CUDA_HOME, $CUDA_HOME, /usr/local/cuda, /usr/local/cuda-* and .venv/cuda* in a folder above. It is for
// ToolchainSearch::cuda_home. NOT_FOUND with the releases that there are, and what to do.
absl::StatusOr<std::string> HomeOfRelease(const std::string& release, const std::string& cuda_home);

}  // namespace sassay

#endif  // SASSAY_COMMON_TOOLCHAIN_RELEASES_H_
