// Verdicts that are reached on the submitter's machine, completed so that they look as the service's.
#ifndef SASSAY_AGENT_BUILD_LOCAL_VERDICT_H_
#define SASSAY_AGENT_BUILD_LOCAL_VERDICT_H_

#include "absl/time/time.h"
#include "sassay/v1/verdict.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::agent {

// What compile and capture took; capture is zero if it did not run.
struct LocalTimes {
  absl::Duration compile;
  absl::Duration capture;
};

// Fills in what the compiler or capture left out: stage, stage reports, workload and its definition's digest, versions,
// time, attempt. What is there stays.
void CompleteLocalVerdict(const v1::Workload& workload, const LocalTimes& times, absl::Time now, v1::Verdict& verdict);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BUILD_LOCAL_VERDICT_H_
