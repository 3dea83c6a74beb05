#include <cstddef>
#include <cstdint>

#include "common/sass/disassembly.h"
#include "common/sass/families.h"

// The text comes from a disassembler that read a hostile cubin.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  absl::string_view text(reinterpret_cast<const char*>(data), size);
  auto code = sassay::ParseDisassembly(text);
  if (code.ok()) sassay::AddSourceLines(text, *code);
  for (const auto& [name, instructions] : code.ok() ? *code : sassay::Disassembly()) {
    sassay::CountFamilies(instructions);
    for (const auto& instruction : instructions) sassay::SassFlopsPerWarp(instruction.opcode);
  }
  sassay::PtxFlopsPerWarp(text);
  return 0;
}
