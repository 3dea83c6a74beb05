#include "profiler_service/api/ports/control_port.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"

namespace sassay::api {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

absl::Status AdminsOnly(const Caller& caller) {
  if (caller.role == Role::kAdmin) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("Control is for admins; the token of '", caller.tenant,
                   "' has the role tenant (profiler-service token add NAME --role admin)"));
}

absl::Status NotInThisVersion(absl::string_view action) {
  return absl::UnimplementedError(absl::StrCat(action, " has no handler in this version of profiler-service"));
}

// A stream that ends as soon as it has begun.
class EndedStream : public grpc::ServerWriteReactor<sassay::v1::Incident> {
 public:
  explicit EndedStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

absl::Status ControlPort::Audited(const absl::StatusOr<Caller>& caller, const char* action, const std::string& target,
                                  const std::string& detail, const std::function<absl::Status()>& act) {
  RETURN_IF_ERROR(caller.status());
  absl::Status outcome = AdminsOnly(*caller);
  if (!outcome.ok() && !port_.refusals.Allow(caller->tenant)) return outcome;
  if (outcome.ok()) outcome = act();
  if (outcome.ok() && absl::StrContains(action, "List")) return outcome;
  RETURN_IF_ERROR(port_.store.Audit(
      {0, absl::Now(), caller->tenant, action, target, absl::StatusCodeToString(outcome.code()), detail}));
  return outcome;
}

ServerUnaryReactor* ControlPort::Act(CallbackServerContext& context, const char* action, const std::string& target,
                                     const std::string& detail, std::function<absl::Status()> act) {
  ServerUnaryReactor* reactor = context.DefaultReactor();
  port_.pool.Post([this, reactor, caller = CallerOf(port_, context), action, target, detail, act = std::move(act)] {
    reactor->Finish(ToGrpc(Audited(caller, action, target, detail, act)));
  });
  return reactor;
}

absl::Status ControlPort::CheckGpu(const std::string& uuid) const {
  if (uuid.empty()) return absl::OkStatus();
  for (const sassay::v1::Gpu& gpu : port_.gpus) {
    if (gpu.uuid() != uuid) continue;
    if (port_.gpus.size() == 1) return absl::OkStatus();
    return absl::UnimplementedError("uuid: this version pauses all GPUs together; leave the field empty");
  }
  return absl::NotFoundError(absl::StrCat("uuid: no GPU '", uuid, "' here; ListGpus names them"));
}

ServerUnaryReactor* ControlPort::ListGpus(CallbackServerContext* context, const sassay::v1::ListGpusRequest*,
                                          sassay::v1::ListGpusResponse* response) {
  return Act(*context, "Control.ListGpus", "", "", [this, response] {
    const bool paused = port_.queue.paused();
    for (sassay::v1::Gpu gpu : port_.gpus) {
      gpu.set_state(paused ? sassay::v1::GPU_STATE_PAUSED : sassay::v1::GPU_STATE_HEALTHY);
      gpu.set_reason(paused ? "PauseDispatch" : "");
      // Which GPU runs what is the pipeline's affair; where there is one, the queue knows.
      if (port_.gpus.size() == 1) gpu.set_running(static_cast<uint32_t>(port_.queue.running()));
      *response->add_gpus() = std::move(gpu);
    }
    return absl::OkStatus();
  });
}

ServerUnaryReactor* ControlPort::PauseDispatch(CallbackServerContext* context,
                                               const sassay::v1::PauseDispatchRequest* request,
                                               sassay::v1::PauseDispatchResponse*) {
  return Act(*context, "Control.PauseDispatch", request->uuid(), request->reason(), [this, request]() -> absl::Status {
    RETURN_IF_ERROR(CheckGpu(request->uuid()));
    port_.queue.SetPaused(true);
    return absl::OkStatus();
  });
}

ServerUnaryReactor* ControlPort::ResumeDispatch(CallbackServerContext* context,
                                                const sassay::v1::ResumeDispatchRequest* request,
                                                sassay::v1::ResumeDispatchResponse*) {
  return Act(*context, "Control.ResumeDispatch", request->uuid(), "", [this, request]() -> absl::Status {
    RETURN_IF_ERROR(CheckGpu(request->uuid()));
    port_.queue.SetPaused(false);
    return absl::OkStatus();
  });
}

ServerUnaryReactor* ControlPort::RestartWorkers(CallbackServerContext* context,
                                                const sassay::v1::RestartWorkersRequest* request,
                                                sassay::v1::RestartWorkersResponse*) {
  return Act(*context, "Control.RestartWorkers", request->uuid(), request->reason(),
             [] { return NotInThisVersion("RestartWorkers"); });
}

ServerUnaryReactor* ControlPort::QuarantineGpu(CallbackServerContext* context,
                                               const sassay::v1::QuarantineGpuRequest* request,
                                               sassay::v1::QuarantineGpuResponse*) {
  return Act(*context, "Control.QuarantineGpu", request->uuid(), request->reason(),
             [] { return NotInThisVersion("QuarantineGpu"); });
}

ServerUnaryReactor* ControlPort::ReleaseGpu(CallbackServerContext* context,
                                            const sassay::v1::ReleaseGpuRequest* request,
                                            sassay::v1::ReleaseGpuResponse*) {
  return Act(*context, "Control.ReleaseGpu", request->uuid(), request->reason(),
             [] { return NotInThisVersion("ReleaseGpu"); });
}

ServerUnaryReactor* ControlPort::ExcludeTurns(CallbackServerContext* context,
                                              const sassay::v1::ExcludeTurnsRequest* request,
                                              sassay::v1::ExcludeTurnsResponse*) {
  return Act(*context, "Control.ExcludeTurns", request->uuid(), request->reason(),
             [] { return NotInThisVersion("ExcludeTurns"); });
}

grpc::ServerWriteReactor<sassay::v1::Incident>* ControlPort::StreamIncidents(
    CallbackServerContext* context, const sassay::v1::StreamIncidentsRequest*) {
  const absl::StatusOr<Caller> caller = CallerOf(port_, *context);
  absl::Status status = caller.ok() ? AdminsOnly(*caller) : caller.status();
  if (status.ok()) status = NotInThisVersion("StreamIncidents");
  return new EndedStream(ToGrpc(status));
}

}  // namespace sassay::api
