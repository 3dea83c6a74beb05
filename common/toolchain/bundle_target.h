// What a bundle was compiled for, from its first bytes alone: enough to know who could run it.
#ifndef SASSAY_COMMON_TOOLCHAIN_BUNDLE_TARGET_H_
#define SASSAY_COMMON_TOOLCHAIN_BUNDLE_TARGET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay {

// As the bundle says it; ASCII letters, digits and a few signs, whatever the bytes. Plain data.
struct BundleTarget {
  std::string arch;             // "sm_90a"
  std::string toolkit_version;  // "13.0.88"; empty where it does not say
};

// Canonical bytes begin with that; kPeekBytes of them are enough. INVALID_ARGUMENT if they do not; what else is wrong
// with a bundle only ParseBundle and admission tell.
absl::StatusOr<BundleTarget> PeekTarget(absl::string_view untrusted_beginning);

}  // namespace sassay

#endif  // SASSAY_COMMON_TOOLCHAIN_BUNDLE_TARGET_H_
