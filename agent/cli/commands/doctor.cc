#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/capture/devices/device_table.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/doctor/checks.h"
#include "agent/cli/session.h"
#include "agent/render/reports.h"
#include "agent/submit/rpc_error.h"

namespace sassay::agent {
namespace {

int Doctor(Session& session) {
  const v1::DoctorReport report = Examine(session);
  session.Answer(report, RenderDoctorReport(report, session.style()));
  return report.works() ? kExitCorrect : kExitInfrastructure;
}

int DumpTable(Session& session) {
  const absl::StatusOr<capture::DeviceModel> model = capture::ReadLocalDevice(0);
  if (!model.ok()) {
    return session.Fail(absl::FailedPreconditionError(
        absl::StrCat(model.status().message(), ". --dump-device-table needs a GPU host.")));
  }
  *session.terminal().out << capture::ToJson(*model) << "\n";
  return kExitCorrect;
}

}  // namespace

void AddDoctorCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand("doctor", "What is missing on this machine, and the command that mends it");
  const auto dump = std::make_shared<bool>(false);
  command->add_flag("--dump-device-table", *dump, "on a GPU host: print a JSON device table for --device-table");
  command->footer(
      "Exit status 0 if the agent can work here, else 3.\n\nExamples:\n  mini-ptx-agent doctor --service "
      "gpu.example.com:50051\n"
      "  mini-ptx-agent doctor --dump-device-table > h200.json");
  AddCommonFlags(*command, invocation);
  AddSettingFlags(*command, invocation,
                  {"cuda", "cuda_home", "cache_dir", "definitions", "allow_unsandboxed", "builder"});
  command->callback([&invocation, dump] {
    invocation.action = [dump](Session& session) { return *dump ? DumpTable(session) : Doctor(session); };
  });
}

}  // namespace sassay::agent
