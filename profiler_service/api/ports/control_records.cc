// Control's handlers for what is written down and read: turns that do not count, incidents, health, usage, the audit
// log.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "profiler_service/api/ports/control_port.h"
#include "profiler_service/queue/bounded.h"

namespace sassay::api {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

constexpr size_t kMaxIncidentBytes = 256 << 10;
constexpr size_t kMaxIdBytes = 128;
constexpr size_t kMaxTenantBytes = 128;
constexpr uint32_t kLargestWeight = 1000;
constexpr uint32_t kUsualAuditPage = 100;
constexpr uint32_t kLargestAuditPage = 1000;

absl::Status CheckIncidentId(absl::string_view field, const std::string& id) {
  if (!id.empty() && id.size() <= kMaxIdBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": expected 1 to ", kMaxIdBytes, " characters, got ", id.size()));
}

std::string Describe(const store::BadWindow& window) {
  const auto text = [](absl::Time time) {
    return time == absl::InfiniteFuture() ? std::string("...") : absl::FormatTime(time, absl::UTCTimeZone());
  };
  return absl::StrCat(window.incident_id, " from ", text(window.from), " to ", text(window.to), ": ", window.reason);
}

store::BadWindow WindowOf(const sassay::v1::ExcludeTurnsRequest& request) {
  return {request.uuid(), TimeOf(request.from()), request.has_to() ? TimeOf(request.to()) : absl::InfiniteFuture(),
          ShortText(request.incident_id()), ShortText(request.reason())};
}

absl::Status CheckWindow(const sassay::v1::ExcludeTurnsRequest& request) {
  RETURN_IF_ERROR(CheckIncidentId("incident_id", request.incident_id()));
  if (!request.has_from()) return absl::InvalidArgumentError("from: expected the window's begin");
  if (request.has_to() && TimeOf(request.to()) < TimeOf(request.from())) {
    return absl::InvalidArgumentError("to: expected a moment at or after `from`; leave it out while the window lasts");
  }
  return absl::OkStatus();
}

absl::Status CheckIncident(const sassay::v1::Incident& incident) {
  RETURN_IF_ERROR(CheckIncidentId("incident.id", incident.id()));
  if (incident.revision() == 0) return absl::InvalidArgumentError("incident.revision: expected 1 or more, got 0");
  if (incident.ByteSizeLong() <= kMaxIncidentBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("incident: expected at most ", kMaxIncidentBytes, " bytes, got ",
                                                 incident.ByteSizeLong(), "; leave evidence out"));
}

sassay::v1::AuditEntry ToProto(const store::AuditRecord& record) {
  sassay::v1::AuditEntry entry;
  entry.set_sequence(record.sequence);
  SetTimestamp(record.at, *entry.mutable_at());
  entry.set_actor(record.actor);
  entry.set_action(record.action);
  entry.set_target(record.target);
  entry.set_outcome(record.outcome);
  entry.set_detail(record.detail);
  queue::BoundTexts(entry);  // older records may hold bytes that are no UTF-8
  return entry;
}

}  // namespace

ServerUnaryReactor* ControlPort::ExcludeTurns(CallbackServerContext* context,
                                              const sassay::v1::ExcludeTurnsRequest* request,
                                              sassay::v1::ExcludeTurnsResponse* response) {
  const auto exclude = [this, request, response](const Caller&) -> absl::Status {
    RETURN_IF_ERROR(CheckOneGpu(request->uuid()));
    RETURN_IF_ERROR(CheckWindow(*request));
    ASSIGN_OR_RETURN(const store::Exclusions excluded,
                     store::Await<store::Exclusions>([&](store::Callback<store::Exclusions> done) {
                       port_.queue.Exclude(WindowOf(*request), std::move(done));
                     }));
    response->mutable_submission_ids()->Assign(excluded.submission_ids.begin(), excluded.submission_ids.end());
    return absl::OkStatus();
  };
  return Act(*context,
             {"Control.ExcludeTurns", request->uuid(), Describe(WindowOf(*request)), Effect::kChanges, exclude});
}

ServerUnaryReactor* ControlPort::ReportHealth(CallbackServerContext* context,
                                              const sassay::v1::ReportHealthRequest* request,
                                              sassay::v1::ReportHealthResponse*) {
  const auto report = [this, request](const Caller&) -> absl::Status {
    // The monitor may watch GPUs of the host that are none of this service's.
    sassay::v1::ReportHealthRequest ours;
    for (const sassay::v1::GpuHealth& health : request->gpus()) {
      if (CheckOneGpu(health.uuid()).ok()) *ours.add_gpus() = health;
    }
    port_.queue.ReportHealth(ours);
    return absl::OkStatus();
  };
  return Act(*context, {"Control.ReportHealth", "", request->instance(), Effect::kReads, report});
}

ServerUnaryReactor* ControlPort::RecordIncident(CallbackServerContext* context,
                                                const sassay::v1::RecordIncidentRequest* request,
                                                sassay::v1::RecordIncidentResponse*) {
  const auto record = [this, request](const Caller&) -> absl::Status {
    RETURN_IF_ERROR(CheckIncident(request->incident()));
    return port_.queue.RecordIncident(request->incident());
  };
  const sassay::v1::Incident& incident = request->incident();
  return Act(*context, {"Control.RecordIncident", incident.uuid(),
                        absl::StrCat(incident.id(), " revision ", incident.revision(), ": ", incident.reason()),
                        Effect::kChanges, record});
}

ServerUnaryReactor* ControlPort::GetUsage(CallbackServerContext* context, const sassay::v1::GetUsageRequest* request,
                                          sassay::v1::GetUsageResponse* response) {
  const auto read = [this, request, response](const Caller&) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<sassay::v1::TenantUsage> tenants,
                     port_.store.Usage(request->tenant(), absl::Now()));
    for (const sassay::v1::TenantUsage& tenant : tenants) *response->add_tenants() = tenant;
    return absl::OkStatus();
  };
  return Act(*context, {"Control.GetUsage", request->tenant(), "", Effect::kReads, read});
}

ServerUnaryReactor* ControlPort::SetTenant(CallbackServerContext* context, const sassay::v1::SetTenantRequest* request,
                                           sassay::v1::SetTenantResponse*) {
  const auto set = [this, request](const Caller&) -> absl::Status {
    if (request->tenant().empty() || request->tenant().size() > kMaxTenantBytes) {
      return absl::InvalidArgumentError(absl::StrCat("tenant: expected a name of 1 to ", kMaxTenantBytes,
                                                     " characters, got ", request->tenant().size()));
    }
    if (request->weight() < 1 || request->weight() > kLargestWeight) {
      return absl::InvalidArgumentError(
          absl::StrCat("weight: expected 1 to ", kLargestWeight, ", got ", request->weight()));
    }
    return port_.store.SetWeight(request->tenant(), request->weight());
  };
  return Act(*context, {"Control.SetTenant", request->tenant(), absl::StrCat("weight ", request->weight()),
                        Effect::kChanges, set});
}

ServerUnaryReactor* ControlPort::ListAudit(CallbackServerContext* context, const sassay::v1::ListAuditRequest* request,
                                           sassay::v1::ListAuditResponse* response) {
  const auto read = [this, request, response](const Caller&) -> absl::Status {
    const uint32_t limit = request->limit() == 0 ? kUsualAuditPage : std::min(request->limit(), kLargestAuditPage);
    ASSIGN_OR_RETURN(const std::vector<store::AuditRecord> records,
                     port_.store.AuditLog(request->after_sequence(), static_cast<int>(limit)));
    for (const store::AuditRecord& record : records) *response->add_entries() = ToProto(record);
    return absl::OkStatus();
  };
  return Act(*context, {"Control.ListAudit", "", "", Effect::kReads, read});
}

}  // namespace sassay::api
