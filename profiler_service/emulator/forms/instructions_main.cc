// emulator_instructions: writes what PTX the emulator runs.
//
//   emulator_instructions > docs/emulator_instructions.md
#include <cstdio>

#include "profiler_service/emulator/forms/supported.h"

int main() {
  const auto text = sassay::emulator::InstructionsDocument();
  if (!text.ok()) {
    std::fprintf(stderr, "emulator_instructions: %s\n", text.status().ToString().c_str());
    return 1;
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}
