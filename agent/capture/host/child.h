// The process that holds the candidate. One call, never returns: the candidate's destructors must not run.
//
// Its program is a few lines around this function, which lives in the recording runtime's shared object, so that both
// are one piece of code with one set of hidden symbols.
#ifndef SASSAY_AGENT_CAPTURE_HOST_CHILD_H_
#define SASSAY_AGENT_CAPTURE_HOST_CHILD_H_

// Reads the task from descriptor kTaskFd, writes events to kRecordFd.
extern "C" void SassayCaptureChildMain();

namespace sassay::capture {

constexpr int kTaskFd = 3, kRecordFd = 4;

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_HOST_CHILD_H_
