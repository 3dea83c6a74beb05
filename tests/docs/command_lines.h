// What a program's --help knows, and whether a command line of a document fits it.
//
// Why by --help: it is the only list of subcommands and flags that cannot be older than the program, and reading it
// starts nothing.
#ifndef SASSAY_TESTS_DOCS_COMMAND_LINES_H_
#define SASSAY_TESTS_DOCS_COMMAND_LINES_H_

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace sassay::testing {

// One command's help, taken apart. Plain data.
struct Help {
  std::set<std::string> flags;
  std::set<std::string> subcommands;
  // Lines under "Example:" or "Examples:".
  std::vector<std::string> examples;
};

Help ParseHelp(const std::string& text);

// Knows programs by what `help` answers to a program and a path of subcommands, asked once each.
//
// Threads: compatible.
class Programs {
 public:
  using HelpOf = std::function<std::string(const std::vector<std::string>& command)>;
  Programs(std::set<std::string> names, HelpOf help) : names_(std::move(names)), help_of_(std::move(help)) {}

  const std::set<std::string>& names() const { return names_; }
  const Help& HelpFor(const std::vector<std::string>& command);

  // What is wrong with the programs' command lines in a line of shell (or of prose between backticks); empty if nothing
  // is, or if it holds none. "…" stands for anything.
  std::vector<std::string> Problems(const std::string& line);

  // How many command lines Problems has seen.
  int seen() const { return seen_; }

 private:
  // Also flags of the commands above: some programs take them after a subcommand, too.
  bool Knows(const std::vector<std::string>& command, const std::string& flag);
  void CheckCommand(const std::vector<std::string>& words, size_t begin, std::vector<std::string>& problems);

  const std::set<std::string> names_;
  const HelpOf help_of_;
  std::map<std::vector<std::string>, Help> known_;
  int seen_ = 0;
};

// Runs `folder`/command[0] with the rest and --help.
std::string RunHelp(const std::filesystem::path& folder, const std::vector<std::string>& command);

}  // namespace sassay::testing

#endif  // SASSAY_TESTS_DOCS_COMMAND_LINES_H_
