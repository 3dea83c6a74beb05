// Repair notes are other people's files.
#include <cstddef>
#include <cstdint>

#include "agent/knowledge/notes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto note = sassay::agent::ParseRepairNote(text, "note");
  // What is accepted is for some code and says something.
  if (note.ok() && (note->codes.empty() || note->explanation.empty())) __builtin_trap();
  return 0;
}
