// Return addresses to "kernel.cu:57".
#ifndef SASSAY_AGENT_CAPTURE_PLAN_SOURCE_LINES_H_
#define SASSAY_AGENT_CAPTURE_PLAN_SOURCE_LINES_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/capture/record/record.pb.h"

namespace sassay::capture {

// The lines of one record. Immutable; const methods from any thread.
class SourceLines {
 public:
  SourceLines(const Record& untrusted_record, std::vector<std::string> roots);

  // The innermost frame in the candidate's own source; empty if none is known.
  std::string Of(const Event& event) const;
  // " at kernel.cu:57", or empty.
  std::string At(const Event& event) const;
  // A path without its root, printable and bounded.
  std::string Relative(const std::string& path) const;

 private:
  std::vector<std::string> roots_;
  std::unordered_map<uint64_t, std::string> lines_;
};

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_PLAN_SOURCE_LINES_H_
