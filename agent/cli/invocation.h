// What the command line said: the command to run, its settings and its output form.
#ifndef SASSAY_AGENT_CLI_INVOCATION_H_
#define SASSAY_AGENT_CLI_INVOCATION_H_

#include <functional>
#include <initializer_list>
#include <map>
#include <string>

#include "CLI/CLI.hpp"

namespace sassay::agent {

class Session;

// Filled by CLI11 while it parses; run afterwards, so that no command runs inside the parser.
struct Invocation {
  // Settings given as flags, by key.
  std::map<std::string, std::string> flags;
  // --json was given.
  bool json = false;
  // The chosen command. Returns the exit status.
  std::function<int(Session&)> action;
};

// Adds --service, --token-file, --ca-file and their kin, --color and --json. Every command has them.
void AddCommonFlags(CLI::App& command, Invocation& invocation);

// Adds flags for settings, by key; names, choices and help come from the table of keys. A flag of kind list may be
// given several times.
void AddSettingFlags(CLI::App& command, Invocation& invocation, std::initializer_list<const char*> keys);

// Adds --model, --endpoint, --provider and their kin, and how the model samples. Every command that asks one has them.
void AddModelFlags(CLI::App& command, Invocation& invocation);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CLI_INVOCATION_H_
