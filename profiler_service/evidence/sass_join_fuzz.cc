#include <cstddef>
#include <cstdint>

#include "common/sass/disassembly.h"
#include "profiler_service/evidence/counted_call_testing.h"
#include "profiler_service/evidence/sass_summary.h"

// The counts come from a process that ran hostile device code. Whatever they say, nothing breaks, and what is accepted
// was entered by exactly the launched threads.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sassay::evidence;  // NOLINT
  static const auto* const code = new sassay::Disassembly(sassay::ParseDisassembly(kCode).value());
  static const auto* const plan = new sassay::v1::LaunchPlan(Parse<sassay::v1::LaunchPlan>(kPlan));
  sassay::worker::SassCounts counts;
  if (!counts.ParseFromArray(data, static_cast<int>(size))) return 0;
  const auto launches = JoinCounts({counts, 7, *plan, *code, {}, 1e9});
  if (!launches.ok()) return 0;
  SummarizeSass(*launches, *code, 1e6, "H");
  HottestInstructions(*launches, 8);
  uint32_t launched = 0;
  for (const ExecutedLaunch& launch : *launches) launched += launch.launches;
  if (launched != 3) __builtin_trap();
  return 0;
}
