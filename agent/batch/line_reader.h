// Lines of a descriptor, with an end that another thread can bring about: standard input may say nothing for hours.
#ifndef SASSAY_AGENT_BATCH_LINE_READER_H_
#define SASSAY_AGENT_BATCH_LINE_READER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/fd.h"

namespace sassay::agent {

// Reads text lines of at most `limit` bytes.
//
// Threads: Next from one; Stop from any. Failure: OUT_OF_RANGE for a line that is longer, which is passed over (call
// Next again); what read(2) says otherwise.
class LineReader {
 public:
  // `fd` stays the caller's.
  explicit LineReader(int fd, size_t limit = size_t{32} << 20);

  // The next line without its end, or nothing at the end of the input and after Stop. A last line need not end.
  absl::StatusOr<std::optional<std::string>> Next();
  void Stop();
  // Number of the line that Next gave last, from 1.
  uint64_t line() const { return line_; }

 private:
  // False at the end, and after Stop.
  absl::StatusOr<bool> Fill();

  const int fd_;
  const size_t limit_;
  const UniqueFd stop_;
  std::string buffer_;
  size_t searched_ = 0;
  bool ended_ = false;
  bool passing_over_ = false;
  uint64_t line_ = 0;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BATCH_LINE_READER_H_
