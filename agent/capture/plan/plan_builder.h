// Steps of the calls to a LaunchPlan with final buffer numbers.
#ifndef SASSAY_AGENT_CAPTURE_PLAN_PLAN_BUILDER_H_
#define SASSAY_AGENT_CAPTURE_PLAN_PLAN_BUILDER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/capture/plan/refusal.h"
#include "agent/capture/plan/source_lines.h"
#include "agent/capture/record/record.pb.h"
#include "common/bundle/cubin.h"
#include "sassay/v1/plan.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::capture {

// What the plan says besides the record.
struct PlanContext {
  const sassay::v1::Workload& workload;
  const Cubin& cubin;
  const SourceLines& lines;
  sassay::v1::EntryAbi abi = sassay::v1::ENTRY_ABI_C;
  sassay::v1::CaptureProfile profile = sassay::v1::CAPTURE_PROFILE_STRICT;
  std::string device_model;
  // A hostile record may be of any size and shape; past this it is refused.
  absl::Time deadline = absl::InfiniteFuture();
};

// Calls of run() that a profile needs: three, or one.
int CallsOf(sassay::v1::CaptureProfile profile);

// The plan, or why there is none. The record is hostile.
OrRefusal<sassay::v1::LaunchPlan> BuildPlan(const Record& untrusted_record, const PlanContext& context);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_PLAN_PLAN_BUILDER_H_
