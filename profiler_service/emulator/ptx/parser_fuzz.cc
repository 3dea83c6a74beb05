// Any bytes: parsing and loading end with a status, within bounds.
#include <cstddef>
#include <cstdint>
#include <string>

#include "profiler_service/emulator/exec/program.h"
#include "profiler_service/emulator/memory/global_memory.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ptx/parser.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto module = sassay::emulator::ptx::Parse(std::string(reinterpret_cast<const char*>(data), size));
  if (!module.ok()) return 0;
  sassay::emulator::GlobalMemory memory(false, uint64_t{64} << 20);
  (void)sassay::emulator::LoadProgram(*std::move(module), sassay::emulator::StandardOperations(), memory);
  return 0;
}
