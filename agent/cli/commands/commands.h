// The agent's commands, one file each. Every function adds its subcommand to the parser and, if it is chosen, leaves
// its action in the invocation.
#ifndef SASSAY_AGENT_CLI_COMMANDS_COMMANDS_H_
#define SASSAY_AGENT_CLI_COMMANDS_COMMANDS_H_

#include "agent/cli/invocation.h"

namespace sassay::agent {

void AddAttachCommand(CLI::App& root, Invocation& invocation);
void AddBatchCommand(CLI::App& root, Invocation& invocation);
void AddBenchCommand(CLI::App& root, Invocation& invocation);
void AddBuildJobCommand(CLI::App& root, Invocation& invocation);
void AddCancelCommand(CLI::App& root, Invocation& invocation);
void AddCompileCommand(CLI::App& root, Invocation& invocation);
void AddConfigCommand(CLI::App& root, Invocation& invocation);
void AddDatasetCommand(CLI::App& root, Invocation& invocation);
void AddDoctorCommand(CLI::App& root, Invocation& invocation);
void AddExplainCommand(CLI::App& root, Invocation& invocation);
void AddExportCommand(CLI::App& root, Invocation& invocation);
void AddImportCommand(CLI::App& root, Invocation& invocation);
void AddInspectCommand(CLI::App& root, Invocation& invocation);
void AddKnowledgeCommand(CLI::App& root, Invocation& invocation);
void AddModelCommand(CLI::App& root, Invocation& invocation);
void AddReplayCommand(CLI::App& root, Invocation& invocation);
void AddReportCommand(CLI::App& root, Invocation& invocation);
void AddRunCommand(CLI::App& root, Invocation& invocation);
void AddSubmitCommand(CLI::App& root, Invocation& invocation);
void AddTritonCommand(CLI::App& root, Invocation& invocation);
void AddWorkloadsCommand(CLI::App& root, Invocation& invocation);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CLI_COMMANDS_COMMANDS_H_
