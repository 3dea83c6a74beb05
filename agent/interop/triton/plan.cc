#include "agent/interop/triton/plan.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/capture/plan/refusal.h"
#include "common/workload/definition.h"

namespace sassay::agent {
namespace {

constexpr char kFile[] = "kernel.py";

std::string Place(uint32_t line) { return line == 0 ? std::string(kFile) : absl::StrCat(kFile, ":", line); }

v1::Verdict Refused(v1::VerdictCode code, const std::string& reason) {
  v1::Verdict verdict;
  verdict.set_status(v1::VERDICT_STATUS_CAPTURE_ERROR);
  verdict.set_stage(v1::STAGE_CAPTURE);
  verdict.set_code(code);
  verdict.set_reason(capture::Printable(reason));
  return verdict;
}

// What differs between two steps, in words; empty if they ask for the same.
std::string Difference(const TritonStep& a, const TritonStep& b) {
  if (a.what.index() != b.what.index()) return "another kind of work";
  if (const auto* launch = std::get_if<TritonLaunch>(&a.what)) {
    const auto& other = std::get<TritonLaunch>(b.what);
    if (launch->kernel != other.kernel) return "another kernel or specialisation";
    if (!std::equal(std::begin(launch->grid), std::end(launch->grid), std::begin(other.grid))) return "another grid";
    return launch->arguments == other.arguments ? "" : "other arguments";
  }
  if (const auto* memset = std::get_if<TritonMemset>(&a.what)) {
    const auto& other = std::get<TritonMemset>(b.what);
    return memset->place == other.place && memset->size_bytes == other.size_bytes ? "" : "another range to clear";
  }
  const bool same = std::get<TritonAllocation>(a.what).size_bytes == std::get<TritonAllocation>(b.what).size_bytes;
  return same ? "" : "an allocation of another size";
}

std::optional<v1::Verdict> CompareCalls(const TritonRecording& recording) {
  const std::vector<TritonStep>& first = recording.calls.front();
  for (size_t call = 1; call < recording.calls.size(); ++call) {
    const std::vector<TritonStep>& other = recording.calls[call];
    for (size_t i = 0; i < std::min(first.size(), other.size()); ++i) {
      const std::string difference = Difference(first[i], other[i]);
      if (difference.empty()) continue;
      return Refused(v1::VERDICT_CODE_CALLS_DIFFER,
                     absl::StrCat(Place(other[i].line), ": call ", call + 1, " of run() asks for ", difference,
                                  " than the first: every call with these shapes must launch the same work"));
    }
    if (first.size() != other.size()) {
      return Refused(v1::VERDICT_CODE_CALLS_DIFFER,
                     absl::StrCat("the first call of run() makes ", first.size(), " steps, call ", call + 1, " makes ",
                                  other.size(), ": every call with these shapes must launch the same work"));
    }
  }
  return std::nullopt;
}

// Writes one call down as a plan.
class PlanWriter {
 public:
  PlanWriter(const TritonRecording& recording, const v1::Workload& workload, const std::vector<std::string>& kernels)
      : recording_(recording), kernels_(kernels) {
    plan_.set_workload(workload.name());
    // The nearest: tensors in destination-passing style.
    plan_.set_abi(v1::ENTRY_ABI_TVM_FFI);
    plan_.set_profile(v1::CAPTURE_PROFILE_STRICT);
    for (const v1::TensorSpec& tensor : workload.inputs()) AddTensor(tensor, v1::BUFFER_KIND_INPUT);
    for (const v1::TensorSpec& tensor : workload.outputs()) AddTensor(tensor, v1::BUFFER_KIND_OUTPUT);
    tensors_ = static_cast<uint32_t>(plan_.buffers_size());
  }

  TritonPlanOutcome Write(absl::string_view device_model) {
    for (const TritonStep& step : recording_.calls.back()) {
      std::visit([&](const auto& what) { Add(what, step.line); }, step.what);
      if (refused_.has_value()) return *std::move(refused_);
    }
    if (launches_ == 0) return Refused(v1::VERDICT_CODE_NO_LAUNCH, "run() returned without launching a kernel");
    for (int i = static_cast<int>(tensors_); i < plan_.buffers_size(); ++i)
      plan_.add_steady()->mutable_free()->set_buffer(static_cast<uint32_t>(i));
    Finish(device_model);
    return std::move(plan_);
  }

 private:
  void AddTensor(const v1::TensorSpec& tensor, v1::BufferKind kind) {
    if (tensor.scalar()) return;
    v1::Buffer* buffer = plan_.add_buffers();
    buffer->set_kind(kind);
    buffer->set_name(tensor.name());
    buffer->set_size_bytes(TensorBytes(tensor));
  }

  v1::Step& AddStep(uint32_t line) {
    v1::Step* step = plan_.add_steady();
    if (line > 0) step->set_source_line(Place(line));
    return *step;
  }

  void Add(const TritonAllocation& allocation, uint32_t line) {
    v1::Buffer* buffer = plan_.add_buffers();
    buffer->set_kind(v1::BUFFER_KIND_CALL_ALLOCATION);
    buffer->set_size_bytes(allocation.size_bytes);
    if (line > 0) buffer->set_source_line(Place(line));
    AddStep(line).mutable_allocate()->set_buffer(static_cast<uint32_t>(plan_.buffers_size() - 1));
  }

  void Add(const TritonMemset& memset, uint32_t line) {
    if (memset.size_bytes == 0) return;
    v1::DeviceMemset& step = *AddStep(line).mutable_memset();
    *step.mutable_destination() = Pointer(memset.place, line);
    step.set_element_bytes(1);
    step.set_width_elements(memset.size_bytes);
    step.set_rows(1);
  }

  void Add(const TritonLaunch& launch, uint32_t line) {
    ++launches_;
    const TritonKernel& kernel = recording_.kernels[launch.kernel];
    v1::KernelLaunch& step = *AddStep(line).mutable_launch();
    step.set_kernel(kernels_[launch.kernel]);
    SetExtents(launch.grid, *step.mutable_grid());
    const uint32_t block[3] = {kernel.threads, 1, 1};
    SetExtents(block, *step.mutable_block());
    step.set_dynamic_shared_bytes(kernel.shared_bytes);
    step.set_cooperative(kernel.cooperative);
    step.set_programmatic_stream_serialization(kernel.programmatic);
    for (const TritonArgument& argument : launch.arguments) AddArgument(argument, line, *step.add_arguments());
  }

  static void SetExtents(const uint32_t (&extents)[3], v1::Dim3& dim) {
    dim.set_x(extents[0]);
    dim.set_y(extents[1]);
    dim.set_z(extents[2]);
  }

  void AddArgument(const TritonArgument& argument, uint32_t line, v1::RelocatableBytes& bytes) {
    if (const auto* literal = std::get_if<std::string>(&argument)) {
      bytes.set_data(*literal);
    } else if (const auto* place = std::get_if<TritonPlace>(&argument)) {
      bytes.set_data(std::string(8, '\0'));
      *bytes.add_relocations()->mutable_pointer() = Pointer(*place, line);
    } else {
      bytes.set_data(std::string(128, '\0'));
      bytes.add_relocations()->set_tensor_map(TensorMap(std::get<TritonTensorMap>(argument), line));
    }
  }

  v1::BufferPointer Pointer(const TritonPlace& place, uint32_t line) {
    const uint32_t index = place.is_tensor ? place.number : tensors_ + place.number;
    const v1::Buffer& buffer = plan_.buffers(static_cast<int>(index));
    if (place.offset_bytes > buffer.size_bytes()) {
      refused_ = Refused(v1::VERDICT_CODE_POINTER_OUT_OF_BUFFER,
                         absl::StrCat(Place(line), ": a pointer ", place.offset_bytes, " bytes into ",
                                      buffer.name().empty() ? "an allocation" : buffer.name(), ", which has ",
                                      buffer.size_bytes(), " bytes"));
    }
    v1::BufferPointer pointer;
    pointer.set_buffer(index);
    pointer.set_offset_bytes(place.offset_bytes);
    return pointer;
  }

  // As Triton's own launcher encodes them: no interleave, unit element strides, promotion to 128-byte sectors.
  uint32_t TensorMap(const TritonTensorMap& map, uint32_t line) {
    v1::TensorMap& tensor_map = *plan_.add_tensor_maps();
    tensor_map.set_data_type(map.data_type);
    *tensor_map.mutable_base() = Pointer(map.base, line);
    tensor_map.mutable_global_dim()->Add(map.dims.begin(), map.dims.end());
    tensor_map.mutable_global_stride_bytes()->Add(map.stride_bytes.begin(), map.stride_bytes.end());
    tensor_map.mutable_box_dim()->Add(map.box.begin(), map.box.end());
    for (size_t i = 0; i < map.dims.size(); ++i) tensor_map.add_element_stride(1);
    tensor_map.set_swizzle(map.swizzle);
    tensor_map.set_l2_promotion(2);
    tensor_map.set_oob_fill(map.nan_fill ? 1 : 0);
    return static_cast<uint32_t>(plan_.tensor_maps_size() - 1);
  }

  void Finish(absl::string_view device_model) {
    plan_.set_device_model(std::string(device_model));
    for (const auto& [property, value] : recording_.assumptions) {
      v1::DeviceAssumption* assumption = plan_.add_assumptions();
      assumption->set_property(property);
      assumption->set_value(value);
    }
    for (const std::string& warning : recording_.warnings) plan_.add_warnings(capture::Printable(warning));
  }

  const TritonRecording& recording_;
  const std::vector<std::string>& kernels_;
  v1::LaunchPlan plan_;
  uint32_t tensors_ = 0;
  uint64_t launches_ = 0;
  std::optional<v1::Verdict> refused_;
};

std::string LineText(absl::string_view source, uint32_t line) {
  const std::vector<absl::string_view> lines = absl::StrSplit(source, '\n');
  return line == 0 || line > lines.size() ? "" : std::string(lines[line - 1].substr(0, 500));
}

v1::VerdictCode CodeOf(const TritonFailure& failure) {
  v1::VerdictCode code;
  if (v1::VerdictCode_Parse(absl::StrCat("VERDICT_CODE_", failure.code), &code)) return code;
  return failure.in_compilation ? v1::VERDICT_CODE_NVCC_ERROR : v1::VERDICT_CODE_HOST_CRASH;
}

v1::Verdict CompilationFailed(const TritonFailure& failure, absl::string_view source) {
  v1::Verdict verdict;
  verdict.set_status(v1::VERDICT_STATUS_COMPILE_ERROR);
  verdict.set_stage(v1::STAGE_COMPILE);
  verdict.set_code(v1::VERDICT_CODE_NVCC_ERROR);
  const std::string message = capture::Printable(failure.message, 1000);
  verdict.set_reason(absl::StrCat(Place(failure.line), ": error: ", message));
  v1::Diagnostic* diagnostic = verdict.mutable_details()->add_diagnostics();
  diagnostic->set_severity("error");
  diagnostic->set_file(kFile);
  diagnostic->set_line(failure.line);
  diagnostic->set_column(failure.column);
  diagnostic->set_message(message);
  diagnostic->set_source_text(capture::Printable(LineText(source, failure.line)));
  diagnostic->set_tool("triton");
  return verdict;
}

}  // namespace

TritonPlanOutcome MakeTritonPlan(const TritonRecording& recording, const v1::Workload& workload,
                                 const std::vector<std::string>& kernels, absl::string_view device_model) {
  if (std::optional<v1::Verdict> refused = CompareCalls(recording); refused.has_value()) return *std::move(refused);
  return PlanWriter(recording, workload, kernels).Write(device_model);
}

v1::Verdict TritonFailureVerdict(const TritonFailure& failure, absl::string_view source) {
  if (failure.in_compilation) return CompilationFailed(failure, source);
  const std::string place = failure.line == 0 ? "" : absl::StrCat(Place(failure.line), ": ");
  return Refused(CodeOf(failure), absl::StrCat(place, failure.message));
}

}  // namespace sassay::agent
