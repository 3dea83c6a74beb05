// Cluster's handlers for what is written down about a node's GPUs: windows, timings, holds, incidents, the audit log.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "profiler_service/api/ports/cluster/cluster_port.h"
#include "profiler_service/cluster/convert.h"
#include "profiler_service/queue/bounded.h"

namespace sassay::api {
namespace {

using cluster::FromProto;
using cluster::ToProto;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

constexpr size_t kMostTextBytes = 1000;
constexpr size_t kMostIdBytes = 128;
constexpr size_t kMostIncidentBytes = size_t{256} << 10;
constexpr int kMostIncidents = 100;
// What is held for the whole cluster, as a node sees it.
constexpr char kClusterHolder[] = "cluster ";

std::string Short(const std::string& text) { return ToUtf8(text.substr(0, kMostTextBytes)); }

// "All" GPUs of a node, as the store keeps it: no GPU is called so.
std::string AllOf(const NodeCaller& caller) { return absl::StrCat("node:", caller.name); }

absl::Status CheckId(absl::string_view field, const std::string& id) {
  if (!id.empty() && id.size() <= kMostIdBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": expected 1 to ", kMostIdBytes, " characters, got ", id.size()));
}

absl::Status CheckHolder(const std::string& holder) {
  if (!absl::StartsWith(holder, kClusterHolder)) return CheckId("holder", holder);
  return absl::PermissionDeniedError(
      absl::StrCat("holder: ", Short(holder), "'s hold is one of the whole cluster; end it at a front end"));
}

bool Concerns(const sassay::v1::Incident& incident, const NodeCaller& caller) {
  return incident.uuid().empty() ? incident.host() == caller.node->facts.host() : caller.node->Has(incident.uuid());
}

}  // namespace

// ---- windows and timings ----

ServerUnaryReactor* ClusterPort::Exclude(CallbackServerContext* context, const sassay::v1::ExcludeRequest* request,
                                         sassay::v1::ExcludeResponse* response) {
  const auto act = [this, request, response](const NodeCaller& caller, const Reply& reply) {
    absl::Status good = caller.CheckGpu("window.gpu", request->window().gpu());
    if (good.ok()) good = CheckId("window.incident_id", request->window().incident_id());
    if (good.ok()) good = CheckTime("at", TimeOf(request->at()));
    if (!good.ok()) return reply(good);
    store::BadWindow window = FromProto(request->window());
    window.reason = Short(window.reason);
    port_.store.Exclude(
        window, request->max_exclusions(), TimeOf(request->at()),
        [response, reply](const absl::StatusOr<store::Exclusions>& excluded) {
          if (excluded.ok()) {
            *response->mutable_events() = {excluded->events.begin(), excluded->events.end()};
            *response->mutable_submission_ids() = {excluded->submission_ids.begin(), excluded->submission_ids.end()};
          }
          reply(excluded.status());
        });
  };
  return Serve(*context, request->node(), act);
}

ServerUnaryReactor* ClusterPort::ListWindows(CallbackServerContext* context,
                                             const sassay::v1::ListWindowsRequest* request,
                                             sassay::v1::ListWindowsResponse* response) {
  const auto act = [this, response](const NodeCaller& caller) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<store::BadWindow> windows, port_.store.OpenWindows());
    for (const store::BadWindow& window : windows) {
      if (caller.node->Has(window.gpu)) *response->add_windows() = ToProto(window);
    }
    return absl::OkStatus();
  };
  return Answer(*context, request->node(), act);
}

ServerUnaryReactor* ClusterPort::CloseWindows(CallbackServerContext* context,
                                              const sassay::v1::CloseWindowsRequest* request,
                                              sassay::v1::CloseWindowsResponse*) {
  return Answer(*context, request->node(), [this, request](const NodeCaller& caller) -> absl::Status {
    RETURN_IF_ERROR(caller.CheckGpu("gpu", request->gpu()));
    return port_.store.CloseWindows(request->gpu(), TimeOf(request->at()));
  });
}

ServerUnaryReactor* ClusterPort::ListProvisionals(CallbackServerContext* context,
                                                  const sassay::v1::ListProvisionalsRequest* request,
                                                  sassay::v1::ListProvisionalsResponse* response) {
  const auto act = [this, response](const NodeCaller& caller) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<store::Provisional> timings, port_.store.Provisionals());
    for (const store::Provisional& timing : timings) {
      if (caller.node->Has(timing.gpu)) *response->add_timings() = ToProto(timing);
    }
    return absl::OkStatus();
  };
  return Answer(*context, request->node(), act);
}

ServerUnaryReactor* ClusterPort::SettleTiming(CallbackServerContext* context,
                                              const sassay::v1::SettleTimingRequest* request,
                                              sassay::v1::SettleTimingResponse* response) {
  const auto act = [this, request, response](const NodeCaller& caller, const Reply& reply) {
    const auto open = port_.store.Provisionals();
    if (!open.ok()) return reply(open.status());
    const auto timing = std::find_if(open->begin(), open->end(), [&](const store::Provisional& each) {
      return each.id == request->submission_id() && each.attempt == request->attempt();
    });
    if (timing == open->end()) {
      return reply(absl::AbortedError("that submission has no timing (any more) that is not final"));
    }
    if (const absl::Status own = caller.CheckGpu("submission_id", timing->gpu); !own.ok()) return reply(own);
    port_.store.SettleTiming(timing->id, timing->attempt, Short(request->warning()), TimeOf(request->at()),
                             [response, reply](const absl::StatusOr<sassay::v1::Event>& event) {
                               if (event.ok()) *response->mutable_event() = *event;
                               reply(event.status());
                             });
  };
  return Serve(*context, request->node(), act);
}

// ---- holds ----

ServerUnaryReactor* ClusterPort::PlaceHold(CallbackServerContext* context, const sassay::v1::PlaceHoldRequest* request,
                                           sassay::v1::PlaceHoldResponse*) {
  return Answer(*context, request->node(), [this, request](const NodeCaller& caller) -> absl::Status {
    if (!request->gpu().empty()) RETURN_IF_ERROR(caller.CheckGpu("gpu", request->gpu()));
    RETURN_IF_ERROR(CheckHolder(request->hold().holder()));
    sassay::v1::HoldOfGpu hold;
    hold.set_gpu(request->gpu().empty() ? AllOf(caller) : request->gpu());
    *hold.mutable_hold() = request->hold();
    hold.mutable_hold()->set_reason(Short(request->hold().reason()));
    hold.mutable_hold()->set_incident_id(Short(request->hold().incident_id()));
    hold.mutable_hold()->set_actor(Short(absl::StrCat(caller.name, ": ", request->hold().actor())));
    return port_.store.PlaceHold(FromProto(hold));
  });
}

ServerUnaryReactor* ClusterPort::LiftHold(CallbackServerContext* context, const sassay::v1::LiftHoldRequest* request,
                                          sassay::v1::LiftHoldResponse*) {
  return Answer(*context, request->node(), [this, request](const NodeCaller& caller) -> absl::Status {
    if (!request->gpu().empty()) RETURN_IF_ERROR(caller.CheckGpu("gpu", request->gpu()));
    RETURN_IF_ERROR(CheckHolder(request->holder()));
    return port_.store.LiftHold(request->gpu().empty() ? AllOf(caller) : request->gpu(), request->holder());
  });
}

ServerUnaryReactor* ClusterPort::ListHolds(CallbackServerContext* context, const sassay::v1::ListHoldsRequest* request,
                                           sassay::v1::ListHoldsResponse* response) {
  const auto act = [this, response](const NodeCaller& caller) -> absl::Status {
    ASSIGN_OR_RETURN(std::vector<store::Hold> holds, port_.store.Holds());
    for (store::Hold& hold : holds) {
      if (hold.gpu.empty()) {
        hold.holder = absl::StrCat(kClusterHolder, hold.holder);
      } else if (hold.gpu == AllOf(caller)) {
        hold.gpu.clear();
      } else if (!caller.node->Has(hold.gpu)) {
        continue;
      }
      hold.actor = std::string(absl::StripPrefix(hold.actor, absl::StrCat(caller.name, ": ")));
      *response->add_holds() = ToProto(hold);
    }
    std::stable_sort(response->mutable_holds()->begin(), response->mutable_holds()->end(),
                     [](const sassay::v1::HoldOfGpu& left, const sassay::v1::HoldOfGpu& right) {
                       return std::make_pair(left.gpu(), left.hold().holder()) <
                              std::make_pair(right.gpu(), right.hold().holder());
                     });
    return absl::OkStatus();
  };
  return Answer(*context, request->node(), act);
}

// ---- incidents, the audit log, numbers ----

ServerUnaryReactor* ClusterPort::KeepIncident(CallbackServerContext* context,
                                              const sassay::v1::KeepIncidentRequest* request,
                                              sassay::v1::KeepIncidentResponse*) {
  return Answer(*context, request->node(), [this, request](const NodeCaller& caller) -> absl::Status {
    sassay::v1::Incident incident = request->incident();
    RETURN_IF_ERROR(CheckId("incident.id", incident.id()));
    if (!incident.uuid().empty()) RETURN_IF_ERROR(caller.CheckGpu("incident.uuid", incident.uuid()));
    if (incident.ByteSizeLong() > kMostIncidentBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("incident: expected at most ", kMostIncidentBytes, " bytes, got ", incident.ByteSizeLong()));
    }
    queue::BoundTexts(incident);
    incident.set_host(caller.node->facts.host());
    return port_.store.RecordIncident(incident);
  });
}

ServerUnaryReactor* ClusterPort::ListIncidents(CallbackServerContext* context,
                                               const sassay::v1::ListIncidentsRequest* request,
                                               sassay::v1::ListIncidentsResponse* response) {
  const auto act = [this, request, response](const NodeCaller& caller) -> absl::Status {
    ASSIGN_OR_RETURN(const uint64_t last, port_.store.LastIncident());
    response->set_last_place(last);
    const auto limit = std::min<uint32_t>(request->limit(), kMostIncidents);
    uint64_t after = request->after_place();
    while (static_cast<uint32_t>(response->incidents_size()) < limit) {
      ASSIGN_OR_RETURN(const std::vector<store::IncidentRecord> records,
                       port_.store.IncidentsSince(TimeOf(request->from()), after, kMostIncidents));
      for (const store::IncidentRecord& record : records) {
        after = record.place;
        if (!Concerns(record.incident, caller)) continue;
        if (static_cast<uint32_t>(response->incidents_size()) == limit) break;
        sassay::v1::KeptIncident& kept = *response->add_incidents();
        kept.set_place(record.place);
        *kept.mutable_incident() = record.incident;
      }
      if (records.size() < static_cast<size_t>(kMostIncidents)) break;
    }
    return absl::OkStatus();
  };
  return Answer(*context, request->node(), act);
}

ServerUnaryReactor* ClusterPort::KeepAudit(CallbackServerContext* context, const sassay::v1::KeepAuditRequest* request,
                                           sassay::v1::KeepAuditResponse*) {
  return Answer(*context, request->node(), [this, request](const NodeCaller& caller) {
    return port_.store.Audit({0, TimeOf(request->at()), Short(absl::StrCat(caller.name, ": ", request->actor())),
                              Short(request->action()), Short(request->target()), Short(request->outcome()),
                              Short(request->detail())});
  });
}

ServerUnaryReactor* ClusterPort::GetDepths(CallbackServerContext* context, const sassay::v1::GetDepthsRequest* request,
                                           sassay::v1::GetDepthsResponse* response) {
  return Answer(*context, request->node(), [this, response](const NodeCaller&) -> absl::Status {
    ASSIGN_OR_RETURN(const store::Depths depths, port_.store.CountDepths());
    response->set_queued(depths.queued);
    response->set_leased(depths.leased);
    return absl::OkStatus();
  });
}

}  // namespace sassay::api
