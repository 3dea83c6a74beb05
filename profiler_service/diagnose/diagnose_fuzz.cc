#include <cstddef>
#include <cstdint>

#include "profiler_service/diagnose/gdb_output.h"
#include "profiler_service/diagnose/ncu_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  sassay::v1::DiagnosisReport report;
  sassay::diagnose::ReadNcuCsv(text, report).IgnoreError();
  const auto threads = sassay::diagnose::ParseStandingThreads(text);
  for (const auto& [pc, place] : sassay::diagnose::ParsePlaces(text, {0x10, threads.exception_pc})) {
    bool behind = false;
    static_cast<void>(sassay::diagnose::Doing(place, behind));
  }
  return 0;
}
