// A line of a FlashInfer-Trace workload file: a definition with concrete axes, and where its inputs come from.
#ifndef SASSAY_AGENT_INTEROP_FLASHINFER_WORKLOAD_LINE_H_
#define SASSAY_AGENT_INTEROP_FLASHINFER_WORKLOAD_LINE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay::agent {

// Where a tensor's contents come from.
struct TensorSource {
  enum class Kind { kRandom, kScalar, kSafetensors };
  Kind kind = Kind::kRandom;
  // kScalar.
  double value = 0;
  // kSafetensors: a path below the data set's root, and the tensor's name in that file.
  std::string untrusted_path;
  std::string tensor_key;
};

struct WorkloadLine {
  std::string definition;
  std::string uuid;
  std::map<std::string, int64_t> axes;
  std::map<std::string, TensorSource> inputs;
  // Only data sets that carry answers have them.
  std::map<std::string, TensorSource> outputs;
};

// INVALID_ARGUMENT names the field. Unknown fields are passed over: the schema grows.
absl::StatusOr<WorkloadLine> ParseWorkloadLine(absl::string_view untrusted_line);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_INTEROP_FLASHINFER_WORKLOAD_LINE_H_
