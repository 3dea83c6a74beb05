#include "tests/docs/command_lines.h"

#include <regex>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/process/subprocess.h"

namespace sassay::testing {
namespace {

// "bin/profiler-service" and "/opt/sassay/bin/profiler-service" are the program, too.
std::string BaseName(const std::string& word) { return word.substr(word.rfind('/') + 1); }

// Words of shell as far as documents use it: quotes hold blanks, "#" begins a comment, ";", "|" and "&" stand alone.
std::vector<std::string> Words(const std::string& line) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool fresh = words.back().empty();
    if (quote != 0) {
      if (c == quote) quote = 0;
      words.back() += c;
    } else if (c == '#' && fresh) {
      break;
    } else if (c == '"' || c == '\'') {
      quote = c;
      words.back() += c;
    } else if (c == ' ' || c == ';' || c == '|' || c == '&' || c == '(' || c == ')') {
      if (!fresh) words.emplace_back();
      if (c != ' ') words.back() = std::string(1, c), words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool EndsCommand(const std::string& word) {
  return word == ";" || word == "|" || word == "&" || word == ")" || absl::StartsWith(word, ">");
}

bool IsFlag(const std::string& word) {
  static const std::regex flag("--?[A-Za-z][A-Za-z-]*(=.*)?");
  return std::regex_match(word, flag);
}

// Lines of prose in a help may wrap: only what stands in the columns of options counts.
void TakeFlags(const std::string& line, std::set<std::string>& flags) {
  static const std::regex option("(?:^  |,)(--?[A-Za-z][A-Za-z-]*)");
  for (std::sregex_iterator found(line.begin(), line.end(), option), end; found != end; ++found)
    flags.insert((*found)[1]);
}

}  // namespace

Help ParseHelp(const std::string& text) {
  Help help;
  bool subcommands = false, examples = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!absl::StartsWith(line, " ")) {
      subcommands = line == "Subcommands:";
      examples = absl::StartsWith(line, "Example");
    }
    if (absl::StartsWith(line, "  -")) TakeFlags(line.substr(0, line.find("  ", 2)), help.flags);
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.empty() || !absl::StartsWith(line, "  ") || absl::StartsWith(line, "   ")) continue;
    if (subcommands) help.subcommands.insert(words.front());
    // What an example is for stands in a column of its own.
    if (examples) help.examples.push_back(line.substr(2, line.find("  ", 2) - 2));
  }
  return help;
}

const Help& Programs::HelpFor(const std::vector<std::string>& command) {
  const auto found = known_.find(command);
  if (found != known_.end()) return found->second;
  return known_[command] = ParseHelp(help_of_(command));
}

bool Programs::Knows(const std::vector<std::string>& command, const std::string& flag) {
  for (size_t length = command.size(); length > 0; --length) {
    const std::set<std::string>& flags = HelpFor({command.begin(), command.begin() + static_cast<long>(length)}).flags;
    // "-DNAME" and "-I.": letters that take the rest of the word.
    if (flags.count(flag) > 0 || (flag[1] != '-' && flags.count(flag.substr(0, 2)) > 0)) return true;
  }
  return false;
}

void Programs::CheckCommand(const std::vector<std::string>& words, size_t begin, std::vector<std::string>& problems) {
  ++seen_;
  std::vector<std::string> command = {BaseName(words[begin])};
  bool open = true;
  for (size_t i = begin + 1; i < words.size() && !EndsCommand(words[i]); ++i) {
    const std::string& word = words[i];
    if (word == "--" || absl::StrContains(word, "…")) return;
    const Help& help = HelpFor(command);
    const std::string said = absl::StrJoin(command, " ");
    if (IsFlag(word)) {
      const std::string flag = word.substr(0, word.find('='));
      if (!Knows(command, flag)) problems.push_back(absl::StrCat(said, " has no ", flag));
    } else if (open && help.subcommands.count(word) > 0) {
      command.push_back(word);
      continue;
    } else if (open && !help.subcommands.empty() && i == begin + command.size()) {
      problems.push_back(absl::StrCat(said, " has no command ", word));
      return;
    }
    open = open && IsFlag(word);
  }
}

std::vector<std::string> Programs::Problems(const std::string& line) {
  std::vector<std::string> problems;
  const std::vector<std::string> words = Words(line);
  bool first = true;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool assignment = std::regex_match(words[i], std::regex("[A-Z_]+=.*"));
    if (first && names_.count(BaseName(words[i])) > 0) CheckCommand(words, i, problems);
    first = EndsCommand(words[i]) || words[i] == "(" || words[i] == "$" || words[i] == "--" || words[i] == "if" ||
            (first && assignment);
  }
  return problems;
}

std::string RunHelp(const std::filesystem::path& folder, const std::vector<std::string>& command) {
  Command run;
  run.argv = command;
  run.argv.front() = folder / command.front();
  run.argv.push_back("--help");
  run.environment = {{"HOME", "/nonexistent"}, {"PATH", "/usr/bin:/bin"}};
  const auto report = RunToCompletion(run, absl::Minutes(1));
  return report.ok() && report->Succeeded() ? report->stdout_text : "";
}

}  // namespace sassay::testing
