#include "common/cli/usage_error.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/suggest.h"

namespace sassay {
namespace {

std::vector<std::string> FlagsOf(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back(absl::StrCat("--", name));
  }
  return flags;
}

std::vector<std::string> SubcommandsOf(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* subcommand : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(subcommand->get_name());
  return names;
}

std::string DescribeStranger(const CLI::App& command, const std::string& word) {
  if (absl::StartsWith(word, "-")) {
    const std::string flag = word.substr(0, word.find('='));
    return absl::StrCat("unknown option ", flag, ".", DidYouMean(flag, FlagsOf(command)));
  }
  const std::vector<std::string> subcommands = SubcommandsOf(command);
  if (subcommands.empty()) return absl::StrCat("unexpected argument \"", word, "\".");
  return absl::StrCat("unknown command \"", word, "\".", DidYouMean(word, subcommands));
}

std::string Describe(const CLI::App& root, const CLI::App& command, const CLI::ParseError& error) {
  const std::vector<std::string> strangers = root.remaining(/*recurse=*/true);
  const bool missing_command = !SubcommandsOf(command).empty() && error.get_name() == "RequiredError";
  if (!strangers.empty()) return DescribeStranger(command, strangers.front());
  if (missing_command) return "a command is needed.";
  const std::string said = absl::StrReplaceAll(error.what(), {{": must be ", " must be "}});
  return absl::StrCat(said, absl::EndsWith(said, ".") || absl::EndsWith(said, "?") ? "" : ".");
}

}  // namespace

const CLI::App& SelectedCommand(const CLI::App& root) {
  const std::vector<CLI::App*> chosen = root.get_subcommands();
  return chosen.empty() ? root : SelectedCommand(*chosen.front());
}

std::string DescribeUsageError(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App& command = SelectedCommand(root);
  std::string path = command.get_name();
  for (const CLI::App* parent = command.get_parent(); parent != nullptr; parent = parent->get_parent()) {
    path = absl::StrCat(parent->get_name(), " ", path);
  }
  return absl::StrCat(Describe(root, command, error), " See `", path, " --help`.");
}

}  // namespace sassay
