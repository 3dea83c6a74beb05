// A record is written by hostile host code: whatever it says, BuildPlan gives a plan or a refusal.
#include <cstddef>
#include <cstdint>
#include <string>

#include "agent/capture/plan/plan_builder.h"
#include "common/base/files.h"
#include "common/workload/catalog.h"

namespace {

const sassay::v1::Workload& TheWorkload() {
  static const auto* workload =
      new sassay::v1::Workload(*sassay::WorkloadCatalog::BuiltIn().Resolve("gemm_n256_k256/M=64"));
  return *workload;
}

const sassay::Cubin& TheCubin() {
  static const auto* cubin = new sassay::Cubin(*sassay::Cubin::Parse(*sassay::ReadFile(SASSAY_FUZZ_CUBIN)));
  return *cubin;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sassay::capture::Record record;
  if (!record.ParseFromArray(data, static_cast<int>(size))) return 0;
  const sassay::capture::SourceLines lines(record, {"/candidate/"});
  for (auto profile : {sassay::v1::CAPTURE_PROFILE_STRICT, sassay::v1::CAPTURE_PROFILE_LENIENT}) {
    const auto outcome = sassay::capture::BuildPlan(
        record, {TheWorkload(), TheCubin(), lines, sassay::v1::ENTRY_ABI_C, profile, "NVIDIA H200"});
    if (outcome.valueless_by_exception()) __builtin_trap();
  }
  return 0;
}
