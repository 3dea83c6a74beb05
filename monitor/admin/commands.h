// What sassay-admin can do, each as one function from the service to an answer.
#ifndef SASSAY_MONITOR_ADMIN_COMMANDS_H_
#define SASSAY_MONITOR_ADMIN_COMMANDS_H_

#include <functional>
#include <ostream>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/terminal/style.h"
#include "google/protobuf/message.h"
#include "monitor/actions/control_client.h"

namespace sassay::monitor {

// One run of one command. Thread-compatible.
struct AdminSession {
  const ControlClient& client;
  std::ostream& out;
  Style style;
  bool json;

  // Prints the message with --json, else the text.
  void Answer(const google::protobuf::Message& message, absl::string_view text) const;
};

// Filled by CLI11 while it parses; run afterwards.
struct AdminInvocation {
  ConnectionOptions connection;
  bool json = false;
  std::string color = "auto";
  std::function<absl::Status(AdminSession&)> action;
};

// The GPU that a person means: its id, or a part of it that only one has. NOT_FOUND names those there are.
absl::StatusOr<std::string> FindGpu(const ControlClient& client, const std::string& named);

void AddGpuCommands(CLI::App& root, AdminInvocation& invocation);
void AddRecordCommands(CLI::App& root, AdminInvocation& invocation);
// For probes of orchestrators that cannot speak gRPC over TLS themselves.
void AddHealthCommand(CLI::App& root, AdminInvocation& invocation);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_ADMIN_COMMANDS_H_
