// One run of a Triton candidate in its sandbox: what Python is told, and what it leaves.
#ifndef SASSAY_AGENT_INTEROP_TRITON_CHILD_RUN_H_
#define SASSAY_AGENT_INTEROP_TRITON_CHILD_RUN_H_

#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/interop/triton/build_triton.h"
#include "agent/interop/triton/recording.h"
#include "common/base/files.h"

namespace sassay::agent {

// The folders of one build, shown to one child after the other.
//
// Inside the sandbox: /candidate/kernel.py, /child our Python, /packages Triton, /cuda the toolkit (its ptxas tells
// Triton which PTX to write), all read-only; /out for the task and the recording.
class TritonChild {
 public:
  static absl::StatusOr<TritonChild> Create(const TritonRequest& request);

  // The recording of one workload, or a verdict for a candidate that ended its process, took too long or left nothing
  // that can be read.
  absl::StatusOr<std::variant<TritonRecording, v1::Verdict>> Run(const v1::Workload& workload, absl::Duration timeout);

 private:
  TritonChild(TemporaryDirectory root, const TritonRequest& request) : root_(std::move(root)), request_(&request) {}
  absl::StatusOr<Command> Wrap() const;
  std::string Seen(const char* inside, const std::string& host) const;

  TemporaryDirectory root_;
  const TritonRequest* request_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_INTEROP_TRITON_CHILD_RUN_H_
