// What a flag's value must be, said in the words of the settings' own checks: CLI11's say "Check mid value in {…}
// FAILED".
#ifndef SASSAY_AGENT_CLI_FLAG_CHECKS_H_
#define SASSAY_AGENT_CLI_FLAG_CHECKS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"

namespace sassay::agent {

// "must be one of a, b, not "x". Did you mean "a"?"
CLI::Validator OneOf(std::vector<std::string> choices);

// "must be a whole number that is not negative, not "-1"."
CLI::Validator WholeNumber();

// "must be a number that is not negative, not "x"."
CLI::Validator NonNegativeNumber();

// Before work that takes long: INVALID_ARGUMENT if the folder that `output` would lie in is not there, or if it is a
// folder itself. `flag` names the option. Empty and "-" are fine.
absl::Status CheckOutputFile(const std::string& flag, const std::string& output,
                             const std::filesystem::path& working_directory);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CLI_FLAG_CHECKS_H_
