// Golden tensors: the safetensors format (an 8-byte little-endian header length, a JSON header, then raw bytes).
#ifndef SASSAY_COMMON_WORKLOAD_SAFETENSORS_H_
#define SASSAY_COMMON_WORKLOAD_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sassay/v1/workload.pb.h"

namespace sassay {

struct StoredTensor {
  sassay::v1::DType dtype = sassay::v1::DTYPE_UNSPECIFIED;
  std::vector<int64_t> shape;
  absl::string_view bytes;  // inside the file's bytes
};

// Every tensor of `file` by name; views into it. INVALID_ARGUMENT names the tensor and the field that is wrong: no
// length or offset is trusted.
absl::StatusOr<std::map<std::string, StoredTensor>> ParseSafetensors(absl::string_view file);

// The bytes stored under `spec`'s name. NOT_FOUND or INVALID_ARGUMENT if the tensor is missing or of another type or
// shape.
absl::StatusOr<std::string> TakeTensor(const std::map<std::string, StoredTensor>& tensors,
                                       const sassay::v1::TensorSpec& spec);

// A file of these tensors, in the order of their names; what ParseSafetensors reads.
std::string SerializeSafetensors(const std::map<std::string, StoredTensor>& tensors);

}  // namespace sassay

#endif  // SASSAY_COMMON_WORKLOAD_SAFETENSORS_H_
