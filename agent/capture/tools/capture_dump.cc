// Developer's tool: captures one shared object for one workload and prints the launch plan, or the verdict, as JSON.
// Not installed; the product's own way is `mini-ptx-agent compile` and `inspect`.
//
//   capture_dump CANDIDATE.so CANDIDATE.cubin WORKLOAD [--lenient] [--entry NAME] [--tvm-ffi LIB] [--ptx FILE --bundle
//   OUT]
#include <cstring>
#include <iostream>
#include <string>

#include "agent/capture/plan/capture.h"
#include "common/base/files.h"
#include "common/base/proto_json.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle.h"
#include "common/workload/catalog.h"
#include "sassay/v1/bundle.pb.h"

namespace {

struct Options {
  sassay::capture::CaptureRequest request;
  std::string ptx, bundle;
};

absl::StatusOr<Options> ReadOptions(int argc, char** argv) {
  Options options;
  if (argc < 4)
    return absl::InvalidArgumentError("usage: capture_dump CANDIDATE.so CANDIDATE.cubin WORKLOAD [options]");
  ASSIGN_OR_RETURN(options.request.shared_object, sassay::ReadFile(argv[1]));
  ASSIGN_OR_RETURN(options.request.cubin, sassay::ReadFile(argv[2]));
  ASSIGN_OR_RETURN(const auto workload, sassay::WorkloadCatalog::BuiltIn().Resolve(argv[3]));
  options.request.workloads = {workload};
  for (int i = 4; i < argc; ++i) {
    const std::string flag = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--lenient") options.request.profile = sassay::v1::CAPTURE_PROFILE_LENIENT;
    if (flag == "--entry") options.request.entry = value;
    if (flag == "--tvm-ffi") options.request.tvm_ffi_library = value;
    if (flag == "--ptx") options.ptx = value;
    if (flag == "--bundle") options.bundle = value;
  }
  return options;
}

absl::Status WriteBundle(const Options& options, const sassay::v1::LaunchPlan& plan) {
  sassay::v1::Bundle bundle;
  bundle.set_format_version(1);
  bundle.set_cubin(options.request.cubin);
  ASSIGN_OR_RETURN(*bundle.mutable_ptx(), sassay::ReadFile(options.ptx));
  bundle.mutable_compilation()->set_arch("sm_90a");
  *bundle.add_plans() = plan;
  return sassay::WriteFileAtomically(options.bundle, bundle.SerializeAsString());
}

absl::Status Run(int argc, char** argv) {
  ASSIGN_OR_RETURN(const Options options, ReadOptions(argc, argv));
  ASSIGN_OR_RETURN(const auto result, sassay::capture::Capture(options.request));
  const auto& outcome = result.workloads[0];
  std::cout << (outcome.captured() ? sassay::ToJson(*outcome.plan) : sassay::ToJson(outcome.verdict)) << "\n";
  std::cerr << "captured in " << result.wall << "\n";
  return outcome.captured() && !options.bundle.empty() ? WriteBundle(options, *outcome.plan) : absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const absl::Status status = Run(argc, argv);
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 3;
}
