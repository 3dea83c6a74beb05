// Clocks of a GPU and why they are what they are, from NVML by dlopen.
#ifndef SASSAY_PROFILER_SERVICE_TIMING_NVML_H_
#define SASSAY_PROFILER_SERVICE_TIMING_NVML_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace sassay::timing {

// Reasons that make a sample worthless: hardware slowdown, software and hardware thermal slowdown, power brake (NVML's
// nvmlClocksEventReason bits 0x8, 0x20, 0x40, 0x80). The software power cap (0x4) is normal at full load: it is
// reported.
inline constexpr uint64_t kVoidClockReasons = 0xE8;

struct ClockReading {
  uint32_t sm_clock_mhz = 0;
  uint64_t event_reasons = 0;
};

// Reads the clock of the GPU with `uuid` ("GPU-…"). NVML can hang in the driver: the call is made on a thread of its
// own, and DEADLINE_EXCEEDED after `timeout` leaves that thread behind (at most one: while it is stuck, every later
// call is UNAVAILABLE at once). UNAVAILABLE where there is no libnvidia-ml. Thread-safe.
absl::StatusOr<ClockReading> ReadClock(absl::string_view uuid, absl::Duration timeout = absl::Seconds(2));

}  // namespace sassay::timing

#endif  // SASSAY_PROFILER_SERVICE_TIMING_NVML_H_
