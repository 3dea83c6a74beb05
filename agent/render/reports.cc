#include "agent/render/reports.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/render/text.h"
#include "common/base/proto_json.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string CheckState(v1::Check::State state, const Style& style) {
  if (state == v1::Check::OK) return style.Good("ok      ");
  return state == v1::Check::MISSING ? style.Bad("missing ") : style.Warn("optional");
}

std::string DoctorLines(const v1::Check& check, const Style& style) {
  std::string text = absl::StrCat(CheckState(check.state(), style), "  ", fmt::format("{:<14}", check.name()), "  ",
                                  PrintableLine(check.found()), "\n");
  if (check.state() == v1::Check::OK) return text;
  if (!check.effect().empty())
    absl::StrAppend(&text, std::string(26, ' '), "without it: ", PrintableLine(check.effect()), "\n");
  if (!check.remedy().empty())
    absl::StrAppend(&text, std::string(26, ' '), "to mend it: ", style.Bold(PrintableLine(check.remedy())), "\n");
  return text;
}

const char* CType(v1::DType type) {
  switch (type) {
    case v1::DTYPE_FLOAT64:
      return "double";
    case v1::DTYPE_FLOAT32:
      return "float";
    case v1::DTYPE_FLOAT16:
      return "__half";
    case v1::DTYPE_BFLOAT16:
      return "__nv_bfloat16";
    case v1::DTYPE_FLOAT8_E4M3FN:
      return "__nv_fp8_e4m3";
    case v1::DTYPE_FLOAT8_E5M2:
      return "__nv_fp8_e5m2";
    case v1::DTYPE_INT64:
      return "int64_t";
    case v1::DTYPE_INT32:
      return "int32_t";
    case v1::DTYPE_INT16:
      return "int16_t";
    case v1::DTYPE_INT8:
      return "int8_t";
    case v1::DTYPE_UINT8:
      return "uint8_t";
    default:
      return type == v1::DTYPE_BOOL ? "bool" : "void";
  }
}

std::string ShapeText(const v1::TensorSpec& tensor) {
  return tensor.scalar() ? "scalar" : absl::StrCat("[", absl::StrJoin(tensor.shape(), ", "), "]");
}

void AddTensors(Rows& rows, const char* role, const google::protobuf::RepeatedPtrField<v1::TensorSpec>& tensors) {
  for (const v1::TensorSpec& tensor : tensors) {
    rows.push_back({role, PrintableLine(tensor.name()), LowerCase(EnumName(tensor.dtype())), ShapeText(tensor)});
  }
}

}  // namespace

std::string EntrySignature(const v1::Workload& workload) {
  std::vector<std::string> parameters;
  for (const v1::TensorSpec& input : workload.inputs()) {
    parameters.push_back(input.scalar() ? absl::StrCat(CType(input.dtype()), " ", input.name())
                                        : absl::StrCat("const ", CType(input.dtype()), "* ", input.name()));
  }
  for (const v1::TensorSpec& output : workload.outputs())
    parameters.push_back(absl::StrCat(CType(output.dtype()), "* ", output.name()));
  for (const std::string& axis : workload.variable_axes()) parameters.push_back(absl::StrCat("int64_t ", axis));
  parameters.push_back("cudaStream_t stream");
  return PrintableLine(absl::StrCat("extern \"C\" void run(", absl::StrJoin(parameters, ", "), ")"));
}

std::string RenderCompileResult(const v1::CompileResult& result, const Style& style) {
  std::string text = absl::StrCat(style.Good("wrote"), " ", PrintableLine(result.path()), "  ",
                                  BytesText(result.bundle_bytes()), "  sha256 ", result.bundle_sha256(), "\n");
  Rows rows = {{"kernel", "registers", "spills", "shared", "parameters"}};
  for (const v1::KernelFacts& kernel : result.kernels()) {
    rows.push_back({PrintableLine(kernel.name().empty() ? kernel.symbol() : kernel.name()),
                    absl::StrCat(kernel.registers()), BytesText(kernel.spill_store_bytes() + kernel.spill_load_bytes()),
                    BytesText(kernel.static_shared_bytes()), absl::StrCat(kernel.parameter_bytes_size())});
  }
  absl::StrAppend(&text, Columns(rows, "  "));
  for (const std::string& workload : result.workloads())
    absl::StrAppend(&text, "  captured ", style.Name(PrintableLine(workload)), "\n");
  for (const std::string& warning : result.warnings())
    absl::StrAppend(&text, "  ", style.Warn("warning"), ": ", PrintableLine(warning), "\n");
  return text;
}

std::string RenderConfiguration(const v1::Configuration& configuration, const Style& style) {
  Rows rows = {{"key", "value", "origin", "meaning"}};
  for (const v1::ConfigValue& value : configuration.values()) {
    rows.push_back({value.key(), value.value().empty() ? "-" : PrintableLine(value.value()),
                    PrintableLine(value.origin()), value.description()});
  }
  std::string text = Columns(rows, "");
  if (configuration.files().empty()) return absl::StrCat(text, "\nno configuration file was found\n");
  absl::StrAppend(&text, "\nfiles read:\n");
  for (const std::string& file : configuration.files()) absl::StrAppend(&text, "  ", PrintableLine(file), "\n");
  return text;
}

std::string RenderDoctorReport(const v1::DoctorReport& report, const Style& style) {
  std::string text;
  for (const v1::Check& check : report.checks()) absl::StrAppend(&text, DoctorLines(check, style));
  return absl::StrCat(text, "\n",
                      report.works()
                          ? style.Good("This machine can compile, capture and submit.")
                          : style.Bad("This machine cannot do the agent's work yet; see \"to mend it\" above."),
                      "\n");
}

std::string RenderExplanation(const v1::CodeExplanation& explanation, const Style& style) {
  std::string text =
      absl::StrCat(style.Bold(EnumName(explanation.code())), "  ", EnumName(explanation.status()), " in ",
                   LowerCase(EnumName(explanation.stage())), "\n\n  ", explanation.meaning(), "\n\nUsual causes\n");
  for (const std::string& cause : explanation.causes()) absl::StrAppend(&text, "  - ", cause, "\n");
  return absl::StrCat(text, "\nRepair\n  ", explanation.repair(), "\n\nExample\n  ", explanation.example(), "\n");
}

std::string RenderExplanations(const v1::CodeExplanations& explanations, const Style& style) {
  Rows rows;
  for (const v1::CodeExplanation& code : explanations.codes()) {
    rows.push_back({EnumName(code.code()), EnumName(code.status()), code.meaning()});
  }
  return absl::StrCat(Columns(rows, ""), "\nmini-ptx-agent explain CODE says more.\n");
}

std::string RenderWorkload(const v1::Workload& workload, const Style& style) {
  std::string text =
      absl::StrCat(style.Bold(PrintableLine(workload.name())), "\n  ", PrintableLine(workload.description()), "\n\n");
  Rows rows;
  AddTensors(rows, "input", workload.inputs());
  AddTensors(rows, "output", workload.outputs());
  std::vector<std::string> axes;
  for (const auto& [name, value] : workload.axes()) axes.push_back(absl::StrCat(PrintableLine(name), "=", value));
  std::sort(axes.begin(), axes.end());
  absl::StrAppend(&text, Columns(rows, "  "), "\n");
  Rows facts = {{"axes", absl::StrJoin(axes, ", ")},
                {"work", workload.flop() > 0 ? fmt::format("{:.4g} FLOP, at least {}", workload.flop(),
                                                           BytesText(workload.minimum_bytes()))
                                             : absl::StrCat("at least ", BytesText(workload.minimum_bytes()))},
                {"reference", workload.reference().empty() ? "none" : PrintableLine(workload.reference())},
                {"baseline", workload.baseline().empty() ? "none" : PrintableLine(workload.baseline())},
                {"entry", EntrySignature(workload)}};
  if (!workload.suggested_workloads().empty())
    facts.push_back({"sizes", PrintableLine(absl::StrJoin(workload.suggested_workloads(), ", "))});
  return absl::StrCat(text, Columns(facts, "  "));
}

std::string RenderWorkloads(const google::protobuf::RepeatedPtrField<v1::Workload>& workloads, const Style& style) {
  Rows rows = {{"workload", "reference", "description"}};
  for (const v1::Workload& workload : workloads) {
    rows.push_back({PrintableLine(workload.name()),
                    workload.reference().empty() ? "none" : PrintableLine(workload.reference()),
                    PrintableLine(workload.description())});
  }
  return absl::StrCat(Columns(rows, ""), "\n",
                      style.Dim("mini-ptx-agent workloads NAME shows shapes and the signature of run()."), "\n");
}

}  // namespace sassay::agent
