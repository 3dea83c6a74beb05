// The agent's settings, as data: one row per key decides its spelling in files, its environment variable, its flag, its
// default and its words in `config show`. Adding a setting is adding a row.
#ifndef SASSAY_AGENT_CONFIG_KEYS_H_
#define SASSAY_AGENT_CONFIG_KEYS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sassay::agent {

// How a value is checked and read.
enum class ValueKind {
  kText,      // anything
  kPath,      // relative to the file that names it; "~/" is the home directory
  kSwitch,    // true or false
  kChoice,    // one of `choices`
  kDuration,  // "90s", "5m", "1h30m"
  kList,      // comma-separated text, or a JSON array in a file
  kPathList,  // the same of paths
  kCount,     // a whole number, not negative
  kNumber,    // a number, not negative
};

// One setting.
struct Key {
  const char* name;
  ValueKind kind;
  const char* default_value;
  // Separated by '|'; for kChoice.
  const char* choices;
  // Never printed.
  bool secret;
  // Whether a project file may set it. A project file comes with somebody's repository, so it may say what to compile
  // and how, but not which credentials to use or who gets them and the candidate (the service, and who vouches for it),
  // which program to run as the compiler, or to go without a sandbox.
  bool allowed_in_project;
  const char* description;
  // What stands for the value in --help, where the kind's own word tells less.
  const char* value_name = "";
};

// Every key, sorted by name.
absl::Span<const Key> Keys();

// Null if there is none.
const Key* FindKey(absl::string_view name);

// Every name, for suggestions.
std::vector<std::string> KeyNames();

// "SASSAY_TOKEN_FILE" for "token_file".
std::string EnvironmentVariable(const Key& key);

// "--token-file" for "token_file"; empty for secrets, which would show in the process list.
std::string FlagName(const Key& key);

// Whether `value` can be read as the key's kind; the message says what was expected and begins with "must be", so that
// what was set can be put before it: a flag, a variable, a key of a file.
absl::Status CheckValue(const Key& key, absl::string_view value);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CONFIG_KEYS_H_
