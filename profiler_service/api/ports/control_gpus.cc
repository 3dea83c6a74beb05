// Control's handlers for what is done with a GPU.
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "profiler_service/api/ports/cluster/cluster_devices.h"
#include "profiler_service/api/ports/control_port.h"
#include "profiler_service/api/ports/incidents/operator_incidents.h"
#include "spdlog/spdlog.h"

namespace sassay::api {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

constexpr absl::Duration kUsualCanaryWait = absl::Seconds(10);
constexpr absl::Duration kLongestCanaryWait = absl::Minutes(1);

absl::StatusOr<std::string> HolderOf(const std::string& given) {
  if (given.empty() || given == "operator") return std::string("operator");
  if (given == "monitor") return given;
  return absl::InvalidArgumentError(
      absl::StrCat("holder: expected 'operator' or 'monitor', got '", ShortText(given), "'"));
}

absl::StatusOr<sassay::v1::GpuState> PauseStateOf(sassay::v1::GpuState given) {
  if (given == sassay::v1::GPU_STATE_UNSPECIFIED) return sassay::v1::GPU_STATE_PAUSED;
  if (given == sassay::v1::GPU_STATE_PAUSED || given == sassay::v1::GPU_STATE_COOLING) return given;
  return absl::InvalidArgumentError(absl::StrCat("state: expected PAUSED or COOLING, got enum value ", given,
                                                 "; QuarantineGpu takes a GPU out of service"));
}

// What the monitor says of a GPU that nobody holds.
void AddHealth(const queue::Finality& finality, sassay::v1::Gpu& gpu) {
  const absl::optional<sassay::v1::GpuHealth> health = finality.Health(gpu.uuid());
  if (!health.has_value()) return;
  if (health->has_healthy_through()) *gpu.mutable_healthy_through() = health->healthy_through();
  if (gpu.holds_size() > 0 || health->state() != sassay::v1::GPU_STATE_SUSPECT) return;
  gpu.set_state(sassay::v1::GPU_STATE_SUSPECT);
  gpu.set_reason(health->reason());
}

absl::StatusOr<sassay::v1::Gpu> FindIn(const std::vector<sassay::v1::Gpu>& gpus, const std::string& uuid) {
  for (const sassay::v1::Gpu& gpu : gpus) {
    if (gpu.uuid() == uuid) return gpu;
  }
  return absl::NotFoundError(absl::StrCat("uuid: no GPU '", ShortText(uuid), "' here"));
}

}  // namespace

absl::StatusOr<size_t> ControlPort::NoteEndedQuarantines(const std::vector<sassay::v1::Gpu>& before,
                                                         const std::string& actor, const std::string& reason) {
  const OperatorAct act = {actor, ShortText(reason), absl::Now()};
  const std::vector<sassay::v1::Incident> ended = EndedIncidents(before, parts_.holds.List(), act);
  for (const sassay::v1::Incident& incident : ended) RETURN_IF_ERROR(port_.queue.RecordIncident(incident));
  return ended.size();
}

ServerUnaryReactor* ControlPort::ListGpus(CallbackServerContext* context, const sassay::v1::ListGpusRequest*,
                                          sassay::v1::ListGpusResponse* response) {
  const auto list = [this, response](const Caller&) {
    const Nodes nodes = port_.nodes == nullptr ? Nodes() : port_.nodes->Known();
    std::map<std::string, uint32_t> running;
    for (const sassay::v1::GpuPulse& pulse : parts_.gpus.Pulses()) running[pulse.uuid()] = pulse.running();
    for (sassay::v1::Gpu& gpu : parts_.holds.List()) {
      gpu.set_running(running[gpu.uuid()]);
      AddHealth(port_.queue.finality(), gpu);
      if (port_.nodes != nullptr) AddNode(nodes, gpu);
      *response->add_gpus() = std::move(gpu);
    }
    return absl::OkStatus();
  };
  return Act(*context, {"Control.ListGpus", "", "", Effect::kReads, list});
}

ServerUnaryReactor* ControlPort::PauseDispatch(CallbackServerContext* context,
                                               const sassay::v1::PauseDispatchRequest* request,
                                               sassay::v1::PauseDispatchResponse*) {
  const auto pause = [this, request](const Caller& caller) -> absl::Status {
    ASSIGN_OR_RETURN(const std::string holder, HolderOf(request->holder()));
    ASSIGN_OR_RETURN(const sassay::v1::GpuState state, PauseStateOf(request->state()));
    const std::vector<sassay::v1::Gpu> before = parts_.holds.List();
    RETURN_IF_ERROR(parts_.holds.Place({request->uuid(), holder, state, ShortText(request->reason()),
                                        ShortText(request->incident_id()), absl::Now(), caller.tenant}));
    return NoteEndedQuarantines(before, caller.tenant, "paused instead").status();
  };
  return Act(*context, {"Control.PauseDispatch", request->uuid(), request->reason(), Effect::kChanges, pause});
}

ServerUnaryReactor* ControlPort::ResumeDispatch(CallbackServerContext* context,
                                                const sassay::v1::ResumeDispatchRequest* request,
                                                sassay::v1::ResumeDispatchResponse*) {
  const auto resume = [this, request](const Caller& caller) -> absl::Status {
    ASSIGN_OR_RETURN(const std::string holder, HolderOf(request->holder()));
    const std::vector<sassay::v1::Gpu> before = parts_.holds.List();
    RETURN_IF_ERROR(parts_.holds.Lift(request->uuid(), holder));
    return NoteEndedQuarantines(before, caller.tenant, "").status();
  };
  return Act(*context, {"Control.ResumeDispatch", request->uuid(), request->holder(), Effect::kChanges, resume});
}

ServerUnaryReactor* ControlPort::RestartWorkers(CallbackServerContext* context,
                                                const sassay::v1::RestartWorkersRequest* request,
                                                sassay::v1::RestartWorkersResponse* response) {
  const auto restart = [this, request, response](const Caller&) -> absl::Status {
    RETURN_IF_ERROR(CheckOneGpu(request->uuid()));
    ASSIGN_OR_RETURN(const uint32_t runners, parts_.gpus.RestartWorkers(request->uuid(), ShortText(request->reason())));
    response->set_runners(runners);
    return absl::OkStatus();
  };
  return ActOn(parts_.slow_pool, *context,
               {"Control.RestartWorkers", request->uuid(), request->reason(), Effect::kChanges, restart});
}

ServerUnaryReactor* ControlPort::QuarantineGpu(CallbackServerContext* context,
                                               const sassay::v1::QuarantineGpuRequest* request,
                                               sassay::v1::QuarantineGpuResponse*) {
  const auto quarantine = [this, request](const Caller& caller) -> absl::Status {
    RETURN_IF_ERROR(CheckOneGpu(request->uuid()));
    ASSIGN_OR_RETURN(const std::string holder, HolderOf(request->holder()));
    const std::vector<sassay::v1::Gpu> before = parts_.holds.List();
    store::Hold hold = {request->uuid(),
                        holder,
                        sassay::v1::GPU_STATE_QUARANTINED,
                        ShortText(request->reason()),
                        ShortText(request->incident_id()),
                        absl::Now(),
                        caller.tenant};
    const bool by_operator = holder == "operator" && hold.incident_id.empty();
    if (by_operator) hold.incident_id = NewOperatorIncidentId();
    RETURN_IF_ERROR(parts_.holds.Place(hold));
    if (by_operator) RETURN_IF_ERROR(port_.queue.RecordIncident(QuarantineIncident(hold)));
    return NoteEndedQuarantines(before, caller.tenant, "quarantined anew").status();
  };
  return Act(*context, {"Control.QuarantineGpu", request->uuid(), request->reason(), Effect::kChanges, quarantine});
}

ServerUnaryReactor* ControlPort::ReleaseGpu(CallbackServerContext* context,
                                            const sassay::v1::ReleaseGpuRequest* request,
                                            sassay::v1::ReleaseGpuResponse* response) {
  const auto release = [this, request, response](const Caller& caller) -> absl::Status {
    RETURN_IF_ERROR(CheckOneGpu(request->uuid()));
    if (!request->force() && port_.queue.finality().Watched(request->uuid())) {
      sassay::v1::Telemetry message;
      message.mutable_release()->set_uuid(request->uuid());
      message.mutable_release()->set_actor(caller.tenant);
      message.mutable_release()->set_reason(ShortText(request->reason()));
      parts_.telemetry.Publish(std::move(message));
      return absl::OkStatus();
    }
    const std::vector<sassay::v1::Gpu> before = parts_.holds.List();
    ASSIGN_OR_RETURN(const sassay::v1::Gpu gpu, FindIn(before, request->uuid()));
    RETURN_IF_ERROR(port_.store.CloseWindows(request->uuid(), absl::Now()));
    RETURN_IF_ERROR(parts_.holds.LiftEveryones(request->uuid()));
    response->set_released(true);
    ASSIGN_OR_RETURN(const size_t ended, NoteEndedQuarantines(before, caller.tenant, request->reason()));
    if (ended > 0 || gpu.holds().empty()) return absl::OkStatus();
    return port_.queue.RecordIncident(ReleaseIncident(gpu, {caller.tenant, ShortText(request->reason()), absl::Now()}));
  };
  return Act(*context,
             {"Control.ReleaseGpu", request->uuid(),
              absl::StrCat(request->force() ? "forced: " : "", request->reason()), Effect::kChanges, release});
}

ServerUnaryReactor* ControlPort::RunCanary(CallbackServerContext* context, const sassay::v1::RunCanaryRequest* request,
                                           sassay::v1::RunCanaryResponse* response) {
  const auto run = [this, request, response](const Caller&) -> absl::Status {
    RETURN_IF_ERROR(CheckOneGpu(request->uuid()));
    const absl::Duration wait = request->wait_ms() == 0 ? kUsualCanaryWait : absl::Milliseconds(request->wait_ms());
    if (wait > kLongestCanaryWait) {
      return absl::InvalidArgumentError(absl::StrCat(
          "wait_ms: expected at most ", absl::ToInt64Milliseconds(kLongestCanaryWait), ", got ", request->wait_ms()));
    }
    ASSIGN_OR_RETURN(*response, parts_.gpus.RunCanary(request->uuid(), wait));
    return absl::OkStatus();
  };
  return ActOn(parts_.slow_pool, *context, {"Control.RunCanary", request->uuid(), "", Effect::kReads, run});
}

}  // namespace sassay::api
