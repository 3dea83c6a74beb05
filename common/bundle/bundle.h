// The bundle as bytes. A bundle is addressed by the SHA-256 of its bytes, so there must be exactly one way to write one
// down: canonical bytes, made here and nowhere else, and refused on reading if they are anything but.
#ifndef SASSAY_COMMON_BUNDLE_BUNDLE_H_
#define SASSAY_COMMON_BUNDLE_BUNDLE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/wire_scan.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "sassay/v1/bundle.pb.h"

namespace sassay {

// The format this build writes and reads.
inline constexpr uint32_t kBundleFormatVersion = 1;

// What an untrusted bundle may weigh.
struct BundleLimits {
  uint64_t max_bytes = uint64_t{256} << 20;
  WireLimits wire;
};

// Canonical bytes: format_version set, kernels sorted by symbol, plans by workload, sources by path, fields in order,
// maps sorted. INVALID_ARGUMENT if two kernels, plans or sources share a name or a string is not UTF-8.
absl::StatusOr<std::string> SerializeBundle(sassay::v1::Bundle bundle);

// Reads what SerializeBundle wrote. Anything else is refused: INVALID_ARGUMENT for broken, unknown or non-canonical
// content, RESOURCE_EXHAUSTED past a limit; messages begin with the field's path. Says nothing about the *meaning* of
// cubin or plans: that is admission's.
absl::StatusOr<sassay::v1::Bundle> ParseBundle(absl::string_view untrusted, const BundleLimits& limits = {});

// How many of a bundle's first bytes PeekArch needs.
inline constexpr size_t kPeekBytes = 256;

// For which architecture a bundle says that it was compiled, from its first bytes alone: canonical bytes begin with
// that. INVALID_ARGUMENT if they do not; what else is wrong with it only ParseBundle and admission tell.
absl::StatusOr<std::string> PeekArch(absl::string_view untrusted_beginning);

// The bundle's address: SHA-256 of canonical bytes, lower-case hex.
std::string BundleDigest(absl::string_view canonical_bytes);

// The plan for a workload ("definition/AXIS=value,…"), or null.
const sassay::v1::LaunchPlan* FindPlan(const sassay::v1::Bundle& bundle, absl::string_view workload);

// Bundle.source_sha256: SHA-256 (32 raw bytes) over paths and contents, independent of the files' order.
std::string SourceDigest(const google::protobuf::RepeatedPtrField<sassay::v1::SourceFile>& sources);

}  // namespace sassay

#endif  // SASSAY_COMMON_BUNDLE_BUNDLE_H_
