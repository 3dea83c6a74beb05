// A workload whose every tensor is stored, as a definition with golden tensors.
#ifndef SASSAY_AGENT_INTEROP_FLASHINFER_GOLDEN_H_
#define SASSAY_AGENT_INTEROP_FLASHINFER_GOLDEN_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/interop/flashinfer/workload_line.h"
#include "common/workload/definition.h"

namespace sassay::agent {

struct GoldenDefinition {
  // "NAME_" and the beginning of the workload's uuid.
  std::string name;
  std::string json;
  // Its tensors, inputs and outputs, as one safetensors file NAME.safetensors.
  std::string tensors;
};

// Whether every tensor of the workload is stored, outputs too.
bool HasAnswers(const Definition& definition, const WorkloadLine& line);

// INVALID_ARGUMENT or NOT_FOUND naming the tensor: a file outside of `root`, one that is no safetensors file, a tensor
// of another type or shape.
absl::StatusOr<GoldenDefinition> MakeGolden(const std::filesystem::path& root, const Definition& definition,
                                            absl::string_view definition_json, const WorkloadLine& line);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_INTEROP_FLASHINFER_GOLDEN_H_
