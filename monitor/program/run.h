// reliability-monitor, from its command line to its exit status.
#ifndef SASSAY_MONITOR_PROGRAM_RUN_H_
#define SASSAY_MONITOR_PROGRAM_RUN_H_

namespace sassay::monitor {

int RunReliabilityMonitor(int argc, char** argv);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_PROGRAM_RUN_H_
