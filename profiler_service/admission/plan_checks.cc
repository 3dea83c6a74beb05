#include "profiler_service/admission/plan_checks.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_json.h"
#include "common/bundle/tensor_map.h"
#include "common/demangle/demangle.h"
#include "common/workload/definition.h"

namespace sassay::admission {
namespace {

using v1::BufferKind;
using v1::BufferPointer;
using v1::RelocatableBytes;
using v1::Step;

constexpr uint64_t kPointerBytes = 8;
constexpr int kMaxDependencies = 256;
constexpr int kMaxShownWarnings = 16;

bool IsTensor(BufferKind kind) { return kind == v1::BUFFER_KIND_INPUT || kind == v1::BUFFER_KIND_OUTPUT; }

bool IsAllocation(BufferKind kind) {
  return kind == v1::BUFFER_KIND_SETUP_ALLOCATION || kind == v1::BUFFER_KIND_CALL_ALLOCATION;
}

}  // namespace

PlanChecker::PlanChecker(const v1::LaunchPlan& untrusted_plan, const v1::Workload& workload, const Cubin& cubin,
                         const ArchLimits& arch, const Limits& limits, const DeviceFacts& device, std::string path)
    : plan_(untrusted_plan),
      workload_(workload),
      cubin_(cubin),
      arch_(arch),
      limits_(limits),
      device_(device),
      path_(std::move(path)) {}

Rejection PlanChecker::Refuse(v1::VerdictCode code, absl::string_view field, std::string reason) const {
  return {code, std::string(field), std::move(reason)};
}

Complaint PlanChecker::Check() {
  if (auto complaint = CheckHead()) return complaint;
  if (auto complaint = CheckBuffers()) return complaint;
  if (auto complaint = CheckTensorMaps()) return complaint;
  if (auto complaint = CheckAssumptions()) return complaint;
  if (auto complaint = CheckSteps(plan_.setup(), /*setup=*/true)) return complaint;
  return CheckSteps(plan_.steady(), /*setup=*/false);
}

Complaint PlanChecker::CheckHead() const {
  if (plan_.abi() != v1::ENTRY_ABI_C && plan_.abi() != v1::ENTRY_ABI_TVM_FFI) {
    return Refuse(v1::VERDICT_CODE_BUNDLE_MALFORMED, path_ + ".abi",
                  absl::StrCat(EnumName(plan_.abi()), ", expected C or TVM_FFI"));
  }
  if (plan_.profile() != v1::CAPTURE_PROFILE_STRICT && plan_.profile() != v1::CAPTURE_PROFILE_LENIENT) {
    return Refuse(v1::VERDICT_CODE_BUNDLE_MALFORMED, path_ + ".profile",
                  absl::StrCat(EnumName(plan_.profile()), ", expected STRICT or LENIENT"));
  }
  return CheckWarnings();
}

Complaint PlanChecker::CheckWarnings() const {
  if (static_cast<uint32_t>(plan_.warnings_size()) > limits_.max_warnings) {
    return Refuse(v1::VERDICT_CODE_PLAN_LIMIT, path_ + ".warnings",
                  absl::StrCat(plan_.warnings_size(), " warnings, at most ", limits_.max_warnings));
  }
  for (int i = 0; i < plan_.warnings_size(); ++i) {
    if (auto complaint = CheckText(plan_.warnings(i), absl::StrCat(path_, ".warnings[", i, "]"))) return complaint;
  }
  return absl::nullopt;
}

Complaint PlanChecker::CheckText(absl::string_view text, const std::string& path) const {
  if (text.size() <= limits_.max_text_bytes) return absl::nullopt;
  return Refuse(v1::VERDICT_CODE_PLAN_LIMIT, path,
                absl::StrCat(text.size(), " bytes of text, at most ", limits_.max_text_bytes));
}

// ---- buffers ----

Complaint PlanChecker::CheckBuffers() {
  if (static_cast<uint64_t>(plan_.buffers_size()) > limits_.max_buffers) {
    return Refuse(v1::VERDICT_CODE_PLAN_LIMIT, path_ + ".buffers",
                  absl::StrCat(plan_.buffers_size(), " buffers, at most ", limits_.max_buffers));
  }
  if (auto complaint = CheckTensors()) return complaint;
  life_.assign(plan_.buffers_size(), Life::kAlive);
  for (int i = 0; i < plan_.buffers_size(); ++i) {
    if (auto complaint = CheckBuffer(i)) return complaint;
  }
  return CheckMemory();
}

// Inputs and outputs come first, in the definition's order.
Complaint PlanChecker::CheckTensors() const {
  int index = 0;
  for (const v1::TensorSpec& tensor : workload_.inputs()) {
    if (tensor.scalar()) continue;
    if (auto complaint = CheckTensor(tensor, v1::BUFFER_KIND_INPUT, index++)) return complaint;
  }
  for (const v1::TensorSpec& tensor : workload_.outputs()) {
    if (auto complaint = CheckTensor(tensor, v1::BUFFER_KIND_OUTPUT, index++)) return complaint;
  }
  for (; index < plan_.buffers_size(); ++index) {
    if (IsTensor(plan_.buffers(index).kind())) {
      return Refuse(v1::VERDICT_CODE_WORKLOAD_MISMATCH, absl::StrCat(path_, ".buffers[", index, "]"),
                    absl::StrCat("tensor '", plan_.buffers(index).name(), "' is not one of ", workload_.name()));
    }
  }
  return absl::nullopt;
}

Complaint PlanChecker::CheckTensor(const v1::TensorSpec& tensor, BufferKind kind, int index) const {
  const std::string path = absl::StrCat(path_, ".buffers[", index, "]");
  const std::string expected =
      absl::StrCat("expected ", EnumName(kind), " ", tensor.name(), " of ", TensorBytes(tensor), " bytes");
  if (index >= plan_.buffers_size()) return Refuse(v1::VERDICT_CODE_WORKLOAD_MISMATCH, path, "missing, " + expected);
  const v1::Buffer& buffer = plan_.buffers(index);
  if (buffer.kind() == kind && buffer.name() == tensor.name() && buffer.size_bytes() == TensorBytes(tensor)) {
    return absl::nullopt;
  }
  return Refuse(
      v1::VERDICT_CODE_WORKLOAD_MISMATCH, path,
      absl::StrCat(EnumName(buffer.kind()), " ", buffer.name(), " of ", buffer.size_bytes(), " bytes, ", expected));
}

Complaint PlanChecker::CheckBuffer(int index) {
  const v1::Buffer& buffer = plan_.buffers(index);
  const std::string path = absl::StrCat(path_, ".buffers[", index, "]");
  if (auto complaint = CheckText(buffer.source_line(), path + ".source_line")) return complaint;
  if (IsTensor(buffer.kind())) {
    memory_bytes_ += buffer.size_bytes();
    return absl::nullopt;
  }
  if (buffer.kind() == v1::BUFFER_KIND_SYMBOL) {
    const CubinVariable* variable = cubin_.FindVariable(buffer.name());
    if (variable == nullptr) {
      return Refuse(v1::VERDICT_CODE_PLAN_POINTER_INVALID, path + ".name",
                    absl::StrCat("the cubin has no variable '", buffer.name(), "'"));
    }
    if (variable->size_bytes == buffer.size_bytes()) return absl::nullopt;
    return Refuse(
        v1::VERDICT_CODE_PLAN_POINTER_INVALID, path + ".size_bytes",
        absl::StrCat(buffer.size_bytes(), ", '", buffer.name(), "' has ", variable->size_bytes, " bytes in the cubin"));
  }
  if (!IsAllocation(buffer.kind())) {
    return Refuse(v1::VERDICT_CODE_BUNDLE_MALFORMED, path + ".kind",
                  absl::StrCat(EnumName(buffer.kind()), " is not a kind of buffer"));
  }
  if (buffer.size_bytes() == 0) {
    return Refuse(v1::VERDICT_CODE_BUNDLE_MALFORMED, path + ".size_bytes", "0, an allocation has at least 1 byte");
  }
  if (buffer.size_bytes() > limits_.max_memory_bytes) {
    return Refuse(
        v1::VERDICT_CODE_MEMORY_BUDGET, path + ".size_bytes",
        absl::StrCat(buffer.size_bytes(), " bytes, all buffers together may have ", limits_.max_memory_bytes));
  }
  memory_bytes_ += buffer.size_bytes();
  return absl::nullopt;
}

Complaint PlanChecker::CheckMemory() const {
  uint64_t budget = limits_.max_memory_bytes;
  std::string whose = "the service allows";
  const uint64_t share =
      static_cast<uint64_t>(static_cast<double>(device_.memory_bytes) * limits_.max_device_memory_share);
  if (device_.memory_bytes != 0 && share < budget) {
    budget = share;
    whose = absl::StrCat(device_.model, " allows");
  }
  if (memory_bytes_ <= budget) return absl::nullopt;
  return Refuse(v1::VERDICT_CODE_MEMORY_BUDGET, path_ + ".buffers",
                absl::StrCat(memory_bytes_, " bytes in all, ", whose, " ", budget));
}

Complaint PlanChecker::CheckTensorMaps() {
  if (static_cast<uint64_t>(plan_.tensor_maps_size()) > limits_.max_tensor_maps) {
    return Refuse(v1::VERDICT_CODE_PLAN_LIMIT, path_ + ".tensor_maps",
                  absl::StrCat(plan_.tensor_maps_size(), " tensor maps, at most ", limits_.max_tensor_maps));
  }
  for (int i = 0; i < plan_.tensor_maps_size(); ++i) {
    const v1::TensorMap& map = plan_.tensor_maps(i);
    const std::string path = absl::StrCat(path_, ".tensor_maps[", i, "]");
    if (!arch_.clusters) {
      return Refuse(v1::VERDICT_CODE_TENSOR_MAP_INVALID, path, absl::StrCat("sm_", arch_.sm, " has no tensor maps"));
    }
    if (const absl::Status status = ValidateTensorMap(map); !status.ok()) {
      return Refuse(v1::VERDICT_CODE_TENSOR_MAP_INVALID, path, std::string(status.message()));
    }
    const BufferPointer& base = map.base();
    if (base.buffer() >= static_cast<uint32_t>(plan_.buffers_size()) ||
        base.offset_bytes() > plan_.buffers(base.buffer()).size_bytes()) {
      return Refuse(v1::VERDICT_CODE_PLAN_POINTER_INVALID, path + ".base", "points outside every buffer");
    }
    const auto extent = TensorMapExtentBytes(map);
    const uint64_t room = plan_.buffers(base.buffer()).size_bytes() - base.offset_bytes();
    if ((!extent || *extent > room) && warnings_.size() < kMaxShownWarnings) {
      warnings_.push_back(absl::StrCat(path, " describes more memory than is left of ", BufferText(base.buffer()), " (",
                                       room, " bytes)"));
    }
  }
  return absl::nullopt;
}

Complaint PlanChecker::CheckAssumptions() const {
  if (static_cast<uint64_t>(plan_.assumptions_size()) > limits_.max_assumptions) {
    return Refuse(v1::VERDICT_CODE_PLAN_LIMIT, path_ + ".assumptions",
                  absl::StrCat(plan_.assumptions_size(), " assumptions, at most ", limits_.max_assumptions));
  }
  if (device_.emulated) return absl::nullopt;
  for (int i = 0; i < plan_.assumptions_size(); ++i) {
    const v1::DeviceAssumption& assumption = plan_.assumptions(i);
    const std::string path = absl::StrCat(path_, ".assumptions[", i, "]");
    if (assumption.property() == "cudaDevAttrMultiProcessorCount" && assumption.value() != device_.multiprocessors) {
      return Refuse(v1::VERDICT_CODE_DEVICE_MISMATCH, path,
                    absl::StrCat("captured for ", assumption.value(), " SMs, this GPU has ", device_.multiprocessors,
                                 " (", device_.model, "); compile again for this model"));
    }
    const auto known = device_.attributes.find(assumption.property());
    if (known != device_.attributes.end() && known->second != assumption.value()) {
      return Refuse(v1::VERDICT_CODE_DEVICE_MISMATCH, path,
                    absl::StrCat("captured for ", assumption.property(), " = ", assumption.value(), ", this GPU has ",
                                 known->second, " (", device_.model, "); compile again for this model"));
    }
  }
  return absl::nullopt;
}

// ---- steps ----

Complaint PlanChecker::CheckSteps(const Steps& steps, bool setup) {
  const std::string list = path_ + (setup ? ".setup" : ".steady");
  const auto launches = static_cast<uint64_t>(
      std::count_if(steps.begin(), steps.end(), [](const Step& step) { return step.has_launch(); }));
  if (launches > limits_.max_launches) {
    return Refuse(v1::VERDICT_CODE_PLAN_LIMIT, list,
                  absl::StrCat(launches, " launches, at most ", limits_.max_launches));
  }
  if (static_cast<uint64_t>(steps.size()) > limits_.max_steps) {
    return Refuse(v1::VERDICT_CODE_PLAN_LIMIT, list, absl::StrCat(steps.size(), " steps, at most ", limits_.max_steps));
  }
  if (!setup && launches == 0) return Refuse(v1::VERDICT_CODE_NO_LAUNCH, list, "a call launches no kernel");
  // A buffer that the list brings to life is not alive before.
  for (const Step& step : steps) {
    if (step.has_allocate() && step.allocate().buffer() < life_.size()) {
      life_[step.allocate().buffer()] = Life::kNotYet;
    }
  }
  transfer_bytes_ = transfer_rows_ = 0;
  for (int i = 0; i < steps.size(); ++i) {
    const std::string path = absl::StrCat(list, "[", i, "]");
    if (auto complaint = CheckOrder(steps[i], i, path)) return complaint;
    if (auto complaint = CheckAction(steps[i], setup, path)) return complaint;
  }
  return absl::nullopt;
}

Complaint PlanChecker::CheckOrder(const Step& step, int index, const std::string& path) const {
  if (auto complaint = CheckText(step.source_line(), path + ".source_line")) return complaint;
  if (step.stream() >= limits_.max_streams) {
    return Refuse(v1::VERDICT_CODE_PLAN_LIMIT, path + ".stream",
                  absl::StrCat(step.stream(), ", at most ", limits_.max_streams, " streams"));
  }
  if (step.depends_on_size() > kMaxDependencies) {
    return Refuse(v1::VERDICT_CODE_PLAN_LIMIT, path + ".depends_on",
                  absl::StrCat(step.depends_on_size(), " dependencies, at most ", kMaxDependencies));
  }
  for (const uint32_t earlier : step.depends_on()) {
    if (earlier >= static_cast<uint32_t>(index)) {
      return Refuse(v1::VERDICT_CODE_BUNDLE_MALFORMED, path + ".depends_on",
                    absl::StrCat("step ", earlier, " does not come before step ", index));
    }
  }
  return absl::nullopt;
}

Complaint PlanChecker::CheckAction(const Step& step, bool setup, const std::string& path) {
  switch (step.action_case()) {
    case Step::kLaunch:
      return CheckLaunch(step.launch(), path + ".launch");
    case Step::kUpload:
      return CheckUpload(step.upload(), path + ".upload");
    case Step::kCopy:
      return CheckCopy(step.copy(), path + ".copy");
    case Step::kMemset:
      return CheckMemset(step.memset(), path + ".memset");
    case Step::kAllocate:
      return CheckAllocate(step.allocate(), setup, path + ".allocate");
    case Step::kFree:
      return CheckFree(step.free(), setup, path + ".free");
    case Step::ACTION_NOT_SET:
      break;
  }
  return Refuse(v1::VERDICT_CODE_BUNDLE_MALFORMED, path, "the step asks for nothing");
}

Complaint PlanChecker::CheckLaunch(const v1::KernelLaunch& launch, const std::string& path) {
  const CubinKernel* kernel = cubin_.FindKernel(launch.kernel());
  if (kernel == nullptr) {
    return Refuse(v1::VERDICT_CODE_KERNEL_MISSING, path + ".kernel",
                  absl::StrCat("the cubin has no kernel '", launch.kernel(), "'"));
  }
  if (auto complaint = CheckLaunchShape(launch, *kernel, arch_, device_, path)) return complaint;
  if (static_cast<size_t>(launch.arguments_size()) != kernel->parameters.size()) {
    return Refuse(v1::VERDICT_CODE_PARAMETERS_MISMATCH, path + ".arguments",
                  absl::StrCat(launch.arguments_size(), " arguments, ", Demangle(kernel->symbol), " has ",
                               kernel->parameters.size(), " parameters in the cubin"));
  }
  for (int i = 0; i < launch.arguments_size(); ++i) {
    const std::string argument = absl::StrCat(path, ".arguments[", i, "]");
    if (launch.arguments(i).data().size() != kernel->parameters[i].size_bytes) {
      return Refuse(v1::VERDICT_CODE_PARAMETERS_MISMATCH, argument,
                    absl::StrCat(launch.arguments(i).data().size(), " bytes, expected ",
                                 kernel->parameters[i].size_bytes, " as the cubin says of ", Demangle(kernel->symbol)));
    }
    if (auto complaint = CheckBytes(launch.arguments(i), argument)) return complaint;
  }
  return absl::nullopt;
}

Complaint PlanChecker::CheckUpload(const v1::Upload& upload, const std::string& path) {
  const uint64_t size = upload.bytes().data().size();
  if (auto complaint = CheckBytes(upload.bytes(), path + ".bytes")) return complaint;
  if (auto complaint = CheckRange(upload.destination(), size, 1, 0, path + ".destination")) return complaint;
  return AddTransfer(size, 1, path);
}

Complaint PlanChecker::CheckCopy(const v1::DeviceCopy& copy, const std::string& path) {
  const uint64_t width = copy.width_bytes(), rows = copy.rows();
  if (auto complaint =
          CheckRange(copy.destination(), width, rows, copy.destination_pitch_bytes(), path + ".destination")) {
    return complaint;
  }
  if (auto complaint = CheckRange(copy.source(), width, rows, copy.source_pitch_bytes(), path + ".source")) {
    return complaint;
  }
  return AddTransfer(width, rows, path);
}

Complaint PlanChecker::CheckMemset(const v1::DeviceMemset& memset, const std::string& path) {
  const uint64_t element = memset.element_bytes();
  if (element != 1 && element != 2 && element != 4) {
    return Refuse(v1::VERDICT_CODE_BUNDLE_MALFORMED, path + ".element_bytes",
                  absl::StrCat(element, ", expected 1, 2 or 4"));
  }
  uint64_t width = 0;
  if (__builtin_mul_overflow(memset.width_elements(), element, &width)) width = UINT64_MAX;
  if (auto complaint =
          CheckRange(memset.destination(), width, memset.rows(), memset.pitch_bytes(), path + ".destination")) {
    return complaint;
  }
  const bool pitched = memset.rows() > 1;
  if (memset.destination().offset_bytes() % element != 0 || (pitched && memset.pitch_bytes() % element != 0)) {
    return Refuse(v1::VERDICT_CODE_PLAN_POINTER_INVALID, path + ".destination",
                  absl::StrCat("offset ", memset.destination().offset_bytes(), " or pitch ", memset.pitch_bytes(),
                               " is not a multiple of the element's ", element, " bytes"));
  }
  return AddTransfer(width, memset.rows(), path);
}

Complaint PlanChecker::CheckOwner(const v1::Lifetime& lifetime, bool setup, const std::string& path) const {
  if (lifetime.buffer() >= life_.size()) {
    return Refuse(v1::VERDICT_CODE_PLAN_POINTER_INVALID, path + ".buffer",
                  absl::StrCat(lifetime.buffer(), ", the plan has ", life_.size(), " buffers"));
  }
  const BufferKind kind = plan_.buffers(lifetime.buffer()).kind();
  const BufferKind expected = setup ? v1::BUFFER_KIND_SETUP_ALLOCATION : v1::BUFFER_KIND_CALL_ALLOCATION;
  if (kind == expected) return absl::nullopt;
  return Refuse(v1::VERDICT_CODE_PLAN_POINTER_INVALID, path + ".buffer",
                absl::StrCat(BufferText(lifetime.buffer()), " is ", EnumName(kind), ", only a ", EnumName(expected),
                             " begins and ends here"));
}

Complaint PlanChecker::CheckAllocate(const v1::Lifetime& lifetime, bool setup, const std::string& path) {
  if (auto complaint = CheckOwner(lifetime, setup, path)) return complaint;
  Life& life = life_[lifetime.buffer()];
  if (life != Life::kNotYet) {
    return Refuse(v1::VERDICT_CODE_PLAN_POINTER_INVALID, path,
                  absl::StrCat(BufferText(lifetime.buffer()), " is allocated twice"));
  }
  life = Life::kAlive;
  return absl::nullopt;
}

Complaint PlanChecker::CheckFree(const v1::Lifetime& lifetime, bool setup, const std::string& path) {
  if (auto complaint = CheckOwner(lifetime, setup, path)) return complaint;
  Life& life = life_[lifetime.buffer()];
  if (life != Life::kAlive) {
    return Refuse(v1::VERDICT_CODE_PLAN_POINTER_INVALID, path,
                  absl::StrCat(BufferText(lifetime.buffer()), " is freed while it is not allocated"));
  }
  life = Life::kFreed;
  return absl::nullopt;
}

// ---- pointers ----

Complaint PlanChecker::CheckBytes(const RelocatableBytes& bytes, const std::string& path) {
  relocations_ += bytes.relocations_size();
  if (relocations_ > limits_.max_relocations) {
    return Refuse(v1::VERDICT_CODE_PLAN_LIMIT, path,
                  absl::StrCat("more than ", limits_.max_relocations, " relocations in the plan"));
  }
  uint64_t free_from = 0;
  for (int i = 0; i < bytes.relocations_size(); ++i) {
    const std::string where = absl::StrCat(path, ".relocations[", i, "]");
    if (auto complaint = CheckRelocation(bytes, i, free_from, where)) return complaint;
    const v1::Relocation& relocation = bytes.relocations(i);
    free_from = relocation.at_bytes() + (relocation.has_pointer() ? kPointerBytes : kTensorMapBytes);
  }
  return absl::nullopt;
}

Complaint PlanChecker::CheckRelocation(const RelocatableBytes& bytes, int index, uint64_t free_from,
                                       const std::string& path) const {
  const v1::Relocation& relocation = bytes.relocations(index);
  if (relocation.target_case() == v1::Relocation::TARGET_NOT_SET) {
    return Refuse(v1::VERDICT_CODE_BUNDLE_MALFORMED, path, "it has no target");
  }
  const uint64_t size = relocation.has_pointer() ? kPointerBytes : kTensorMapBytes;
  const uint64_t at = relocation.at_bytes();
  if (at > bytes.data().size() || size > bytes.data().size() - at) {
    return Refuse(v1::VERDICT_CODE_PLAN_POINTER_INVALID, path,
                  absl::StrCat(size, " bytes at ", at, " reach past the ", bytes.data().size(), " bytes there are"));
  }
  if (at < free_from) {
    return Refuse(v1::VERDICT_CODE_PLAN_POINTER_INVALID, path,
                  absl::StrCat("begins at ", at, ", inside or before the one before it, which ends at ", free_from));
  }
  if (absl::string_view(bytes.data()).substr(at, size).find_first_not_of('\0') != absl::string_view::npos) {
    return Refuse(v1::VERDICT_CODE_BUNDLE_MALFORMED, path, "the bytes under it are not zero");
  }
  if (relocation.has_pointer()) return CheckPointer(relocation.pointer(), path + ".pointer");
  if (relocation.tensor_map() >= static_cast<uint32_t>(plan_.tensor_maps_size())) {
    return Refuse(v1::VERDICT_CODE_PLAN_POINTER_INVALID, path + ".tensor_map",
                  absl::StrCat(relocation.tensor_map(), ", the plan has ", plan_.tensor_maps_size(), " tensor maps"));
  }
  return CheckPointer(plan_.tensor_maps(relocation.tensor_map()).base(), path + ".tensor_map");
}

Complaint PlanChecker::CheckPointer(const BufferPointer& pointer, const std::string& path) const {
  if (pointer.buffer() >= life_.size()) {
    return Refuse(v1::VERDICT_CODE_PLAN_POINTER_INVALID, path + ".buffer",
                  absl::StrCat(pointer.buffer(), ", the plan has ", life_.size(), " buffers"));
  }
  const v1::Buffer& buffer = plan_.buffers(pointer.buffer());
  if (pointer.offset_bytes() > buffer.size_bytes()) {
    return Refuse(v1::VERDICT_CODE_PLAN_POINTER_INVALID, path + ".offset_bytes",
                  absl::StrCat(pointer.offset_bytes(), ", ", BufferText(pointer.buffer()), " has ", buffer.size_bytes(),
                               " bytes"));
  }
  if (life_[pointer.buffer()] == Life::kAlive) return absl::nullopt;
  const bool freed = life_[pointer.buffer()] == Life::kFreed;
  return Refuse(v1::VERDICT_CODE_PLAN_POINTER_INVALID, path,
                absl::StrCat(BufferText(pointer.buffer()),
                             freed ? " is used after it was freed" : " is used before it is allocated"));
}

Complaint PlanChecker::CheckRange(const BufferPointer& pointer, uint64_t width, uint64_t rows, uint64_t pitch,
                                  const std::string& path) const {
  if (auto complaint = CheckPointer(pointer, path)) return complaint;
  if (rows == 0) return Refuse(v1::VERDICT_CODE_BUNDLE_MALFORMED, path, "0 rows, expected at least 1");
  if (rows > 1 && pitch < width) {
    return Refuse(v1::VERDICT_CODE_PLAN_POINTER_INVALID, path,
                  absl::StrCat("rows of ", width, " bytes are only ", pitch, " bytes apart"));
  }
  uint64_t end = 0;
  const bool overflow =
      __builtin_mul_overflow(rows - 1, rows > 1 ? pitch : 0, &end) || __builtin_add_overflow(end, width, &end);
  const uint64_t room = plan_.buffers(pointer.buffer()).size_bytes() - pointer.offset_bytes();
  if (!overflow && end <= room) return absl::nullopt;
  return Refuse(v1::VERDICT_CODE_PLAN_POINTER_INVALID, path,
                absl::StrCat(rows, " rows of ", width, " bytes from offset ", pointer.offset_bytes(), " reach past ",
                             BufferText(pointer.buffer()), ", which has ", plan_.buffers(pointer.buffer()).size_bytes(),
                             " bytes"));
}

Complaint PlanChecker::AddTransfer(uint64_t width_bytes, uint64_t rows, const std::string& path) {
  if (__builtin_add_overflow(transfer_rows_, rows, &transfer_rows_) || transfer_rows_ > limits_.max_transfer_rows) {
    return Refuse(v1::VERDICT_CODE_PLAN_LIMIT, path,
                  absl::StrCat("copies and fills have more than ", limits_.max_transfer_rows, " rows in all"));
  }
  uint64_t bytes = 0;
  if (!__builtin_mul_overflow(width_bytes, rows, &bytes) &&
      !__builtin_add_overflow(transfer_bytes_, bytes, &transfer_bytes_) &&
      transfer_bytes_ <= limits_.max_transfer_bytes) {
    return absl::nullopt;
  }
  return Refuse(v1::VERDICT_CODE_PLAN_LIMIT, path,
                absl::StrCat("copies and fills write more than ", limits_.max_transfer_bytes, " bytes in all"));
}

std::string PlanChecker::BufferText(uint32_t index) const {
  const v1::Buffer& buffer = plan_.buffers(static_cast<int>(index));
  if (!buffer.name().empty()) return buffer.name();
  if (!buffer.source_line().empty())
    return absl::StrCat("buffer ", index, " (allocated at ", buffer.source_line(), ")");
  return absl::StrCat("buffer ", index);
}

}  // namespace sassay::admission
