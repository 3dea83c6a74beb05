#include "agent/build/compile_result.h"

#include "common/bundle/bundle.h"

namespace sassay::agent {

v1::CompileResult ResultOf(const BuiltBundle& built) {
  v1::CompileResult result;
  result.set_bundle_sha256(BundleDigest(built.bytes));
  result.set_bundle_bytes(built.bytes.size());
  result.set_arch(built.bundle.compilation().arch());
  result.set_compile_cached(built.compile_cached);
  result.set_compile_ns(absl::ToInt64Nanoseconds(built.compile_time));
  result.set_capture_ns(absl::ToInt64Nanoseconds(built.capture_time));
  result.mutable_kernels()->Add(built.kernels.begin(), built.kernels.end());
  for (const v1::LaunchPlan& plan : built.bundle.plans()) result.add_workloads(plan.workload());
  for (const std::string& warning : built.warnings) result.add_warnings(warning);
  return result;
}

}  // namespace sassay::agent
