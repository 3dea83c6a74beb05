#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/proto_json.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/terminal/text.h"
#include "monitor/admin/commands.h"
#include "monitor/admin/tables.h"

namespace sassay::monitor {
namespace {

using Stub = ControlClient::Stub;
constexpr absl::Duration kTimeout = absl::Seconds(30);

struct IncidentArguments {
  absl::Duration since = absl::Hours(24);
  bool follow = false;
};

struct RecordArguments {
  std::string tenant;
  uint32_t weight = 0;
  uint64_t after = 0;
  uint32_t limit = 100;
};

v1::StreamIncidentsRequest RequestFor(const IncidentArguments& arguments) {
  v1::StreamIncidentsRequest request;
  SetTimestamp(absl::Now() - arguments.since, *request.mutable_from());
  return request;
}

absl::Status Finish(const AdminSession& session, const grpc::Status& status) {
  return FromGrpc(status, "read incidents", session.client.channel().service());
}

absl::Status FollowIncidents(AdminSession& session, const IncidentArguments& arguments) {
  const auto context = session.client.channel().NewContext(absl::InfiniteDuration());
  const auto stream = session.client.stub().StreamIncidents(context.get(), RequestFor(arguments));
  for (v1::Incident incident; stream->Read(&incident);) {
    session.out << (session.json ? ToJson(incident, -1) + "\n" : IncidentText(incident, session.style)) << std::flush;
  }
  return Finish(session, stream->Finish());
}

absl::Status KeptIncidents(AdminSession& session, const IncidentArguments& arguments) {
  const auto context = session.client.channel().NewContext(kTimeout);
  v1::StreamIncidentsRequest request = RequestFor(arguments);
  request.set_only_kept(true);
  const auto stream = session.client.stub().StreamIncidents(context.get(), request);
  std::vector<v1::Incident> incidents;
  for (v1::Incident incident; stream->Read(&incident);) incidents.push_back(incident);
  RETURN_IF_ERROR(Finish(session, stream->Finish()));
  if (incidents.empty() && !session.json) session.out << "no incident in the last " << AgeText(arguments.since) << "\n";
  std::string array;
  for (const v1::Incident& incident : NewestRevisions(incidents)) {
    if (session.json) {
      absl::StrAppend(&array, array.empty() ? "" : ",\n", ToJson(incident, -1));
    } else {
      session.out << IncidentText(incident, session.style);
    }
  }
  if (session.json) session.out << "{\"incidents\": [" << array << "]}\n";
  return absl::OkStatus();
}

absl::StatusOr<v1::GetUsageResponse> GetUsage(const AdminSession& session, const RecordArguments& arguments) {
  v1::GetUsageRequest request;
  request.set_tenant(arguments.tenant);
  v1::GetUsageResponse response;
  RETURN_IF_ERROR(session.client.Call(&Stub::GetUsage, "read usage", kTimeout, request, response));
  return response;
}

absl::Status Usage(AdminSession& session, const RecordArguments& arguments) {
  ASSIGN_OR_RETURN(const v1::GetUsageResponse usage, GetUsage(session, arguments));
  session.Answer(usage, UsageText(usage));
  return absl::OkStatus();
}

absl::Status Tenants(AdminSession& session, const RecordArguments& arguments) {
  ASSIGN_OR_RETURN(const v1::GetUsageResponse usage, GetUsage(session, arguments));
  session.Answer(usage, TenantsText(usage));
  return absl::OkStatus();
}

absl::Status SetTenant(AdminSession& session, const RecordArguments& arguments) {
  v1::SetTenantRequest request;
  request.set_tenant(arguments.tenant);
  request.set_weight(arguments.weight);
  v1::SetTenantResponse response;
  RETURN_IF_ERROR(session.client.Call(&Stub::SetTenant, "set the tenant's weight", kTimeout, request, response));
  session.Answer(response, absl::StrCat(PrintableLine(arguments.tenant), " has weight ", arguments.weight,
                                        " from the next dispatch on\n"));
  return absl::OkStatus();
}

absl::Status Audit(AdminSession& session, const RecordArguments& arguments) {
  v1::ListAuditRequest request;
  request.set_after_sequence(arguments.after);
  request.set_limit(arguments.limit);
  v1::ListAuditResponse response;
  RETURN_IF_ERROR(session.client.Call(&Stub::ListAudit, "read the audit log", kTimeout, request, response));
  session.Answer(response, AuditText(response));
  return absl::OkStatus();
}

void AddIncidents(CLI::App& root, AdminInvocation& invocation) {
  auto arguments = std::make_shared<IncidentArguments>();
  CLI::App* incidents = root.add_subcommand("incidents", "What the monitor saw go wrong, and what was done about it");
  const auto parse = [arguments](const std::string& text) {
    if (!absl::ParseDuration(text, &arguments->since) || arguments->since < absl::ZeroDuration()) {
      throw CLI::ValidationError(absl::StrCat("--since: expected a number with unit (30m, 24h), got '", text, "'"));
    }
  };
  incidents->add_option_function<std::string>("--since", parse, "How far back")
      ->type_name("DURATION")
      ->default_str("24h");
  incidents->add_flag("--follow", arguments->follow, "Go on with those that come");
  incidents->callback([&invocation, arguments] {
    invocation.action = [arguments](AdminSession& session) {
      return arguments->follow ? FollowIncidents(session, *arguments) : KeptIncidents(session, *arguments);
    };
  });
}

CLI::App* AddRecords(CLI::App& root, AdminInvocation& invocation, const char* name, const char* help,
                     absl::Status (*action)(AdminSession&, const RecordArguments&),
                     const std::shared_ptr<RecordArguments>& arguments) {
  CLI::App* command = root.add_subcommand(name, help);
  command->callback(
      [&invocation, action, arguments] { invocation.action = [=](AdminSession& s) { return action(s, *arguments); }; });
  return command;
}

}  // namespace

void AddRecordCommands(CLI::App& root, AdminInvocation& invocation) {
  AddIncidents(root, invocation);
  AddRecords(root, invocation, "tenants", "Who uses the service now", Tenants, std::make_shared<RecordArguments>());
  auto shared = std::make_shared<RecordArguments>();
  CLI::App* tenant =
      AddRecords(root, invocation, "tenant",
                 "Sets a tenant's share: of two that both have work, one with twice the weight gets twice "
                 "the GPU time",
                 SetTenant, shared);
  tenant->add_option("TENANT", shared->tenant, "Its name, as in its token")->required();
  tenant->add_option("--weight", shared->weight, "1 to 1000; 1 unless it was set")->required();
  auto used = std::make_shared<RecordArguments>();
  CLI::App* usage = AddRecords(root, invocation, "usage",
                               "GPU-seconds of each tenant: of verdicts that stand, of those "
                               "that were excluded, and of attempts that were lost",
                               Usage, used);
  usage->add_option("TENANT", used->tenant, "One tenant; all otherwise");
  auto audited = std::make_shared<RecordArguments>();
  CLI::App* audit = AddRecords(root, invocation, "audit", "Who changed what, and who was refused", Audit, audited);
  audit->add_option("--after", audited->after, "Leave out records up to this number")->capture_default_str();
  audit->add_option("--limit", audited->limit, "At most so many, never more than 1000")->capture_default_str();
}

}  // namespace sassay::monitor
