#include "agent/batch/workload_finder.h"

#include "absl/strings/str_cat.h"
#include "agent/build/workload_names.h"
#include "agent/submit/calls.h"

namespace sassay::agent {

absl::StatusOr<v1::Workload> WorkloadFinder::Find(const std::string& name) {
  // Who asks for the same name meanwhile waits for the answer.
  absl::MutexLock lock(&mutex_);
  if (const auto found = known_.find(name); found != known_.end()) return found->second;
  absl::StatusOr<v1::Workload> workload = Ask(name);
  if (workload.ok() || absl::IsNotFound(workload.status()) || absl::IsInvalidArgument(workload.status()) ||
      absl::IsFailedPrecondition(workload.status()))
    known_.emplace(name, workload);
  return workload;
}

absl::StatusOr<v1::Workload> WorkloadFinder::Ask(const std::string& name) const {
  absl::StatusOr<v1::Workload> local = ResolveWorkload(catalog_, name);
  if (!local.ok() && !absl::IsNotFound(local.status())) return local;
  absl::StatusOr<v1::Workload> theirs = GetWorkload(connection_, local.ok() ? local->name() : name);
  if (!local.ok()) return absl::IsNotFound(theirs.status()) ? local : theirs;
  if (!theirs.ok() || theirs->definition_sha256() == local->definition_sha256()) return theirs.ok() ? local : theirs;
  return absl::FailedPreconditionError(
      absl::StrCat("the service knows another definition of ", local->definition(),
                   " than this agent. Give both the same --definitions, or bring both to one version."));
}

}  // namespace sassay::agent
