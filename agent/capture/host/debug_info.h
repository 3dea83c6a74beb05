// The candidate's debug information: source lines of return addresses, and what run() looks like. Hostile bytes; read
// with libdw, in the sandbox, by a process that does not hold the candidate and that the candidate cannot open.
#ifndef SASSAY_AGENT_CAPTURE_HOST_DEBUG_INFO_H_
#define SASSAY_AGENT_CAPTURE_HOST_DEBUG_INFO_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/types/optional.h"
#include "agent/capture/record/record.pb.h"

namespace sassay::capture {

// Opened once per shared object. Thread-compatible. A file without debug information gives no lines and no parameters,
// never an error.
class DebugInfo {
 public:
  explicit DebugInfo(const std::string& path);
  ~DebugInfo();
  DebugInfo(const DebugInfo&) = delete;
  DebugInfo& operator=(const DebugInfo&) = delete;

  // Which entry points of this name exist, and the parameters of the extern "C" one.
  Entry DescribeEntry(const std::string& name) const;
  // The line of `pc` (relative to the load address) if it is in the candidate's own source; headers of the toolkit, the
  // system and tvm-ffi, and what nvcc generates, are not.
  absl::optional<Line> FindLine(uint64_t pc) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether `file` is the candidate's own source by its path.
bool IsCandidateSource(const std::string& file);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_HOST_DEBUG_INFO_H_
