#include "agent/knowledge/task.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/render/reports.h"
#include "common/base/foreign/chat_marks.h"
#include "common/base/foreign/code_block.h"
#include "common/terminal/text.h"
#include "common/workload/definition.h"
#include "common/workload/json_text.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

// The definition as it was written; empty where the workload carries none that can be read.
struct Written {
  std::vector<TensorDefinition> tensors;
  std::string python;
  std::string required;
};

std::string Python(absl::string_view definition_json) {
  const absl::StatusOr<OrderedJson> json = ParseJsonObject(definition_json, definition_json.size());
  if (!json.ok() || !json->contains("reference") || !(*json)["reference"].is_string()) return "";
  return (*json)["reference"].get<std::string>();
}

Written ReadWritten(const v1::Workload& workload, absl::string_view arch) {
  Written written;
  const absl::StatusOr<Definition> definition = ParseDefinition(workload.definition_json());
  if (!definition.ok()) return written;
  written.tensors = definition->inputs;
  written.tensors.insert(written.tensors.end(), definition->outputs.begin(), definition->outputs.end());
  const auto required = definition->required_sass.find(std::string(arch));
  if (required != definition->required_sass.end()) written.required = required->second;
  written.python = Python(workload.definition_json());
  return written;
}

std::string TensorLine(const v1::TensorSpec& tensor, const char* role, const std::vector<TensorDefinition>& written) {
  std::string line = absl::StrCat("- ", role, " ", PrintableLine(tensor.name()), ": ", DTypeName(tensor.dtype()));
  if (tensor.scalar()) return absl::StrCat(line, " scalar\n");
  absl::StrAppend(&line, " [", absl::StrJoin(tensor.shape(), ", "), "]");
  for (const TensorDefinition& definition : written) {
    if (definition.name == tensor.name() && !definition.shape.empty())
      absl::StrAppend(&line, " = [", PrintableLine(absl::StrJoin(definition.shape, ", ")), "]");
  }
  return absl::StrCat(line, "\n");
}

std::string Tensors(const v1::Workload& workload, const Written& written) {
  std::string text;
  for (const v1::TensorSpec& input : workload.inputs())
    absl::StrAppend(&text, TensorLine(input, "input", written.tensors));
  for (const v1::TensorSpec& output : workload.outputs())
    absl::StrAppend(&text, TensorLine(output, "output", written.tensors));
  return text;
}

const char* ScalarType(v1::DType type) {
  if (type == v1::DTYPE_BOOL) return "bool";
  return type == v1::DTYPE_FLOAT32 || type == v1::DTYPE_FLOAT64 || type == v1::DTYPE_FLOAT16 ||
                 type == v1::DTYPE_BFLOAT16
             ? "double"
             : "int64_t";
}

std::string TvmFfiSignature(const v1::Workload& workload) {
  std::vector<std::string> parameters;
  for (const v1::TensorSpec& input : workload.inputs())
    parameters.push_back(
        absl::StrCat(input.scalar() ? ScalarType(input.dtype()) : "tvm::ffi::TensorView", " ", input.name()));
  for (const v1::TensorSpec& output : workload.outputs())
    parameters.push_back(absl::StrCat("tvm::ffi::TensorView ", output.name()));
  return PrintableLine(absl::StrCat("void run(", absl::StrJoin(parameters, ", "), ")"));
}

bool UsesType(const v1::Workload& workload, std::initializer_list<v1::DType> types) {
  const auto uses = [&](const auto& tensors) {
    return std::any_of(tensors.begin(), tensors.end(), [&](const v1::TensorSpec& tensor) {
      return std::find(types.begin(), types.end(), tensor.dtype()) != types.end();
    });
  };
  return uses(workload.inputs()) || uses(workload.outputs());
}

std::string CDeclaration(const v1::Workload& workload) {
  std::string text;
  if (UsesType(workload, {v1::DTYPE_BFLOAT16})) absl::StrAppend(&text, "#include <cuda_bf16.h>\n");
  if (UsesType(workload, {v1::DTYPE_FLOAT16})) absl::StrAppend(&text, "#include <cuda_fp16.h>\n");
  if (UsesType(workload, {v1::DTYPE_FLOAT8_E4M3FN, v1::DTYPE_FLOAT8_E5M2}))
    absl::StrAppend(&text, "#include <cuda_fp8.h>\n");
  return absl::StrCat(text, "#include <cstdint>\n", EntrySignature(workload), ";\n");
}

std::string TvmFfiDeclaration(const v1::Workload& workload) {
  return absl::StrCat(
      "#include <tvm/ffi/container/tensor.h>\n#include <tvm/ffi/extra/c_env_api.h>\n"
      "#include <tvm/ffi/function.h>\n",
      TvmFfiSignature(workload), ";\nTVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run);\n");
}

std::string Work(const v1::Workload& workload) {
  std::string text = absl::StrCat("One call moves at least ", BytesText(workload.minimum_bytes()));
  if (workload.flop() > 0) absl::StrAppend(&text, fmt::format(" and takes {:.4g} FLOP", workload.flop()));
  const std::string baseline = BaselineName(workload);
  if (baseline.empty()) return absl::StrCat(text, ". There is no library to compare with.");
  return absl::StrCat(text, ". Its speed is compared with ", baseline, "'s.");
}

}  // namespace

std::string BaselineName(const v1::Workload& workload) {
  if (workload.baseline().empty()) return "";
  if (workload.baseline() == "cublaslt") return "cuBLAS";
  if (workload.baseline() == "cudnn_sdpa") return "cuDNN";
  return absl::StartsWith(workload.baseline(), "bundle:") ? "the operator's own kernel"
                                                          : PrintableLine(workload.baseline());
}

std::string TaskText(const v1::Workload& workload, absl::string_view arch, v1::EntryAbi abi) {
  const Written written = ReadWritten(workload, arch);
  std::string text = absl::StrCat("Write a kernel for ", PrintableLine(workload.name()), ": ",
                                  PrintableLine(workload.description()), "\n\n", Tensors(workload, written), "\n");
  if (!written.python.empty())
    absl::StrAppend(&text, "What it computes:\n", CodeBlock("python", Printable(written.python)), "\n");
  absl::StrAppend(&text, "Declaration:\n```cuda\n",
                  abi == v1::ENTRY_ABI_TVM_FFI ? TvmFfiDeclaration(workload) : CDeclaration(workload), "```\n",
                  "Tensors are row-major and contiguous. The sizes above are those that are judged and timed. ",
                  Work(workload));
  if (written.required == "H") {
    absl::StrAppend(&text, " Hopper's own instructions (wgmma, TMA) have to do the work.");
  } else if (written.required == "B") {
    absl::StrAppend(&text, " Blackwell's own instructions (tcgen05) have to do the work.");
  }
  // Definitions come from data sets of other people, too.
  return WithoutChatMarks(absl::StrCat(text, "\n"));
}

}  // namespace sassay::agent
