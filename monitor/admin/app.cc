#include "monitor/admin/app.h"

#include <algorithm>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "common/cli/help.h"
#include "common/cli/usage_error.h"
#include "common/terminal/text.h"
#include "monitor/actions/connection_flags.h"
#include "monitor/admin/commands.h"
#include "nlohmann/json.hpp"

namespace sassay::monitor {
namespace {

constexpr char kDescription[] = "Operates a profiling service: its GPUs, incidents, tenants and audit log.";
constexpr char kFooter[] = R"(Examples:
  sassay-admin gpus                                   who takes work, who does not and why
  sassay-admin drain GPU-6f3e --reason "new fan"      no new work; what runs there ends
  sassay-admin undrain GPU-6f3e
  sassay-admin release GPU-6f3e                       back into service, after a clean canary
  sassay-admin incidents --since 1h --follow
  sassay-admin usage --json
  sassay-admin canary GPU-6f3e
  sassay-admin health --service localhost:50051 --ca-file ca.crt     for a probe: status 0 while it serves

Exit status: 0 done; 1 the service cannot do that (no canary on an emulated device, the GPU is busy); 2 usage: an unknown
command or GPU, a token that is no admin's; 3 the service did not answer, worth trying again.)";

int ExitStatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kAdminDone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kAdminUsage;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnimplemented:
      return kAdminRefused;
    default:
      return kAdminUnreachable;
  }
}

int Report(const absl::Status& status, bool json, const AdminTerminal& terminal) {
  if (status.ok()) return kAdminDone;
  const std::string message = Printable(status.message());
  *terminal.err << "sassay-admin: " << message << "\n";
  if (json) {
    const nlohmann::json failure = {
        {"error", {{"code", absl::StatusCodeToString(status.code())}, {"message", message}}}};
    *terminal.out << failure.dump(2) << "\n";
  }
  return ExitStatusOf(status);
}

int RunAction(const AdminInvocation& invocation, const AdminTerminal& terminal) {
  absl::StatusOr<SecureChannel> channel = SecureChannel::Open(invocation.connection);
  if (!channel.ok()) return Report(channel.status(), invocation.json, terminal);
  const ControlClient client(*std::move(channel));
  const bool color = invocation.color == "always" || (invocation.color == "auto" && terminal.color);
  AdminSession session = {client, *terminal.out, Style(color), invocation.json};
  const absl::Status status = invocation.action(session);
  if (terminal.out->flush()) return Report(status, invocation.json, terminal);
  return Report(absl::UnavailableError("standard output cannot be written; is the disk full?"), false, terminal);
}

}  // namespace

int RunAdmin(const std::vector<std::string>& arguments, const AdminTerminal& terminal) {
  CLI::App root(kDescription, "sassay-admin");
  WrapHelp(root, terminal.columns);
  AdminInvocation invocation;
  root.footer(kFooter);
  root.require_subcommand(1);
  root.fallthrough();
  root.set_version_flag("--version", std::string("sassay-admin " SASSAY_VERSION));
  AddConnectionFlags(root, invocation.connection);
  root.add_flag("--json", invocation.json, "Print one JSON document")->group("Output");
  root.add_option("--color", invocation.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str()
      ->group("Output");
  AddGpuCommands(root, invocation);
  AddRecordCommands(root, invocation);
  AddHealthCommand(root, invocation);
  for (CLI::App* command : root.get_subcommands({})) command->fallthrough();
  if (arguments.empty()) {
    *terminal.err << root.help();
    return kAdminUsage;
  }
  try {
    root.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return root.exit(error, *terminal.out, *terminal.err), kAdminDone;
    const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
    return Report(absl::InvalidArgumentError(DescribeUsageError(root, error)), json, terminal);
  }
  return RunAction(invocation, terminal);
}

}  // namespace sassay::monitor
