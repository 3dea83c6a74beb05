#include "agent/interop/triton/child_run.h"

#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/capture/plan/refusal.h"
#include "agent/interop/triton/child_files.h"
#include "common/base/proto_json.h"
#include "common/base/status_macros.h"
#include "common/terminal/text.h"
#include "common/workload/definition.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;

// Of the interpreter, and of each ptxas that it starts; Triton with LLVM takes less than 2 GiB.
constexpr uint64_t kMemoryBytes = uint64_t{8} << 30;
constexpr uint64_t kResultLimit = uint64_t{64} << 20;
constexpr uint64_t kOutputLimit = 64 << 10;

// "sm_90a" -> 90.
int ArchNumber(absl::string_view arch) {
  int number = 0;
  arch = arch.substr(arch.find('_') + 1);
  (void)absl::SimpleAtoi(arch.substr(0, arch.find_first_not_of("0123456789")), &number);
  return number;
}

absl::StatusOr<nlohmann::json> TensorTask(const v1::Workload& workload, const v1::TensorSpec& tensor) {
  nlohmann::json task = {{"name", tensor.name()}, {"scalar", tensor.scalar()}};
  if (tensor.scalar()) {
    ASSIGN_OR_RETURN(const double value, ScalarValue(workload, tensor));
    const bool floating = tensor.dtype() >= v1::DTYPE_FLOAT64 && tensor.dtype() <= v1::DTYPE_FLOAT8_E5M2;
    task["value"] = floating ? nlohmann::json(value) : nlohmann::json(static_cast<int64_t>(value));
    return task;
  }
  const uint64_t bytes = TensorBytes(tensor);
  task["dtype"] = LowerCase(EnumName(tensor.dtype()));
  task["shape"] = std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end());
  task["bytes"] = bytes;
  return task;
}

constexpr const char* kAttributes[] = {"cudaDevAttrMultiProcessorCount",
                                       "cudaDevAttrMaxSharedMemoryPerBlockOptin",
                                       "cudaDevAttrMaxSharedMemoryPerBlock",
                                       "cudaDevAttrMaxSharedMemoryPerMultiprocessor",
                                       "cudaDevAttrMaxRegistersPerMultiprocessor",
                                       "cudaDevAttrMaxRegistersPerBlock",
                                       "cudaDevAttrMaxThreadsPerMultiProcessor",
                                       "cudaDevAttrWarpSize",
                                       "cudaDevAttrL2CacheSize",
                                       "cudaDevAttrComputeCapabilityMajor",
                                       "cudaDevAttrComputeCapabilityMinor"};

nlohmann::json DeviceTask(const capture::DeviceModel& device) {
  nlohmann::json attributes = nlohmann::json::object();
  for (const char* name : kAttributes) {
    const auto found = device.attributes.find(capture::DeviceAttributeNumber(name));
    if (found != device.attributes.end()) attributes[name] = found->second;
  }
  return {{"name", device.name}, {"memory_bytes", device.memory_bytes}, {"attributes", attributes}};
}

absl::StatusOr<std::string> TaskText(const TritonRequest& request, const v1::Workload& workload) {
  nlohmann::json task = {{"arch_number", ArchNumber(request.arch)},
                         {"autotune_config", request.autotune_config},
                         {"device", DeviceTask(request.device)},
                         {"tensors", nlohmann::json::array()}};
  for (const auto* tensors : {&workload.inputs(), &workload.outputs()}) {
    for (const v1::TensorSpec& tensor : *tensors) {
      ASSIGN_OR_RETURN(nlohmann::json entry, TensorTask(workload, tensor));
      task["tensors"].push_back(std::move(entry));
    }
  }
  return task.dump();
}

uint32_t TensorsInMemory(const v1::Workload& workload) {
  uint32_t count = 0;
  for (const auto* tensors : {&workload.inputs(), &workload.outputs()})
    for (const v1::TensorSpec& tensor : *tensors) count += tensor.scalar() ? 0 : 1;
  return count;
}

v1::Verdict Failed(v1::VerdictStatus status, v1::Stage stage, v1::VerdictCode code, const std::string& reason) {
  v1::Verdict verdict;
  verdict.set_status(status);
  verdict.set_stage(stage);
  verdict.set_code(code);
  verdict.set_reason(capture::Printable(reason));
  return verdict;
}

v1::Verdict TooLate(absl::Duration timeout) {
  return Failed(
      v1::VERDICT_STATUS_COMPILE_ERROR, v1::STAGE_COMPILE, v1::VERDICT_CODE_COMPILE_TIMEOUT,
      absl::StrCat("kernel.py neither compiled nor returned from run() within ", absl::FormatDuration(timeout)));
}

// The interpreter died, or the candidate ended it past every handler.
v1::Verdict Died(const ExitReport& report) {
  v1::Verdict verdict = Failed(v1::VERDICT_STATUS_CAPTURE_ERROR, v1::STAGE_CAPTURE, v1::VERDICT_CODE_HOST_CRASH,
                               absl::StrCat("kernel.py ended its Python process: ", DescribeExit(report)));
  verdict.mutable_details()->add_notes(
      absl::StrCat("standard error: ", capture::Printable(report.stderr_text.substr(0, 2000), 1000)));
  return verdict;
}

}  // namespace

absl::StatusOr<TritonChild> TritonChild::Create(const TritonRequest& request) {
  ASSIGN_OR_RETURN(TemporaryDirectory root, TemporaryDirectory::Create("sassay-triton"));
  for (const char* name : {"candidate", "child"}) fs::create_directory(root.path() / name);
  RETURN_IF_ERROR(WriteTritonChild(root.path() / "child"));
  RETURN_IF_ERROR(WriteFileAtomically(root.path() / "candidate" / "kernel.py", request.source, 0644));
  return TritonChild(std::move(root), request);
}

std::string TritonChild::Seen(const char* inside, const std::string& host) const {
  return request_->unsandboxed.has_value() ? host : inside;
}

absl::StatusOr<Command> TritonChild::Wrap() const {
  const std::string out = Seen("/out", (root_.path() / "out").string());
  const std::string child = Seen("/child", (root_.path() / "child").string());
  const std::string ptxas = request_->unsandboxed.has_value()
                                ? request_->toolchain.ptxas
                                : ToolInside(request_->toolchain, request_->toolchain.ptxas);
  Command command;
  command.argv = {request_->installation.python,
                  "-s",
                  "-B",
                  absl::StrCat(child, "/", kTritonChild),
                  absl::StrCat(out, "/task.json"),
                  absl::StrCat(out, "/recording.json")};
  command.environment = {
      {"PATH", "/usr/bin:/bin"},
      {"HOME", "/tmp"},
      {"LC_ALL", "C.UTF-8"},
      {"PYTHONHASHSEED", "0"},
      {"PYTHONPATH", absl::StrCat(child, ":", Seen("/packages", request_->installation.site_packages))},
      {"SASSAY_CANDIDATE", Seen("/candidate", (root_.path() / "candidate").string())},
      {"TRITON_CACHE_DIR", absl::StrCat(out, "/cache")},
      {"TRITON_DEFAULT_FP_FUSION", "1"},
      {"TRITON_PTXAS_PATH", ptxas},
      {"TRITON_PTXAS_BLACKWELL_PATH", ptxas}};
  command.working_directory = out;
  SandboxPolicy policy;
  policy.read_only = ToolMounts(request_->toolchain, request_->toolchain.ptxas);
  policy.read_only.emplace_back((root_.path() / "candidate").string(), "/candidate");
  policy.read_only.emplace_back((root_.path() / "child").string(), "/child");
  policy.read_only.emplace_back(request_->installation.site_packages, "/packages");
  policy.writable = {{(root_.path() / "out").string(), "/out"}};
  policy.address_space_bytes = kMemoryBytes;
  policy.processes = 16;
  policy.cpu_time = request_->timeout * 2;
  return request_->unsandboxed.has_value() ? WrapWithoutSandbox(command, policy, *request_->unsandboxed)
                                           : WrapInSandbox(command, policy);
}

absl::StatusOr<std::variant<TritonRecording, v1::Verdict>> TritonChild::Run(const v1::Workload& workload,
                                                                            absl::Duration timeout) {
  ASSIGN_OR_RETURN(const std::string task, TaskText(*request_, workload));
  const fs::path out = root_.path() / "out";
  std::error_code error;
  fs::remove_all(out, error);
  fs::create_directory(out);
  RETURN_IF_ERROR(WriteFileAtomically(out / "task.json", task, 0644));
  ASSIGN_OR_RETURN(const Command command, Wrap());
  ASSIGN_OR_RETURN(const ExitReport report, RunToCompletion(command, timeout, kOutputLimit));
  RETURN_IF_ERROR(SandboxFailure(report));
  if (report.kind == ExitReport::Kind::kTimedOut) return TooLate(request_->timeout);
  if (!report.Succeeded()) return Died(report);
  const absl::StatusOr<std::string> text = ReadUntrustedFile(out / "recording.json", kResultLimit);
  if (!text.ok()) return Died(report);
  absl::StatusOr<TritonRecording> recording = ParseTritonRecording(*text, TensorsInMemory(workload));
  if (recording.ok()) return *std::move(recording);
  return Failed(v1::VERDICT_STATUS_CAPTURE_ERROR, v1::STAGE_CAPTURE, v1::VERDICT_CODE_UNSUPPORTED_API,
                std::string(recording.status().message()));
}

}  // namespace sassay::agent
