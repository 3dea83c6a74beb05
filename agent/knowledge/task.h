// The task of a conversation: one workload in words, and the signature that run() must have.
#ifndef SASSAY_AGENT_KNOWLEDGE_TASK_H_
#define SASSAY_AGENT_KNOWLEDGE_TASK_H_

#include <string>

#include "absl/strings/string_view.h"
#include "sassay/v1/plan.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::agent {

// Complete by itself: a model that gets no knowledge can still write a candidate.
std::string TaskText(const v1::Workload& workload, absl::string_view arch, v1::EntryAbi abi);

// "cuBLAS", "cuDNN", "the operator's own kernel"; empty where the workload has no baseline.
std::string BaselineName(const v1::Workload& workload);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_KNOWLEDGE_TASK_H_
