#include "common/cli/help.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace sassay {
namespace {

constexpr size_t kNamesColumn = 30;       // where CLI11 begins descriptions
constexpr size_t kLeastDescription = 24;  // narrower columns are harder to read than long lines

std::string WrapLine(absl::string_view line, size_t columns) {
  std::string wrapped;
  size_t length = 0;
  for (absl::string_view word : absl::StrSplit(line, ' ')) {
    const bool breaks = length > 0 && length + 1 + word.size() > columns;
    if (breaks) {
      wrapped += '\n';
      length = 0;
    } else if (!wrapped.empty()) {
      wrapped += ' ';
      ++length;
    }
    absl::StrAppend(&wrapped, word);
    length += word.size();
  }
  return wrapped;
}

class WrappingFormatter : public CLI::Formatter {
 public:
  explicit WrappingFormatter(size_t columns) : columns_(columns) { column_width(std::min(kNamesColumn, columns / 3)); }

  std::string make_option_desc(const CLI::Option* option) const override {
    return Description(CLI::Formatter::make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::stringstream out;
    CLI::detail::format_help(out, command->get_display_name(true), Description(command->get_description()),
                             get_column_width());
    return out.str();
  }
  std::string make_description(const CLI::App* command) const override {
    return WrapText(CLI::Formatter::make_description(command), columns_);
  }
  std::string make_footer(const CLI::App* command) const override {
    return WrapText(CLI::Formatter::make_footer(command), columns_);
  }

 private:
  std::string Description(const std::string& text) const {
    const size_t names = get_column_width();
    return WrapText(text, columns_ > names + kLeastDescription ? columns_ - names : kLeastDescription);
  }

  size_t columns_;
};

}  // namespace

size_t TerminalColumns() {
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string WrapText(absl::string_view text, size_t columns) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n'))
    lines.push_back(absl::StartsWith(line, " ") ? std::string(line) : WrapLine(line, columns));
  return absl::StrJoin(lines, "\n");
}

void WrapHelp(CLI::App& root, size_t columns) {
  if (columns > 0) root.formatter(std::make_shared<WrappingFormatter>(columns));
}

}  // namespace sassay
