#include "monitor/actions/carry_out.h"

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/steady_time.h"

namespace sassay::monitor {
namespace {

using Stub = ControlClient::Stub;
constexpr absl::Duration kTimeout = absl::Seconds(5);
constexpr char kHolder[] = "monitor";
// The service waits ten seconds for the GPU unless it is told otherwise, and two kernels take a moment.
constexpr uint32_t kCanaryWaitMs = 10'000;
constexpr absl::Duration kCanaryTimeout = absl::Seconds(20);

absl::Status Pause(const Decision& decision, const ControlClient& client) {
  v1::PauseDispatchRequest request;
  request.set_uuid(decision.gpu);
  request.set_reason(decision.reason);
  request.set_holder(kHolder);
  request.set_state(decision.state);
  request.set_incident_id(decision.incident_id);
  v1::PauseDispatchResponse response;
  return client.Call(&Stub::PauseDispatch, "pause a GPU", kTimeout, request, response);
}

absl::Status Resume(const Decision& decision, const ControlClient& client, HoldLedger& ledger) {
  v1::ResumeDispatchRequest request;
  request.set_uuid(decision.gpu);
  request.set_holder(kHolder);
  v1::ResumeDispatchResponse response;
  ledger.Resuming(decision.gpu);
  const absl::Status status = client.Call(&Stub::ResumeDispatch, "resume a GPU", kTimeout, request, response);
  ledger.Resuming(decision.gpu);
  return status;
}

// An operator asked for it, and the canary was clean.
absl::Status Release(const Decision& decision, const ControlClient& client, HoldLedger& ledger) {
  v1::ReleaseGpuRequest request;
  request.set_uuid(decision.gpu);
  request.set_reason(decision.reason);
  request.set_force(true);
  v1::ReleaseGpuResponse response;
  ledger.Resuming(decision.gpu);
  const absl::Status status = client.Call(&Stub::ReleaseGpu, "release a GPU", kTimeout, request, response);
  ledger.Resuming(decision.gpu);
  return status;
}

absl::Status Quarantine(const Decision& decision, const ControlClient& client) {
  v1::QuarantineGpuRequest request;
  request.set_uuid(decision.gpu);
  request.set_incident_id(decision.incident_id);
  request.set_reason(decision.reason);
  request.set_holder(kHolder);
  v1::QuarantineGpuResponse response;
  return client.Call(&Stub::QuarantineGpu, "quarantine a GPU", kTimeout, request, response);
}

absl::Status Exclude(const Decision& decision, const ControlClient& client) {
  v1::ExcludeTurnsRequest request;
  request.set_uuid(decision.gpu);
  request.set_incident_id(decision.incident_id);
  request.set_reason(decision.reason);
  SetTimestamp(decision.from, *request.mutable_from());
  if (decision.to < absl::InfiniteFuture()) SetTimestamp(decision.to, *request.mutable_to());
  v1::ExcludeTurnsResponse response;
  return client.Call(&Stub::ExcludeTurns, "exclude turns", kTimeout, request, response);
}

absl::Status RestartWorkers(const Decision& decision, const ControlClient& client) {
  v1::RestartWorkersRequest request;
  request.set_uuid(decision.gpu);
  request.set_reason(decision.reason);
  v1::RestartWorkersResponse response;
  return client.Call(&Stub::RestartWorkers, "restart workers", kTimeout, request, response);
}

absl::Status Record(const Decision& decision, const ControlClient& client) {
  v1::RecordIncidentRequest request;
  *request.mutable_incident() = decision.incident;
  v1::RecordIncidentResponse response;
  return client.Call(&Stub::RecordIncident, "record an incident", kTimeout, request, response);
}

// UNAVAILABLE is also what a service that is gone "says"; that is no word about the GPU.
bool Answers(const ControlClient& client) {
  v1::ListGpusResponse response;
  return client.Call(&Stub::ListGpus, "list the GPUs", kTimeout, v1::ListGpusRequest(), response).ok();
}

void RunCanary(const Decision& decision, const ControlClient& client, Outcome& outcome) {
  v1::RunCanaryRequest request;
  request.set_uuid(decision.gpu);
  request.set_wait_ms(kCanaryWaitMs);
  v1::RunCanaryResponse response;
  outcome.status = client.Call(&Stub::RunCanary, "run the canary", kCanaryTimeout, request, response);
  const absl::Time now = SteadyNow();
  const bool wrong = absl::IsDataLoss(outcome.status);  // the GPU computed something else than it should
  if (wrong || (absl::IsUnavailable(outcome.status) && Answers(client))) {
    outcome.samples.push_back(
        {now, decision.gpu, "canary.failed", wrong ? 2.0 : 1.0, std::string(outcome.status.message())});
  } else if (outcome.status.ok()) {
    const auto text = [](const v1::CanaryKernel& kernel) { return absl::StrCat(kernel.sm_clock_mhz(), " MHz"); };
    outcome.samples.push_back(
        {now, decision.gpu, "canary.tensor_ns", response.tensor().median_ns(), text(response.tensor())});
    outcome.samples.push_back(
        {now, decision.gpu, "canary.memory_ns", response.memory().median_ns(), text(response.memory())});
  }
}

}  // namespace

Outcome CarryOut(const Decision& decision, const ControlClient& client, const RestartService& restart,
                 HoldLedger& ledger) {
  Outcome outcome;
  outcome.id = decision.id;
  outcome.kind = decision.kind;
  switch (decision.kind) {
    case DecisionKind::kPause:
      outcome.status = Pause(decision, client);
      break;
    case DecisionKind::kResume:
      outcome.status = Resume(decision, client, ledger);
      break;
    case DecisionKind::kRelease:
      outcome.status = Release(decision, client, ledger);
      break;
    case DecisionKind::kQuarantine:
      outcome.status = Quarantine(decision, client);
      break;
    case DecisionKind::kExclude:
      outcome.status = Exclude(decision, client);
      break;
    case DecisionKind::kRunCanary:
      RunCanary(decision, client, outcome);
      break;
    case DecisionKind::kRestartWorkers:
      outcome.status = RestartWorkers(decision, client);
      break;
    case DecisionKind::kRestartService:
      outcome.status = restart(decision.reason);
      break;
    case DecisionKind::kRecordIncident:
      outcome.status = Record(decision, client);
      outcome.incident = decision.incident;
      break;
  }
  return outcome;
}

}  // namespace sassay::monitor
