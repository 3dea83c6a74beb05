// Help that fits the terminal that it is read on.
#ifndef SASSAY_COMMON_CLI_HELP_H_
#define SASSAY_COMMON_CLI_HELP_H_

#include <cstddef>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/string_view.h"

namespace sassay {

// The columns of the terminal behind standard output; 0 where there is none, or it does not say.
size_t TerminalColumns();

// Breaks `text` at blanks, so that no line is longer than `columns` unless one word is. Indented lines (examples, which
// are copied) stay as they are.
std::string WrapText(absl::string_view text, size_t columns);

// Wraps the help of `root` and of the subcommands that are added to it afterwards; 0 columns: not at all.
void WrapHelp(CLI::App& root, size_t columns);

}  // namespace sassay

#endif  // SASSAY_COMMON_CLI_HELP_H_
