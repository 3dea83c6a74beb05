// Capture: turns a candidate's host code into a launch plan on a machine without a GPU.
//
// The candidate's shared object is loaded into a sandboxed process whose libcudart and libcuda are ours, and its entry
// point is called three times with disjoint sets of fake device pointers. Everything it asked CUDA for comes back as a
// record, which is compared across the calls and becomes data: buffers, uploads, tensor maps, launches.
//
// A candidate that cannot be captured is not an error of this function: it gets a verdict (CAPTURE_ERROR) with a code
// and a reason that helps to repair it. A Status is our own trouble: no sandbox, missing programs, unreadable cubin.
//
// Example:
//   capture::CaptureRequest request;
//   request.shared_object = compiled.shared_object;
//   request.cubin = compiled.cubin;
//   request.workloads = {workload};
//   ASSIGN_OR_RETURN(const capture::CaptureResult result, capture::Capture(request));
//   if (result.workloads[0].captured()) bundle.add_plans()->CopyFrom(*result.workloads[0].plan);
#ifndef SASSAY_AGENT_CAPTURE_PLAN_CAPTURE_H_
#define SASSAY_AGENT_CAPTURE_PLAN_CAPTURE_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "agent/capture/devices/device_table.h"
#include "common/sandbox/sandbox.h"
#include "sassay/v1/plan.pb.h"
#include "sassay/v1/verdict.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::capture {

// What to capture. Plain data.
struct CaptureRequest {
  // The candidate as nvcc linked it (-shared -cudart none), with debug information for source lines.
  std::string shared_object;
  // The cubin embedded in it, for parameter tables.
  std::string cubin;
  // One capture each, every one in a process of its own.
  std::vector<sassay::v1::Workload> workloads;
  // Name of the entry point.
  std::string entry = "run";
  // UNSPECIFIED: whichever the shared object exports.
  sassay::v1::EntryAbi abi = sassay::v1::ENTRY_ABI_UNSPECIFIED;
  sassay::v1::CaptureProfile profile = sassay::v1::CAPTURE_PROFILE_STRICT;
  // Name in `device_table`; empty for the default model of the cubin's arch.
  std::string device_model;
  // Null: DeviceTable::BuiltIn().
  const DeviceTable* device_table = nullptr;
  // libtvm_ffi.so of the apache-tvm-ffi wheel; empty if there is none, and then a tvm_ffi candidate is
  // FAILED_PRECONDITION. TvmFfiLibrary() finds it from Toolchain::tvm_ffi_include.
  std::filesystem::path tvm_ffi_library;
  // Folder of mini-ptx-capture-host; empty: where this program is. ../lib/sassay-capture must hold the runtime.
  std::filesystem::path program_directory;
  // Wall time of one capture, and again of turning its record into a plan; a well-behaved one takes milliseconds.
  absl::Duration timeout = absl::Seconds(10);
  // Folder names to strip from the front of source paths ("/candidate/kernel.cu" -> "kernel.cu").
  std::vector<std::string> source_roots = {"/candidate/"};
  // Set to go on where the machine cannot sandbox.
  absl::optional<AllowUnsandboxed> allow_unsandboxed;
};

// One workload's outcome: a plan, or a verdict that says why not.
struct WorkloadCapture {
  std::string workload;
  absl::optional<sassay::v1::LaunchPlan> plan;
  // Status CAPTURE_ERROR, stage CAPTURE; unset where there is a plan.
  sassay::v1::Verdict verdict;
  bool captured() const { return plan.has_value(); }
};

struct CaptureResult {
  // In the request's order.
  std::vector<WorkloadCapture> workloads;
  absl::Duration wall;
};

// Blocking. Thread-safe. FAILED_PRECONDITION where the machine cannot sandbox and allow_unsandboxed is unset, or lacks
// libtvm_ffi.so for a candidate that needs it; NOT_FOUND where a program is missing; INVALID_ARGUMENT for a cubin that
// cannot be read, a GPU model of another arch, or a workload that no run() can be called with (a tensor beyond 256 GiB,
// a scalar of a type that is not passed by value).
absl::StatusOr<CaptureResult> Capture(const CaptureRequest& request);

// include/../lib/libtvm_ffi.so, or empty if it is not there.
std::filesystem::path TvmFfiLibrary(const std::filesystem::path& tvm_ffi_include);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_PLAN_CAPTURE_H_
