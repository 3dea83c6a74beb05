#include "agent/capture/plan/capture.h"

#include <sys/stat.h>

#include <memory>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/capture/plan/plan_builder.h"
#include "agent/capture/plan/refusal.h"
#include "agent/capture/plan/source_lines.h"
#include "agent/capture/plan/task_text.h"
#include "agent/capture/record/record.pb.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/cubin.h"
#include "common/process/subprocess.h"

namespace sassay::capture {
namespace {

namespace v1 = sassay::v1;
namespace fs = std::filesystem;

constexpr char kHostProgram[] = "mini-ptx-capture-host";
// Where things lie inside the sandbox. Fixed, because paths are part of what makes a capture reproducible.
constexpr char kBinInside[] = "/sassay/bin", kLibInside[] = "/sassay/lib", kCandidateInside[] = "/work/candidate.so",
               kTvmFfiInside[] = "/tvm_ffi/libtvm_ffi.so";

// The programs and files of one capture, by their places on this machine.
struct Places {
  fs::path bin, lib;
  std::unique_ptr<TemporaryDirectory> directory;
  fs::path candidate;
  fs::path tvm_ffi_library;
};

absl::StatusOr<fs::path> ProgramDirectory(const CaptureRequest& request) {
  std::error_code error;
  const fs::path directory = request.program_directory.empty() ? fs::read_symlink("/proc/self/exe", error).parent_path()
                                                               : fs::absolute(request.program_directory);
  for (const fs::path& needed : {directory / kHostProgram, directory / "mini-ptx-capture-child",
                                 directory.parent_path() / "lib" / "sassay-capture" / "libcudart.so.13"}) {
    if (!fs::exists(needed, error)) {
      return absl::NotFoundError(absl::StrCat(needed.string(), " is missing: install the agent's programs together"));
    }
  }
  return directory;
}

absl::StatusOr<Places> Prepare(const CaptureRequest& request) {
  Places places;
  ASSIGN_OR_RETURN(places.bin, ProgramDirectory(request));
  places.lib = places.bin.parent_path() / "lib";
  ASSIGN_OR_RETURN(TemporaryDirectory directory, TemporaryDirectory::Create("sassay-capture"));
  // As root the sandbox runs under another uid: below the private directory lies one that it may read.
  const fs::path readable = directory.path() / "candidate";
  places.candidate = readable / "candidate.so";
  places.directory = std::make_unique<TemporaryDirectory>(std::move(directory));
  if (mkdir(readable.c_str(), 0755) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("mkdir ", readable.string()));
  RETURN_IF_ERROR(WriteFileAtomically(places.candidate, request.shared_object));
  // Whatever the umask is.
  if (chmod(readable.c_str(), 0755) != 0 || chmod(places.candidate.c_str(), 0755) != 0)
    return absl::ErrnoToStatus(errno, absl::StrCat("chmod ", places.candidate.string()));
  if (request.tvm_ffi_library.empty()) return places;
  std::error_code error;
  places.tvm_ffi_library = fs::canonical(request.tvm_ffi_library, error);
  if (error) return absl::NotFoundError(absl::StrCat(request.tvm_ffi_library.string(), ": ", error.message()));
  return places;
}

SandboxPolicy Policy(const Places& places) {
  SandboxPolicy policy;
  policy.read_only = {{places.bin, kBinInside}, {places.lib, kLibInside}, {places.candidate, kCandidateInside}};
  if (!places.tvm_ffi_library.empty()) policy.read_only.emplace_back(places.tvm_ffi_library, kTvmFfiInside);
  policy.tmp_bytes = 16 << 20;
  policy.file_bytes = 16 << 20;
  policy.processes = 64;
  policy.allow_personality = true;
  policy.sends_signals = true;
  return policy;
}

TaskPaths PathsInside(const Places& places, bool sandboxed) {
  if (!sandboxed) return {places.candidate, places.tvm_ffi_library};
  return {kCandidateInside, places.tvm_ffi_library.empty() ? "" : kTvmFfiInside};
}

absl::StatusOr<Command> HostCommand(const CaptureRequest& request, const Places& places, bool sandboxed) {
  Command command;
  const fs::path bin = sandboxed ? fs::path(kBinInside) : places.bin;
  command.argv = {bin / kHostProgram, PathsInside(places, sandboxed).candidate, request.entry,
                  std::to_string(absl::ToInt64Milliseconds(request.timeout))};
  command.environment = {{"LC_ALL", "C.UTF-8"}, {"PATH", "/usr/bin:/bin"}};
  if (sandboxed) return WrapInSandbox(command, Policy(places));
  return WrapWithoutSandbox(command, Policy(places), *request.allow_unsandboxed);
}

// Whether to sandbox: always, unless this machine cannot and the caller said to go on.
bool UseSandbox(const CaptureRequest& request) {
  return !request.allow_unsandboxed.has_value() || ProbeSandbox().Complete();
}

absl::StatusOr<ExitReport> StartHost(const CaptureRequest& request, const Places& places, const std::string& tasks,
                                     bool sandboxed) {
  ASSIGN_OR_RETURN(const Command command, HostCommand(request, places, sandboxed));
  const absl::Duration timeout = request.timeout * static_cast<double>(request.workloads.size()) + absl::Seconds(20);
  return RunToCompletion(command, timeout, uint64_t{1} << 30, tasks);
}

// By a signal, directly or as bubblewrap reports it.
bool WasKilled(const ExitReport& report) {
  return report.kind == ExitReport::Kind::kSignaled ||
         (report.kind == ExitReport::Kind::kExited && report.exit_code > 128);
}

// A machine that is short of memory kills once. Who is killed again with the same candidate was killed by it; that must
// not look like our own trouble, which is worth retrying.
absl::StatusOr<OrRefusal<Recording>> RunHost(const CaptureRequest& request, const Places& places,
                                             const std::string& tasks, bool sandboxed) {
  ASSIGN_OR_RETURN(ExitReport report, StartHost(request, places, tasks, sandboxed));
  if (WasKilled(report)) {
    ASSIGN_OR_RETURN(report, StartHost(request, places, tasks, sandboxed));
    if (WasKilled(report)) {
      return Refusal{v1::VERDICT_CODE_HOST_LIMIT,
                     "host code killed the processes that capture it, twice; run() may only call the CUDA runtime", ""};
    }
  }
  Recording recording;
  if (!report.Succeeded() || !recording.ParseFromString(report.stdout_text)) {
    return absl::InternalError(
        absl::StrCat(kHostProgram, " ", DescribeExit(report), ": ", Printable(report.stderr_text, 2000)));
  }
  return recording;
}

v1::Verdict MakeVerdict(const CaptureRequest& request, const v1::Workload& workload, const Refusal& refusal) {
  v1::Verdict verdict;
  verdict.set_status(v1::VERDICT_STATUS_CAPTURE_ERROR);
  verdict.set_stage(v1::STAGE_CAPTURE);
  verdict.set_code(refusal.code);
  verdict.set_reason(refusal.reason);
  verdict.set_workload(workload.name());
  verdict.set_capture_profile(request.profile);
  if (!refusal.output.empty())
    verdict.mutable_details()->add_notes(absl::StrCat("host code printed: ", refusal.output));
  return verdict;
}

Entry EntryOf(const Record& record) {
  for (const Event& event : record.events()) {
    if (event.has_entry()) return event.entry();
  }
  return Entry();
}

OrRefusal<v1::LaunchPlan> PlanOf(const CaptureRequest& request, const v1::Workload& workload, const Cubin& cubin,
                                 const DeviceModel& device, const Record& record) {
  const SourceLines lines(record, request.source_roots);
  const Entry entry = EntryOf(record);
  if (auto refusal = CheckEntry(entry, workload, request.abi, request.entry, lines)) return *std::move(refusal);
  const bool c = request.abi == v1::ENTRY_ABI_C || (request.abi == v1::ENTRY_ABI_UNSPECIFIED && entry.has_c());
  return BuildPlan(record, {workload, cubin, lines, c ? v1::ENTRY_ABI_C : v1::ENTRY_ABI_TVM_FFI, request.profile,
                            device.name, absl::Now() + request.timeout});
}

// What is this machine's trouble, and not the candidate's.
absl::Status CheckRecording(const CaptureRequest& request, const Recording& recording) {
  if (static_cast<size_t>(recording.records_size()) != request.workloads.size()) {
    return absl::InternalError("the capture host returned another number of records than there are workloads");
  }
  if (recording.records_size() == 0 || !request.tvm_ffi_library.empty()) return absl::OkStatus();
  const Entry entry = EntryOf(recording.records(0));
  if (!entry.has_tvm_ffi() || request.abi == v1::ENTRY_ABI_C || (entry.has_c() && request.abi != v1::ENTRY_ABI_TVM_FFI))
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the candidate is a tvm-ffi module, and libtvm_ffi.so is not on this machine: install the apache-tvm-ffi wheel");
}

WorkloadCapture Conclude(const CaptureRequest& request, const v1::Workload& workload,
                         OrRefusal<v1::LaunchPlan> outcome) {
  WorkloadCapture capture;
  capture.workload = workload.name();
  if (const auto* refusal = std::get_if<Refusal>(&outcome)) {
    capture.verdict = MakeVerdict(request, workload, *refusal);
  } else {
    capture.plan = std::get<v1::LaunchPlan>(std::move(outcome));
  }
  return capture;
}

}  // namespace

absl::StatusOr<CaptureResult> Capture(const CaptureRequest& request) {
  const absl::Time begin = absl::Now();
  ASSIGN_OR_RETURN(const Cubin cubin, Cubin::Parse(request.cubin));
  const DeviceTable& table = request.device_table == nullptr ? DeviceTable::BuiltIn() : *request.device_table;
  ASSIGN_OR_RETURN(const DeviceModel device, table.Find(request.device_model, cubin.arch()));
  ASSIGN_OR_RETURN(const Places places, Prepare(request));
  const bool sandboxed = UseSandbox(request);
  std::string tasks;
  for (const v1::Workload& workload : request.workloads) {
    ASSIGN_OR_RETURN(const std::string task, WriteTask(workload, cubin, device, request.abi, request.entry,
                                                       CallsOf(request.profile), PathsInside(places, sandboxed)));
    absl::StrAppend(&tasks, task, "---\n");
  }
  ASSIGN_OR_RETURN(const OrRefusal<Recording> outcome, RunHost(request, places, tasks, sandboxed));
  CaptureResult result;
  if (const auto* refusal = std::get_if<Refusal>(&outcome)) {
    for (const v1::Workload& workload : request.workloads)
      result.workloads.push_back(Conclude(request, workload, *refusal));
  } else {
    const auto& recording = std::get<Recording>(outcome);
    RETURN_IF_ERROR(CheckRecording(request, recording));
    for (int i = 0; i < recording.records_size(); ++i) {
      const v1::Workload& workload = request.workloads[static_cast<size_t>(i)];
      result.workloads.push_back(
          Conclude(request, workload, PlanOf(request, workload, cubin, device, recording.records(i))));
    }
  }
  result.wall = absl::Now() - begin;
  return result;
}

std::filesystem::path TvmFfiLibrary(const std::filesystem::path& tvm_ffi_include) {
  std::error_code error;
  const fs::path library = tvm_ffi_include.parent_path() / "lib" / "libtvm_ffi.so";
  return !tvm_ffi_include.empty() && fs::exists(library, error) ? library : fs::path();
}

}  // namespace sassay::capture
