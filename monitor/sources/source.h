// Where the monitor's numbers come from: one interface for NVML, the kernel log, the service, its workers and the host.
//
// Why: a source may hang in the driver, lie, or be gone. Each runs on a thread of its own (sampler.h); what it does not
// say in time is known to be missing, and nothing else waits for it.
#ifndef SASSAY_MONITOR_SOURCES_SOURCE_H_
#define SASSAY_MONITOR_SOURCES_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace sassay::monitor {

// One number. `signal` is one of those in docs/monitor.md; its unit is the end of its name ("_celsius", "_mhz",
// "_ratio"); events ("gpu.xid") have their code as value.
struct Sample {
  absl::Time at;    // when it was true, by the steady clock (common/base/steady_time.h)
  std::string gpu;  // NVML's UUID or the service's id; empty if it concerns a process or the host
  std::string signal;
  double value = 0;
  std::string text{};  // what belongs to it in words: the line of the kernel log, a process' name
};

// Readings of all sources come at multiples of this, by the steady clock: a CPU that is woken once for all of them does
// their work for half of what it takes to wake for each.
inline constexpr absl::Duration kBeat = absl::Milliseconds(400);

// Thread-compatible: read by one thread at a time.
class Source {
 public:
  virtual ~Source() = default;
  // "nvml", "kernel_log", "service", "host"; constant.
  virtual std::string name() const = 0;
  // How often to read (multiples of kBeat; zero for a source that waits by itself), and after how long a reading counts
  // as hanging; constant.
  virtual absl::Duration period() const = 0;
  virtual absl::Duration deadline() const = 0;
  // What is true now, and what has happened since the last reading. Oldest first; may block, and may hang for ever.
  // UNAVAILABLE: there is no such source here, now; it is tried again.
  virtual absl::StatusOr<std::vector<Sample>> Read() = 0;
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_SOURCES_SOURCE_H_
