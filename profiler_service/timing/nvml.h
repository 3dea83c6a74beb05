// Clocks of a GPU and why they are what they are, from NVML by dlopen.
#ifndef SASSAY_PROFILER_SERVICE_TIMING_NVML_H_
#define SASSAY_PROFILER_SERVICE_TIMING_NVML_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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
  // Reasons in force at that moment.
  uint64_t event_reasons = 0;
  // How long each reason has been in force since the driver was loaded, in nanoseconds, by the reason's bit. Only those
  // that this driver counts: what is in force for a millisecond between two readings shows here and nowhere else.
  std::map<uint64_t, uint64_t> reason_ns{};
};

// Reasons that were in force between two readings or at one of them.
uint64_t ReasonsBetween(const ClockReading& before, const ClockReading& after);

// How a clock is read: the GPU's UUID ("GPU-…") to a reading. May hang in the driver.
using ClockFunction = std::function<absl::StatusOr<ClockReading>(const std::string& uuid)>;

// Calls a function that may hang, one call at a time, each on a thread of its own. Thread-safe. A call waits for its
// turn; one that does not answer within `timeout` gives DEADLINE_EXCEEDED and leaves its thread behind (at most one:
// until it answers, every later call is UNAVAILABLE at once). Copies of what is shared outlive this object.
class ClockReader {
 public:
  explicit ClockReader(ClockFunction read);
  absl::StatusOr<ClockReading> Read(absl::string_view uuid, absl::Duration timeout);

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;
};

// Reads the clock of the GPU with `uuid` ("GPU-…") from NVML, as ClockReader does. UNAVAILABLE where there is no
// libnvidia-ml. A GPU whose driver hangs keeps no other one's clock from being read. Thread-safe.
absl::StatusOr<ClockReading> ReadClock(absl::string_view uuid, absl::Duration timeout = absl::Seconds(2));

}  // namespace sassay::timing

#endif  // SASSAY_PROFILER_SERVICE_TIMING_NVML_H_
