#include "agent/render/inspection.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "agent/render/text.h"
#include "common/base/proto_json.h"
#include "common/demangle/demangle.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

using Rows = std::vector<std::vector<std::string>>;
constexpr int kShownSteps = 64;
constexpr int kShownBuffers = 64;

std::string BufferName(const v1::LaunchPlan& plan, uint32_t index) {
  if (index >= static_cast<uint32_t>(plan.buffers_size())) return absl::StrCat("buffer ", index, "?");
  const std::string& name = plan.buffers(index).name();
  return name.empty() ? absl::StrCat("buffer ", index) : PrintableLine(name);
}

std::string PointerText(const v1::LaunchPlan& plan, const v1::BufferPointer& pointer) {
  const std::string name = BufferName(plan, pointer.buffer());
  return pointer.offset_bytes() == 0 ? name : absl::StrCat(name, "+", pointer.offset_bytes());
}

// Little-endian, as parameters are.
std::string LiteralText(absl::string_view data) {
  if (data.empty() || data.size() > 8) return BytesText(data.size());
  uint64_t value = 0;
  for (size_t i = data.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(data[i]);
  return absl::StrCat(value);
}

std::string ArgumentText(const v1::LaunchPlan& plan, const v1::RelocatableBytes& argument) {
  std::vector<std::string> targets;
  for (const v1::Relocation& relocation : argument.relocations()) {
    targets.push_back(relocation.has_pointer() ? PointerText(plan, relocation.pointer())
                                               : absl::StrCat("tensor map ", relocation.tensor_map()));
  }
  if (targets.empty()) return LiteralText(argument.data());
  const bool bare = targets.size() == 1 && (argument.data().size() == 8 || argument.data().size() == 128);
  return bare ? targets[0] : absl::StrCat("{", absl::StrJoin(targets, ", "), "}");
}

std::string LaunchText(const v1::LaunchPlan& plan, const v1::KernelLaunch& launch) {
  std::vector<std::string> arguments;
  for (const v1::RelocatableBytes& argument : launch.arguments()) arguments.push_back(ArgumentText(plan, argument));
  std::string text = absl::StrCat(PrintableLine(ShortKernelName(launch.kernel())), " grid ", Dim3Text(launch.grid()),
                                  " block ", Dim3Text(launch.block()));
  if (launch.has_cluster()) absl::StrAppend(&text, " cluster ", Dim3Text(launch.cluster()));
  if (launch.dynamic_shared_bytes() > 0) absl::StrAppend(&text, " shared ", BytesText(launch.dynamic_shared_bytes()));
  if (launch.cooperative()) absl::StrAppend(&text, " cooperative");
  if (launch.programmatic_stream_serialization()) absl::StrAppend(&text, " programmatic");
  return absl::StrCat(text, " (", absl::StrJoin(arguments, ", "), ")");
}

std::string StepText(const v1::LaunchPlan& plan, const v1::Step& step) {
  switch (step.action_case()) {
    case v1::Step::kLaunch:
      return absl::StrCat("launch ", LaunchText(plan, step.launch()));
    case v1::Step::kUpload:
      return absl::StrCat("upload ", BytesText(step.upload().bytes().data().size()), " to ",
                          PointerText(plan, step.upload().destination()));
    case v1::Step::kCopy:
      return absl::StrCat("copy ", BytesText(step.copy().width_bytes()), " x ", step.copy().rows(), " from ",
                          PointerText(plan, step.copy().source()), " to ",
                          PointerText(plan, step.copy().destination()));
    case v1::Step::kMemset:
      return absl::StrCat("memset ", PointerText(plan, step.memset().destination()), " to ", step.memset().value(),
                          ", ", step.memset().width_elements(), " x ", step.memset().rows(), " elements of ",
                          step.memset().element_bytes(), " B");
    case v1::Step::kAllocate:
      return absl::StrCat("allocate ", BufferName(plan, step.allocate().buffer()));
    case v1::Step::kFree:
      return absl::StrCat("free ", BufferName(plan, step.free().buffer()));
    default:
      return "nothing";
  }
}

std::string StepsSection(const v1::LaunchPlan& plan, const char* title,
                         const google::protobuf::RepeatedPtrField<v1::Step>& steps) {
  if (steps.empty()) return "";
  Rows rows;
  for (int i = 0; i < std::min(kShownSteps, steps.size()); ++i) {
    const v1::Step& step = steps[i];
    rows.push_back({absl::StrCat(i), step.stream() == 0 ? "" : absl::StrCat("stream ", step.stream()),
                    StepText(plan, step), PrintableLine(step.source_line())});
  }
  std::string text = absl::StrCat("  ", title, "\n", Columns(rows, "    "));
  if (steps.size() > kShownSteps)
    absl::StrAppend(&text, "    and ", steps.size() - kShownSteps, " more (--json shows all)\n");
  return text;
}

std::string BuffersSection(const v1::LaunchPlan& plan) {
  Rows rows;
  for (int i = 0; i < std::min(kShownBuffers, plan.buffers_size()); ++i) {
    const v1::Buffer& buffer = plan.buffers(i);
    rows.push_back({absl::StrCat(i), LowerCase(EnumName(buffer.kind())), BufferName(plan, i),
                    BytesText(buffer.size_bytes()), PrintableLine(buffer.source_line())});
  }
  std::string text = rows.empty() ? "" : absl::StrCat("  buffers\n", Columns(rows, "    "));
  if (plan.buffers_size() > kShownBuffers)
    absl::StrAppend(&text, "    and ", plan.buffers_size() - kShownBuffers, " more (--json shows all)\n");
  return text;
}

// By the numbers of CUtensorMapDataType and CUtensorMapSwizzle, which are ABI.
constexpr absl::string_view kElementTypes[] = {
    "uint8",   "uint16",   "uint32",      "int32",    "uint64",       "int64",       "float16",      "float32",
    "float64", "bfloat16", "float32 ftz", "tfloat32", "tfloat32 ftz", "4 bit (8 B)", "4 bit (16 B)", "6 bit (16 B)"};
constexpr absl::string_view kSwizzles[] = {
    "none", "32 B", "64 B", "128 B", "128 B of 32 B atoms", "128 B of 32 B atoms, flipped", "128 B of 64 B atoms"};

template <size_t kSize>
std::string NameOrNumber(const absl::string_view (&names)[kSize], uint32_t number) {
  return number < kSize ? std::string(names[number]) : absl::StrCat(number, "?");
}

std::string TensorMapsSection(const v1::LaunchPlan& plan) {
  std::string text;
  for (int i = 0; i < plan.tensor_maps_size(); ++i) {
    const v1::TensorMap& map = plan.tensor_maps(i);
    absl::StrAppend(&text,
                    fmt::format("    {}  {} [{}] strides [{}] B, box [{}], {}, swizzle {}\n", i,
                                PointerText(plan, map.base()), absl::StrJoin(map.global_dim(), ", "),
                                absl::StrJoin(map.global_stride_bytes(), ", "), absl::StrJoin(map.box_dim(), ", "),
                                NameOrNumber(kElementTypes, map.data_type()), NameOrNumber(kSwizzles, map.swizzle())));
  }
  return text.empty() ? "" : absl::StrCat("  tensor maps (innermost first)\n", text);
}

std::string PlanSection(const v1::LaunchPlan& plan, const Style& style) {
  std::string text = absl::StrCat("\n", style.Bold("Plan"), " ", style.Name(PrintableLine(plan.workload())), "  ",
                                  LowerCase(EnumName(plan.abi())), ", ", LowerCase(EnumName(plan.profile())),
                                  ", captured for ", PrintableLine(plan.device_model()), "\n");
  absl::StrAppend(&text, BuffersSection(plan), TensorMapsSection(plan), StepsSection(plan, "setup", plan.setup()),
                  StepsSection(plan, "each call", plan.steady()));
  for (const v1::DeviceAssumption& assumption : plan.assumptions()) {
    absl::StrAppend(&text, "  assumes ", PrintableLine(assumption.property()), " = ", assumption.value(), "\n");
  }
  for (const std::string& warning : plan.warnings())
    absl::StrAppend(&text, "  ", style.Warn("warning"), ": ", PrintableLine(warning), "\n");
  return text;
}

std::string FamiliesText(const v1::KernelFacts& kernel) {
  std::vector<std::string> families;
  for (const auto& [family, count] : kernel.sass_families())
    families.push_back(absl::StrCat(PrintableLine(family), " ", count));
  std::sort(families.begin(), families.end());
  return families.empty() ? "-" : absl::StrJoin(families, ", ");
}

std::string KernelsSection(const v1::Inspection& inspection, const Style& style) {
  Rows rows = {{"kernel", "registers", "stack", "spill st/ld", "shared", "max threads", "parameters", "SASS families"}};
  for (const v1::KernelFacts& kernel : inspection.kernels()) {
    rows.push_back({PrintableLine(kernel.name().empty() ? kernel.symbol() : kernel.name()),
                    absl::StrCat(kernel.registers()), BytesText(kernel.stack_bytes()),
                    absl::StrCat(kernel.spill_store_bytes(), "/", kernel.spill_load_bytes(), " B"),
                    BytesText(kernel.static_shared_bytes()), absl::StrCat(kernel.max_threads_per_block()),
                    absl::StrCat("[", absl::StrJoin(kernel.parameter_bytes(), ", "), "] B"), FamiliesText(kernel)});
  }
  return absl::StrCat("\n", style.Bold("Kernels"), "\n", Columns(rows, "  "));
}

}  // namespace

std::string RenderInspection(const v1::Inspection& inspection, const Style& style) {
  const v1::Compilation& compilation = inspection.compilation();
  std::string text = Columns(
      {{"bundle", inspection.bundle_sha256(), BytesText(inspection.bundle_bytes())},
       {"target", PrintableLine(compilation.arch()),
        absl::StrCat("toolkit ", PrintableLine(compilation.toolkit_version()))},
       {"source", inspection.source_sha256(), PrintableLine(absl::StrJoin(inspection.sources(), ", "))},
       {"contents",
        absl::StrCat("cubin ", BytesText(inspection.cubin_bytes()), ", PTX ", BytesText(inspection.ptx_bytes()))},
       {"options", PrintableLine(absl::StrJoin(compilation.options(), " "))}},
      "");
  absl::StrAppend(&text, KernelsSection(inspection, style));
  for (const v1::LaunchPlan& plan : inspection.plans()) absl::StrAppend(&text, PlanSection(plan, style));
  for (const std::string& warning : inspection.warnings())
    absl::StrAppend(&text, style.Warn("warning"), ": ", PrintableLine(warning), "\n");
  return text;
}

}  // namespace sassay::agent
