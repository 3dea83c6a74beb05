// One look at the machine, for a person or a script: reliability-monitor --once.
#ifndef SASSAY_MONITOR_PROGRAM_LOOK_H_
#define SASSAY_MONITOR_PROGRAM_LOOK_H_

#include <ostream>
#include <string>
#include <vector>

#include "common/terminal/style.h"
#include "monitor/program/options.h"
#include "monitor/sources/sampler.h"
#include "monitor/sources/source.h"
#include "sassay/v1/control.pb.h"

namespace sassay::monitor {

// What one look saw.
struct Seen {
  std::vector<Sample> samples;  // newest of each signal and GPU
  std::vector<SourceView> sources;
  std::vector<v1::Gpu> gpus;  // the service's; empty if it was not reached
  std::string service_error;  // why it was not
};

// "SW power cap, HW thermal slowdown" of NVML's bit mask; "-" for none.
std::string ReasonNames(uint64_t reasons);

// Pure.
std::string LookText(const Seen& seen, const Style& style);
std::string LookJson(const Seen& seen);

// Reads every source for two seconds and prints. Returns the exit status.
int Look(const Options& options, std::ostream& out, bool color);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_PROGRAM_LOOK_H_
