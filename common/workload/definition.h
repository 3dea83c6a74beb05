// A definition: what an operator computes, on which tensors, judged by which reference. FlashInfer-Trace JSON plus a
// `sassay` section, so that the community's definitions load as they are and ours load elsewhere.
//
//   { "name": "gemm_n256_k256", "op_type": "gemm", "description": "…",
//     "axes":    {"M": {"type": "var"}, "N": {"type": "const", "value": 256}, "K": {"type": "const", "value": 256}},
//     "inputs":  {"A": {"shape": ["M", "K"], "dtype": "bfloat16"}, "B": {"shape": ["N", "K"], "dtype": "bfloat16"}},
//     "outputs": {"C": {"shape": ["M", "N"], "dtype": "bfloat16"}},
//     "reference": "import torch\ndef run(A, B): …",               Python, for people; never run by Sassay
//     "sassay": {
//       "reference": "builtin:gemm",                               what decides correctness, see ReferenceKind
//       "baseline": "cublaslt",                                    what the candidate is timed against; may be absent
//       "distributions": ["normal", "uniform", "outliers"],        input values, see kDistributions; default ["normal"]
//       "tolerance": {"C": {"rms_multiple": 2, "element_multiple": 8, "noise_of_rms": 0}},   by output; may be absent
//       "sanitize_axes": {"M": 64},                                small values of *variable* axes; may be absent
//       "flop": "2*M*N*K",                                         floating-point operations of one call; where
//       contents
//                                                                  decide, no more than any contents need
//       "minimum_bytes": "2*M*K",                                  bytes that one call must move at least; absent:
//       every
//                                                                  input and output once
//       "required_sass": {"sm_90a": "H", "sm_100a": "B"},          instruction family that must execute, by
//       architecture "ranges": {"idx": {"minimum": 0, "maximum": "N-1"}},       values of integer inputs; may be absent
//       "indices": {"offsets": {"kind": "offsets", "total": "M"}}, integer inputs that point into others, see
//                                                                  IndexDefinition; may be absent
//       "scalars": {"eps": 1e-6, "scale": "1/K"},                  values of scalar inputs; 1 where absent
//       "requires": ["M >= N", "M == 2*K"],                        what a workload's axes must satisfy; may be absent
//       "suggested_axes": [{"M": 256}, {"M": 64}]                  for lists and for small machines
//     } }
//
// A shape's extents are axis names or positive integers; `"shape": null` is a scalar, passed to run() by value.
// `constraints` (Python) and `tags` are kept and not interpreted.
#ifndef SASSAY_COMMON_WORKLOAD_DEFINITION_H_
#define SASSAY_COMMON_WORKLOAD_DEFINITION_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "sassay/v1/workload.pb.h"

namespace sassay {

// Who says what the right answer is.
enum class ReferenceKind {
  kNone,     // nobody: such a workload is REJECTED
  kBuiltin,  // "builtin:NAME": code of the judge; NAME is one of kBuiltinReferences
  kKernel,   // "kernel:NAME": a plain CUDA kernel that ships with the service; NAME is one of kKernelReferences
  kBundle,   // "bundle:sha256:HEX": a plain CUDA kernel that an admin approved
  kGolden,   // "golden:FILE.safetensors": inputs and outputs of one set of axes, beside the definition's file
};

// References the judge has code for.
inline constexpr absl::string_view kBuiltinReferences[] = {"gemm", "mha_forward", "mha_forward_causal", "mha_backward",
                                                           "mha_backward_causal"};
// References that are kernels of the service's own (profiler_service/reference_kernels).
inline constexpr absl::string_view kKernelReferences[] = {"gqa_paged_decode", "gqa_paged_prefill",
                                                          "gqa_ragged_prefill"};
// Baselines the judge has code for; "bundle:sha256:HEX" is also a baseline.
inline constexpr absl::string_view kBuiltinBaselines[] = {"cublaslt", "cudnn_sdpa"};

// Input distributions. "normal": N(0, 1). "uniform": U(-1, 1). "outliers": N(0, 1) where about one element in a
// thousand is 16 times larger. "integers": whole numbers from -4 to 4, where sums are exact.
// "small": N(0, 1/64^2). "structured": every row has its own mean, in [-1, 1], and noise of deviation 1/2. Inputs that
// depend on others (O and L of an attention backward) follow from them; integer inputs are uniform over their range.
inline constexpr absl::string_view kDistributions[] = {"normal",   "uniform", "outliers",
                                                       "integers", "small",   "structured"};

struct AxisDefinition {
  std::string name;
  // Nullopt: the axis varies and run() receives it as an int64_t.
  absl::optional<int64_t> value;
};

struct TensorDefinition {
  std::string name;
  sassay::v1::DType dtype = sassay::v1::DTYPE_UNSPECIFIED;
  bool scalar = false;
  // Axis names or decimal integers, outermost first.
  std::vector<std::string> shape;
};

// Multiples of the judge's rule (profiler_service/judge/numerics/compare.h); nullopt leaves the judge's own.
struct ToleranceDefinition {
  absl::optional<double> rms_multiple;
  absl::optional<double> element_multiple;
  // What honest arithmetic adds before the final rounding: one standard deviation, as a fraction of the rms of the
  // reference's row (last axis). For references that know no noise of their own (kernels, bundles, golden tensors).
  double noise_of_rms = 0;
};

// Expressions over axes ("0", "N-1").
struct RangeDefinition {
  std::string minimum;
  std::string maximum;
};

// How the contents of an integer input of one axis are made, valid by construction. Sequences lie one after the other:
// sequence b has the elements from offsets[b] up to offsets[b + 1].
enum class IndexKind {
  // "offsets": 0 first, `total` last, never falling; one more than there are sequences.
  //   total: expression. empty_sequences (default false): whether sequences without elements occur; of four or more,
  //   one
  //   is empty then. covers: other offsets of as many sequences; each sequence here holds at least as many tokens as it
  //   has elements there. page_size: tokens of one element here; default 1.
  kOffsets,
  // "distinct": whole numbers from 0 up to `below` - 1, no two alike, in any order. below: expression.
  kDistinct,
  // "last_lengths": how many tokens the last page of each sequence holds, from 1 to its page_size. of: offsets with a
  // page_size. What those offsets cover is covered by all pages together. Means nothing for a sequence without pages.
  kLastLengths,
};

struct IndexDefinition {
  IndexKind kind = IndexKind::kOffsets;
  std::string total;      // expression, kOffsets
  std::string below;      // expression, kDistinct
  std::string page_size;  // expression, kOffsets; empty for 1
  std::string covers;     // an input, kOffsets; may be empty
  std::string of;         // an input, kLastLengths
  bool empty_sequences = false;
};

// Two expressions over axes and what must hold between them: "==", ">=" or "<=".
struct RequirementDefinition {
  std::string text;  // as written
  std::string left, relation, right;
};

// What run() gets for a scalar: a number, or an expression over axes where `formula` is not empty.
struct ScalarDefinition {
  double number = 1;
  std::string formula;
};

// A parsed definition. A plain value; const members may be read from any thread.
struct Definition {
  std::string name;
  std::string op_type;
  std::string description;
  std::vector<AxisDefinition> axes;       // in file order
  std::vector<TensorDefinition> inputs;   // in file order: the order of run()'s parameters
  std::vector<TensorDefinition> outputs;  // in file order
  ReferenceKind reference_kind = ReferenceKind::kNone;
  std::string reference;       // as written, for example "builtin:gemm"; empty for kNone
  std::string reference_name;  // the part after the kind: a name, 64 hex digits, or a relative path
  std::string baseline;
  std::vector<std::string> distributions;
  std::map<std::string, ToleranceDefinition> tolerance;
  std::map<std::string, int64_t> sanitize_axes;
  std::string flop;
  std::string minimum_bytes;
  std::map<std::string, std::string> required_sass;
  std::map<std::string, RangeDefinition> ranges;
  std::map<std::string, IndexDefinition> indices;
  std::vector<RequirementDefinition> requirements;
  std::map<std::string, ScalarDefinition> scalars;
  std::vector<std::map<std::string, int64_t>> suggested_axes;
  // The JSON without white space, keys in file order (the order of tensors is part of the meaning).
  std::string canonical_json;
  // SHA-256 of canonical_json, 32 bytes; golden tensors are hashed in by the catalogue.
  std::string sha256;
};

// Largest extent of an axis and largest tensor a shape may describe.
inline constexpr int64_t kMaxAxisValue = int64_t{1} << 31;
inline constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 40;
// Most tensors of a workload that lie in memory: inputs that are no scalars, and outputs. The service lends each to a
// candidate as a descriptor, all of them beside one message.
inline constexpr size_t kMaxTensorsInMemory = 64;

// INVALID_ARGUMENT naming the field, what was expected and what came. At most 1 MiB; doubled keys and unknown keys of
// the `sassay` section are refused.
absl::StatusOr<Definition> ParseDefinition(absl::string_view untrusted_json);

// What a workload with these axes passes to run() for a scalar input; 1 where the definition says nothing. Capture and
// judge both use it. INVALID_ARGUMENT if an integer or bool cannot hold the value.
absl::StatusOr<double> ScalarValue(const Definition& definition, const sassay::v1::TensorSpec& scalar,
                                   const std::map<std::string, int64_t>& axes);
// The same of a resolved workload, by the definition that it carries.
absl::StatusOr<double> ScalarValue(const sassay::v1::Workload& workload, const sassay::v1::TensorSpec& scalar);

// "bfloat16" -> DTYPE_BFLOAT16; UNSPECIFIED if unknown.
sassay::v1::DType DTypeFromName(absl::string_view name);
// DTYPE_BFLOAT16 -> "bfloat16".
std::string DTypeName(sassay::v1::DType dtype);
// Bytes of one element; 0 for UNSPECIFIED.
uint32_t DTypeBytes(sassay::v1::DType dtype);
// Elements of a tensor: the product of its extents, 1 for a scalar. The shape must come from a resolved workload.
uint64_t ElementCount(const sassay::v1::TensorSpec& tensor);
// Bytes of a tensor. The shape must come from a resolved workload.
uint64_t TensorBytes(const sassay::v1::TensorSpec& tensor);

}  // namespace sassay

#endif  // SASSAY_COMMON_WORKLOAD_DEFINITION_H_
