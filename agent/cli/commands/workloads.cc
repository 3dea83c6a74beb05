#include <filesystem>
#include <memory>

#include "absl/strings/match.h"
#include "agent/build/workload_names.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/session.h"
#include "agent/render/reports.h"
#include "agent/submit/calls.h"
#include "agent/submit/rpc_error.h"
#include "common/base/status_macros.h"
#include "common/workload/catalog.h"

namespace sassay::agent {
namespace {

bool AsksService(const Session& session) { return absl::StartsWith(session.settings().Origin("service"), "flag"); }

absl::StatusOr<v1::ListWorkloadsResponse> List(Session& session) {
  if (AsksService(session)) {
    ASSIGN_OR_RETURN(const auto connection, session.Connect());
    return ListWorkloads(*connection);
  }
  ASSIGN_OR_RETURN(const WorkloadCatalog catalog, LoadCatalog(session.settings()));
  v1::ListWorkloadsResponse response;
  for (v1::Workload& workload : catalog.List()) *response.add_workloads() = std::move(workload);
  return response;
}

absl::StatusOr<v1::Workload> Find(Session& session, const std::string& name) {
  if (AsksService(session)) {
    ASSIGN_OR_RETURN(const auto connection, session.Connect());
    return GetWorkload(*connection, name);
  }
  ASSIGN_OR_RETURN(const WorkloadCatalog catalog, LoadCatalog(session.settings()));
  return ResolveWorkload(catalog, name);
}

int ShowAll(Session& session) {
  const absl::StatusOr<v1::ListWorkloadsResponse> response = List(session);
  if (!response.ok()) return session.Fail(response.status());
  session.Answer(*response, RenderWorkloads(response->workloads(), session.style()));
  return kExitCorrect;
}

int ShowOne(Session& session, const std::string& name) {
  const absl::StatusOr<v1::Workload> workload = Find(session, name);
  if (!workload.ok()) return session.Fail(workload.status());
  session.Answer(*workload, RenderWorkload(*workload, session.style()));
  return kExitCorrect;
}

}  // namespace

void AddWorkloadsCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command =
      root.add_subcommand("workloads", "Lists workloads, or shows one with its shapes and the signature of run()");
  const auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "definition/AXIS=value, or a definition for its first suggested size")
      ->type_name("");
  command->footer(
      "Shows the local catalogue; with --service on the command line, the service's.\n\nExamples:\n  mini-ptx-agent "
      "workloads\n"
      "  mini-ptx-agent workloads gemm_n256_k256/M=256\n  mini-ptx-agent workloads --service 127.0.0.1:50051");
  AddCommonFlags(*command, invocation);
  AddSettingFlags(*command, invocation, {"definitions"});
  command->callback([&invocation, name] {
    invocation.action = [name](Session& session) { return name->empty() ? ShowAll(session) : ShowOne(session, *name); };
  });
}

}  // namespace sassay::agent
