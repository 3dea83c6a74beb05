#include "agent/cli/flag_checks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/suggest.h"

namespace sassay::agent {

CLI::Validator OneOf(std::vector<std::string> choices) {
  const auto check = [choices = std::move(choices)](const std::string& value) -> std::string {
    if (std::find(choices.begin(), choices.end(), value) != choices.end()) return "";
    return absl::StrCat("must be one of ", absl::StrJoin(choices, ", "), ", not \"", value, "\".",
                        DidYouMean(value, choices));
  };
  return CLI::Validator(check, "", "");
}

CLI::Validator WholeNumber() {
  const auto check = [](const std::string& value) -> std::string {
    uint64_t count = 0;
    if (absl::SimpleAtoi(value, &count)) return "";
    return absl::StrCat("must be a whole number that is not negative, not \"", value, "\".");
  };
  return CLI::Validator(check, "", "");
}

CLI::Validator NonNegativeNumber() {
  const auto check = [](const std::string& value) -> std::string {
    double number = 0;
    if (absl::SimpleAtod(value, &number) && std::isfinite(number) && number >= 0) return "";
    return absl::StrCat("must be a number that is not negative, not \"", value, "\".");
  };
  return CLI::Validator(check, "", "");
}

absl::Status CheckOutputFile(const std::string& flag, const std::string& output,
                             const std::filesystem::path& working_directory) {
  if (output.empty() || output == "-") return absl::OkStatus();
  const std::filesystem::path path = working_directory / output;
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return absl::InvalidArgumentError(absl::StrCat(flag, " ", output, " is a folder; expected a file."));
  if (std::filesystem::is_directory(path.parent_path(), error)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(flag, " ", output, ": there is no folder ",
                                                 std::filesystem::path(output).parent_path().string(), "."));
}

}  // namespace sassay::agent
