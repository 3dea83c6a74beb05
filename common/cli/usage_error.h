// Usage errors that teach: what was not understood, what comes near, and where the help is.
#ifndef SASSAY_COMMON_CLI_USAGE_ERROR_H_
#define SASSAY_COMMON_CLI_USAGE_ERROR_H_

#include <string>

#include "CLI/CLI.hpp"

namespace sassay {

// The deepest subcommand that was named; `root` if none was.
const CLI::App& SelectedCommand(const CLI::App& root);

// One message for the user.
std::string DescribeUsageError(const CLI::App& root, const CLI::ParseError& error);

}  // namespace sassay

#endif  // SASSAY_COMMON_CLI_USAGE_ERROR_H_
