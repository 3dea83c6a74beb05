#include <memory>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/base/proto_json.h"
#include "common/base/status_macros.h"
#include "common/terminal/text.h"
#include "monitor/admin/commands.h"
#include "monitor/admin/tables.h"

namespace sassay::monitor {
namespace {

using Stub = ControlClient::Stub;
constexpr absl::Duration kTimeout = absl::Seconds(10);
constexpr absl::Duration kCanaryTimeout = absl::Seconds(60);
constexpr char kOperator[] = "operator";

// What the commands about one GPU are told.
struct GpuArguments {
  std::string gpu;
  std::string node;
  bool all = false;
  bool force = false;
  std::string reason;
  uint32_t wait_ms = 0;
};

absl::Status ListGpus(const ControlClient& client, v1::ListGpusResponse& gpus) {
  return client.Call(&Stub::ListGpus, "list the GPUs", kTimeout, v1::ListGpusRequest(), gpus);
}

// The GPUs of a node, one of all, or "" for all together.
absl::StatusOr<std::vector<std::string>> Targets(const AdminSession& session, const GpuArguments& arguments) {
  if (arguments.all) return std::vector<std::string>{""};
  if (arguments.node.empty()) {
    ASSIGN_OR_RETURN(const std::string gpu, FindGpu(session.client, arguments.gpu));
    return std::vector<std::string>{gpu};
  }
  v1::ListGpusResponse gpus;
  RETURN_IF_ERROR(ListGpus(session.client, gpus));
  std::vector<std::string> targets;
  std::set<std::string> nodes;
  for (const v1::Gpu& gpu : gpus.gpus()) {
    if (gpu.node() == arguments.node) targets.push_back(gpu.uuid());
    if (!gpu.node().empty()) nodes.insert(gpu.node());
  }
  if (!targets.empty()) return targets;
  return absl::NotFoundError(absl::StrCat("no node \"", PrintableLine(arguments.node), "\" lives; there are: ",
                                          nodes.empty() ? "none" : absl::StrJoin(nodes, ", ")));
}

std::string Name(const std::string& uuid) { return uuid.empty() ? "every GPU" : PrintableLine(uuid); }

absl::Status Gpus(AdminSession& session) {
  v1::ListGpusResponse gpus;
  RETURN_IF_ERROR(ListGpus(session.client, gpus));
  session.Answer(gpus, GpusText(gpus, absl::Now(), session.style));
  return absl::OkStatus();
}

absl::Status Drain(AdminSession& session, const GpuArguments& arguments) {
  ASSIGN_OR_RETURN(const std::vector<std::string> targets, Targets(session, arguments));
  v1::PauseDispatchResponse response;
  std::string text;
  for (const std::string& gpu : targets) {
    v1::PauseDispatchRequest request;
    request.set_uuid(gpu);
    request.set_reason(arguments.reason);
    request.set_holder(kOperator);
    request.set_state(v1::GPU_STATE_PAUSED);
    RETURN_IF_ERROR(session.client.Call(&Stub::PauseDispatch, "drain", kTimeout, request, response));
    absl::StrAppend(&text, Name(gpu), " takes no new work; what runs there ends\n");
  }
  session.Answer(response, text);
  return absl::OkStatus();
}

absl::Status Resume(AdminSession& session, const GpuArguments& arguments) {
  ASSIGN_OR_RETURN(const std::vector<std::string> targets, Targets(session, arguments));
  v1::ResumeDispatchResponse response;
  std::string text;
  for (const std::string& gpu : targets) {
    v1::ResumeDispatchRequest request;
    request.set_uuid(gpu);
    request.set_holder(kOperator);
    RETURN_IF_ERROR(session.client.Call(&Stub::ResumeDispatch, "resume", kTimeout, request, response));
    absl::StrAppend(&text, "operators do not hold ", Name(gpu), " any more\n");
  }
  v1::ListGpusResponse gpus;
  RETURN_IF_ERROR(ListGpus(session.client, gpus));
  session.Answer(response, absl::StrCat(text, "\n", GpusText(gpus, absl::Now(), session.style)));
  return absl::OkStatus();
}

absl::Status Release(AdminSession& session, const GpuArguments& arguments) {
  v1::ReleaseGpuRequest request;
  ASSIGN_OR_RETURN(*request.mutable_uuid(), FindGpu(session.client, arguments.gpu));
  request.set_reason(arguments.reason);
  request.set_force(arguments.force);
  v1::ReleaseGpuResponse response;
  RETURN_IF_ERROR(session.client.Call(&Stub::ReleaseGpu, "release a GPU", kTimeout, request, response));
  session.Answer(response,
                 absl::StrCat(Name(request.uuid()),
                              response.released() ? " takes work again\n"
                                                  : " is released by the monitor as soon as a canary is clean there "
                                                    "(sassay-admin gpus shows it; --force does not wait)\n"));
  return absl::OkStatus();
}

absl::Status Quarantine(AdminSession& session, const GpuArguments& arguments) {
  v1::QuarantineGpuRequest request;
  ASSIGN_OR_RETURN(*request.mutable_uuid(), FindGpu(session.client, arguments.gpu));
  request.set_reason(arguments.reason);
  request.set_holder(kOperator);
  v1::QuarantineGpuResponse response;
  RETURN_IF_ERROR(session.client.Call(&Stub::QuarantineGpu, "quarantine a GPU", kTimeout, request, response));
  session.Answer(response, absl::StrCat(Name(request.uuid()), " is quarantined until `sassay-admin release`\n"));
  return absl::OkStatus();
}

absl::Status Canary(AdminSession& session, const GpuArguments& arguments) {
  v1::RunCanaryRequest request;
  ASSIGN_OR_RETURN(*request.mutable_uuid(), FindGpu(session.client, arguments.gpu));
  request.set_wait_ms(arguments.wait_ms);
  v1::RunCanaryResponse response;
  const absl::Duration timeout = kCanaryTimeout + absl::Milliseconds(arguments.wait_ms);
  RETURN_IF_ERROR(session.client.Call(&Stub::RunCanary, "run the canary", timeout, request, response));
  session.Answer(response, CanaryText(response));
  return absl::OkStatus();
}

using GpuAction = absl::Status (*)(AdminSession&, const GpuArguments&);

CLI::App* AddGpuCommand(CLI::App& root, AdminInvocation& invocation, const std::string& name, const std::string& help,
                        GpuAction action, const std::shared_ptr<GpuArguments>& arguments) {
  CLI::App* command = root.add_subcommand(name, help);
  command->callback(
      [&invocation, action, arguments] { invocation.action = [=](AdminSession& s) { return action(s, *arguments); }; });
  return command;
}

void AddOneGpu(CLI::App& command, GpuArguments& arguments) {
  command.add_option("GPU", arguments.gpu, "Its id, or a part of it that only one has (sassay-admin gpus)")->required();
}

void AddGpuOrAll(CLI::App& command, GpuArguments& arguments) {
  CLI::Option* gpu = command.add_option("GPU", arguments.gpu, "Its id, or a part of it that only one has");
  CLI::Option* node =
      command.add_option("--node", arguments.node, "Every GPU that this node has now (sassay-admin gpus)");
  CLI::Option* all = command.add_flag("--all", arguments.all, "Every GPU of the service");
  gpu->excludes(all)->excludes(node);
  node->excludes(all);
  command.parse_complete_callback([&arguments] {
    if (arguments.gpu.empty() && arguments.node.empty() && !arguments.all) {
      throw CLI::ValidationError("name a GPU, or say --node NAME or --all");
    }
  });
}

void AddReason(CLI::App& command, GpuArguments& arguments, bool required) {
  command.add_option("--reason", arguments.reason, "Why; kept in the audit log")->required(required);
}

}  // namespace

void AdminSession::Answer(const google::protobuf::Message& message, absl::string_view text) const {
  if (json) {
    out << ToJson(message) << "\n";
  } else {
    out << text;
  }
}

absl::StatusOr<std::string> FindGpu(const ControlClient& client, const std::string& named) {
  v1::ListGpusResponse gpus;
  RETURN_IF_ERROR(ListGpus(client, gpus));
  std::vector<std::string> all, fitting;
  for (const v1::Gpu& gpu : gpus.gpus()) {
    if (gpu.uuid() == named) return named;
    all.push_back(gpu.uuid());
    if (absl::StrContains(gpu.uuid(), named)) fitting.push_back(gpu.uuid());
  }
  if (fitting.size() == 1) return fitting.front();
  return absl::NotFoundError(absl::StrCat(fitting.empty() ? "there is no GPU \"" : "more than one GPU is meant by \"",
                                          PrintableLine(named), "\"; the service has ", absl::StrJoin(all, ", "), "."));
}

void AddGpuCommands(CLI::App& root, AdminInvocation& invocation) {
  CLI::App* gpus = root.add_subcommand("gpus", "The GPUs, what is done with them and who holds them");
  gpus->callback([&invocation] { invocation.action = Gpus; });

  auto drained = std::make_shared<GpuArguments>();
  CLI::App* drain =
      AddGpuCommand(root, invocation, "drain", "Give no new work to a GPU; what runs there ends", Drain, drained);
  AddGpuOrAll(*drain, *drained);
  AddReason(*drain, *drained, false);

  for (const char* name : {"undrain", "resume"}) {
    auto resumed = std::make_shared<GpuArguments>();
    CLI::App* resume =
        AddGpuCommand(root, invocation, name, "End operators' holds of a GPU (drain, quarantine); the monitor's stay",
                      Resume, resumed);
    AddGpuOrAll(*resume, *resumed);
  }

  auto released = std::make_shared<GpuArguments>();
  CLI::App* release =
      AddGpuCommand(root, invocation, "release",
                    "Take a GPU back into service, after a clean canary where a monitor watches", Release, released);
  AddOneGpu(*release, *released);
  AddReason(*release, *released, false);
  release->add_flag("--force", released->force, "At once, whatever the monitor thinks");

  auto quarantined = std::make_shared<GpuArguments>();
  CLI::App* quarantine = AddGpuCommand(root, invocation, "quarantine", "Take a GPU out of service until it is released",
                                       Quarantine, quarantined);
  AddOneGpu(*quarantine, *quarantined);
  AddReason(*quarantine, *quarantined, true);

  auto probed = std::make_shared<GpuArguments>();
  CLI::App* canary =
      AddGpuCommand(root, invocation, "canary", "Run the two canary kernels on a GPU, when it is free", Canary, probed);
  AddOneGpu(*canary, *probed);
  canary->add_option("--wait-ms", probed->wait_ms, "How long to wait for the GPU; 0: the service's default")
      ->capture_default_str();
}

}  // namespace sassay::monitor
