// What a Triton candidate's host code asked for, read from the file that its sandbox left. The candidate shares the
// process that wrote it, so every byte is hostile.
#ifndef SASSAY_AGENT_INTEROP_TRITON_RECORDING_H_
#define SASSAY_AGENT_INTEROP_TRITON_RECORDING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay::agent {

// One compiled kernel.
struct TritonKernel {
  std::string name;
  std::string ptx;
  uint32_t threads = 0;
  uint32_t shared_bytes = 0;
  bool cooperative = false;
  bool programmatic = false;
};

// A place in a tensor of the workload, or in an allocation of the same call.
struct TritonPlace {
  bool is_tensor = false;
  uint32_t number = 0;
  uint64_t offset_bytes = 0;
  bool operator==(const TritonPlace& other) const {
    return is_tensor == other.is_tensor && number == other.number && offset_bytes == other.offset_bytes;
  }
};

// Arguments of cuTensorMapEncodeTiled, innermost dimension first.
struct TritonTensorMap {
  TritonPlace base;
  uint32_t data_type = 0;
  std::vector<uint64_t> dims;
  std::vector<uint64_t> stride_bytes;
  std::vector<uint32_t> box;
  uint32_t swizzle = 0;
  bool nan_fill = false;
  bool operator==(const TritonTensorMap& other) const;
};

// One parameter of a launch: bytes, a device address, or a tensor map.
using TritonArgument = std::variant<std::string, TritonPlace, TritonTensorMap>;

struct TritonLaunch {
  uint32_t kernel = 0;
  uint32_t grid[3] = {1, 1, 1};
  std::vector<TritonArgument> arguments;
};
struct TritonAllocation {
  uint32_t number = 0;
  uint64_t size_bytes = 0;
};
struct TritonMemset {
  TritonPlace place;
  uint64_t size_bytes = 0;
};

// One thing that was asked for, and the candidate's line that asked; 0 where unknown.
struct TritonStep {
  std::variant<TritonLaunch, TritonAllocation, TritonMemset> what;
  uint32_t line = 0;
};

// Why there is no plan.
struct TritonFailure {
  // Triton or Python refused the source; otherwise its host code was refused while it ran.
  bool in_compilation = false;
  // Name of a verdict code.
  std::string code;
  std::string message;
  uint32_t line = 0;
  uint32_t column = 0;
};

struct TritonRecording {
  std::string triton_version;
  std::vector<TritonKernel> kernels;
  // One list for each call of run().
  std::vector<std::vector<TritonStep>> calls;
  std::map<std::string, int64_t> assumptions;
  std::vector<std::string> warnings;
  std::optional<TritonFailure> failure;
};

// INVALID_ARGUMENT naming the field. What is returned is well-formed: kernels, allocations and tensors that steps name
// exist (`tensors` of them), grids are positive, texts are bounded.
absl::StatusOr<TritonRecording> ParseTritonRecording(absl::string_view untrusted_json, uint32_t tensors);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_INTEROP_TRITON_RECORDING_H_
