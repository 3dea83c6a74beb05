#include "profiler_service/api/ports/control_port.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"

namespace sassay::api {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

constexpr size_t kMaxAuditTextBytes = 1000;

absl::Status AdminsOnly(const Caller& caller) {
  if (caller.role == Role::kAdmin) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("Control is for admins; the token of '", caller.tenant,
                   "' has the role tenant (profiler-service token add NAME --role admin)"));
}

absl::Status NotInThisVersion(absl::string_view action) {
  return absl::UnimplementedError(absl::StrCat(action, " has no handler in this version of profiler-service"));
}

// A stream that says nothing but its end.
class EndedStream : public grpc::ServerWriteReactor<sassay::v1::Incident> {
 public:
  void OnDone() override { delete this; }
};

std::string Describe(const store::Hold& pause) {
  return absl::StrCat("paused by ", pause.actor, " since ", absl::FormatTime(pause.since, absl::UTCTimeZone()),
                      pause.reason.empty() ? "" : absl::StrCat(": ", pause.reason));
}

// What callers wrote is kept for ever.
std::string Short(const std::string& text) { return text.substr(0, kMaxAuditTextBytes); }

}  // namespace

absl::optional<std::string> ControlPort::NoteOfRefusal(const std::string& tenant) {
  absl::MutexLock lock(&mutex_);
  uint64_t& suppressed = suppressed_[tenant];
  if (!port_.refusals.Allow(tenant)) {
    ++suppressed;
    return absl::nullopt;
  }
  const uint64_t before = std::exchange(suppressed, 0);
  return before == 0 ? "" : absl::StrCat(" (", before, " refusals before this one were not written down)");
}

absl::Status ControlPort::Audited(const absl::StatusOr<Caller>& caller, const Action& action) {
  RETURN_IF_ERROR(caller.status());
  absl::Status outcome = AdminsOnly(*caller);
  std::string note;
  if (!outcome.ok()) {
    const absl::optional<std::string> written = NoteOfRefusal(caller->tenant);
    if (!written.has_value()) return outcome;
    note = *written;
  } else {
    outcome = action.act(*caller);
  }
  if (outcome.ok() && action.effect == Effect::kReads) return outcome;
  RETURN_IF_ERROR(port_.store.Audit({0, absl::Now(), caller->tenant, action.name, Short(action.target),
                                     absl::StatusCodeToString(outcome.code()), Short(action.detail) + note}));
  return outcome;
}

template <typename Reactor>
Reactor* ControlPort::Act(Reactor* reactor, CallbackServerContext& context, Action action) {
  port_.control_pool.Post("", [this, reactor, caller = CallerOf(port_, context), action = std::move(action)] {
    reactor->Finish(ToGrpc(port_, Audited(caller, action)));
  });
  return reactor;
}

ServerUnaryReactor* ControlPort::NotYet(CallbackServerContext& context, const char* name, const std::string& target,
                                        const std::string& detail) {
  return Act(context.DefaultReactor(), context,
             {name, target, detail, Effect::kChanges, [name](const Caller&) { return NotInThisVersion(name); }});
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
  const auto list = [this, response](const Caller&) {
    const absl::optional<store::Hold> pause = port_.queue.pause();
    for (sassay::v1::Gpu gpu : port_.gpus) {
      gpu.set_state(pause.has_value() ? sassay::v1::GPU_STATE_PAUSED : sassay::v1::GPU_STATE_HEALTHY);
      if (pause.has_value()) gpu.set_reason(Describe(*pause));
      // Which GPU runs what is the pipeline's affair; where there is one, the queue knows.
      if (port_.gpus.size() == 1) gpu.set_running(static_cast<uint32_t>(port_.queue.running()));
      *response->add_gpus() = std::move(gpu);
    }
    return absl::OkStatus();
  };
  return Act(context->DefaultReactor(), *context, {"Control.ListGpus", "", "", Effect::kReads, list});
}

ServerUnaryReactor* ControlPort::PauseDispatch(CallbackServerContext* context,
                                               const sassay::v1::PauseDispatchRequest* request,
                                               sassay::v1::PauseDispatchResponse*) {
  const auto pause = [this, request](const Caller& caller) -> absl::Status {
    RETURN_IF_ERROR(CheckGpu(request->uuid()));
    return port_.queue.Pause({"", "operator", sassay::v1::GPU_STATE_PAUSED, Short(request->reason()), "", absl::Now(),
                              caller.tenant});
  };
  return Act(context->DefaultReactor(), *context,
             {"Control.PauseDispatch", request->uuid(), request->reason(), Effect::kChanges, pause});
}

ServerUnaryReactor* ControlPort::ResumeDispatch(CallbackServerContext* context,
                                                const sassay::v1::ResumeDispatchRequest* request,
                                                sassay::v1::ResumeDispatchResponse*) {
  const auto resume = [this, request](const Caller&) -> absl::Status {
    RETURN_IF_ERROR(CheckGpu(request->uuid()));
    return port_.queue.Resume();
  };
  return Act(context->DefaultReactor(), *context,
             {"Control.ResumeDispatch", request->uuid(), "", Effect::kChanges, resume});
}

ServerUnaryReactor* ControlPort::RestartWorkers(CallbackServerContext* context,
                                                const sassay::v1::RestartWorkersRequest* request,
                                                sassay::v1::RestartWorkersResponse*) {
  return NotYet(*context, "Control.RestartWorkers", request->uuid(), request->reason());
}

ServerUnaryReactor* ControlPort::QuarantineGpu(CallbackServerContext* context,
                                               const sassay::v1::QuarantineGpuRequest* request,
                                               sassay::v1::QuarantineGpuResponse*) {
  return NotYet(*context, "Control.QuarantineGpu", request->uuid(), request->reason());
}

ServerUnaryReactor* ControlPort::ReleaseGpu(CallbackServerContext* context,
                                            const sassay::v1::ReleaseGpuRequest* request,
                                            sassay::v1::ReleaseGpuResponse*) {
  return NotYet(*context, "Control.ReleaseGpu", request->uuid(), request->reason());
}

ServerUnaryReactor* ControlPort::ExcludeTurns(CallbackServerContext* context,
                                              const sassay::v1::ExcludeTurnsRequest* request,
                                              sassay::v1::ExcludeTurnsResponse*) {
  return NotYet(*context, "Control.ExcludeTurns", request->uuid(), request->reason());
}

grpc::ServerWriteReactor<sassay::v1::Incident>* ControlPort::StreamIncidents(
    CallbackServerContext* context, const sassay::v1::StreamIncidentsRequest*) {
  constexpr const char* kName = "Control.StreamIncidents";
  return Act(new EndedStream, *context,
             {kName, "", "", Effect::kReads, [](const Caller&) { return NotInThisVersion(kName); }});
}

}  // namespace sassay::api
