// What cuTensorMapEncodeTiled demands of its arguments (CUDA 13.0, cuda.h, section "Tensor Map Object Management").
// Checked before a GPU is near, so that a refusal can name the argument; the driver's own answer is only "invalid
// value".
#ifndef SASSAY_COMMON_BUNDLE_TENSOR_MAP_H_
#define SASSAY_COMMON_BUNDLE_TENSOR_MAP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "sassay/v1/plan.pb.h"

namespace sassay {

// Size of an encoded CUtensorMap, in bytes.
inline constexpr uint32_t kTensorMapBytes = 128;

// INVALID_ARGUMENT naming the field ("box_dim[1]: 300, expected 1 to 256"). Buffers begin at addresses aligned to at
// least 256 bytes, so the base's alignment is that of its offset.
absl::Status ValidateTensorMap(const sassay::v1::TensorMap& untrusted);

// Distance in bytes from the base to the end of the last element that a valid map describes; nullopt if it overflows.
absl::optional<uint64_t> TensorMapExtentBytes(const sassay::v1::TensorMap& map);

}  // namespace sassay

#endif  // SASSAY_COMMON_BUNDLE_TENSOR_MAP_H_
