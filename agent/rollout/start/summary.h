// How far a run came.
#ifndef SASSAY_AGENT_ROLLOUT_START_SUMMARY_H_
#define SASSAY_AGENT_ROLLOUT_START_SUMMARY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/trajectory/run_folder.h"
#include "common/terminal/style.h"
#include "sassay/v1/agent.pb.h"

namespace sassay::agent {

// From the logs, one after the other, so that a large run needs little memory. `outcome` is Rollout::Run's.
absl::StatusOr<v1::RunSummary> SummaryOf(const RunFolder& folder, const absl::Status& outcome);

// A few lines for people.
std::string RenderSummary(const v1::RunSummary& summary, const Style& style);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_ROLLOUT_START_SUMMARY_H_
