// One candidate process per task: started, bounded, killed, and its record completed with how it ended and where in the
// source its calls stand.
#ifndef SASSAY_AGENT_CAPTURE_HOST_SUPERVISE_H_
#define SASSAY_AGENT_CAPTURE_HOST_SUPERVISE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/capture/host/debug_info.h"
#include "agent/capture/record/record.pb.h"

namespace sassay::capture {

struct SuperviseOptions {
  // The child program, and the folder of libcudart.so.13 and libcuda.so.1 (for candidates that dlopen them).
  std::string child_program;
  std::string runtime_directory;
  absl::Duration timeout = absl::Seconds(10);
  // More than this printed or recorded ends the candidate. What is printed is counted and, but for its beginning,
  // thrown away.
  uint64_t output_limit_bytes = uint64_t{1} << 30;
  uint64_t record_limit_bytes = 256 << 20;
  // Address space of the candidate alone: this program may be built with sanitizers, which reserve terabytes.
  uint64_t address_space_bytes = uint64_t{2} << 30;
};

// Runs one task. `entry` is repeated in the record. A candidate that misbehaves is an OK status with an Ending; a
// Status is our own trouble (the child program is missing, the task is unreadable).
absl::StatusOr<Record> Supervise(absl::string_view task, const DebugInfo& debug_info, const Entry& entry,
                                 const SuperviseOptions& options);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_HOST_SUPERVISE_H_
