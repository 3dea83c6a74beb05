// SIGTERM and SIGINT as something to wait for: how our daemons are told to end.
//
// Why: the handler may do next to nothing; it wakes whoever waits, through an eventfd.
#ifndef SASSAY_COMMON_PROCESS_STOP_SIGNAL_H_
#define SASSAY_COMMON_PROCESS_STOP_SIGNAL_H_

namespace sassay {

// What a further signal does to a process that is ending already.
enum class SecondStopSignal { kIgnored, kExitsAtOnce };

// From now on both signals are caught. `exit_status` is that of a process that ends in the handler. Once a process,
// before WaitForStopSignal.
void CatchStopSignals(SecondStopSignal second, int exit_status);

// Returns once one has come, also before the call.
void WaitForStopSignal();
// Whether one has come.
bool StopSignalCame();

}  // namespace sassay

#endif  // SASSAY_COMMON_PROCESS_STOP_SIGNAL_H_
