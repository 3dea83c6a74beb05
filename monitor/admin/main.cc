#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "common/cli/help.h"
#include "common/terminal/style.h"
#include "monitor/admin/app.h"

namespace {

const char* Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

int main(int argc, char** argv) {
  // gRPC writes its own opinions to standard error, which is the user's.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  const bool color = sassay::WantColor("auto", isatty(STDOUT_FILENO) == 1, Variable("NO_COLOR"), Variable("TERM"));
  return sassay::monitor::RunAdmin(std::vector<std::string>(argv + 1, argv + argc),
                                   {&std::cout, &std::cerr, color, sassay::TerminalColumns()});
}
