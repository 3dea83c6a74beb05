// Whether this process has been told to end what it runs, for waits that are no child process: a call, say.
#ifndef SASSAY_COMMON_PROCESS_EVERY_RUN_H_
#define SASSAY_COMMON_PROCESS_EVERY_RUN_H_

namespace sassay {

// Whether CancelEveryRun (subprocess.h) was called. Thread-safe; cheap enough to be asked every few milliseconds.
bool EveryRunIsCancelled();

}  // namespace sassay

#endif  // SASSAY_COMMON_PROCESS_EVERY_RUN_H_
