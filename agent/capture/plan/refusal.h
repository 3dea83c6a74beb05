// Why a candidate cannot be captured: a code, and words that teach.
#ifndef SASSAY_AGENT_CAPTURE_PLAN_REFUSAL_H_
#define SASSAY_AGENT_CAPTURE_PLAN_REFUSAL_H_

#include <cstddef>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "agent/capture/plan/source_lines.h"
#include "agent/capture/record/record.pb.h"
#include "sassay/v1/verdict.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::capture {

struct Refusal {
  sassay::v1::VerdictCode code = sassay::v1::VERDICT_CODE_UNSPECIFIED;
  // One line, with the source line where it is known.
  std::string reason;
  // First bytes of what the candidate printed; for details.
  std::string output;
};

// A value, or the reason why there is none. Not a Status: a Status is our own trouble.
template <typename T>
using OrRefusal = std::variant<T, Refusal>;

// Candidate text for our messages, as one line of valid UTF-8 of at most `limit` bytes: control characters become
// blanks, bytes that are not UTF-8 become '?', and no character is cut in half.
std::string Printable(absl::string_view text, size_t limit = 500);

// The record is too much for the deadline.
Refusal TookTooLong();

// Wrong or missing entry point, judged by symbols and debug information.
absl::optional<Refusal> CheckEntry(const Entry& entry, const sassay::v1::Workload& workload, sassay::v1::EntryAbi abi,
                                   const std::string& entry_name, const SourceLines& lines);

// The first thing in the record that keeps it from being a plan: a finding, a crash, an exit, a time-out. With
// `lenient` the findings that allow it are passed over.
absl::optional<Refusal> FirstCause(const Record& record, int calls, bool lenient, const SourceLines& lines);

// What entry signature the workload asks for: "extern \"C\" void run(const __nv_bfloat16* A, …, cudaStream_t stream)".
std::string ExpectedSignature(const sassay::v1::Workload& workload, const std::string& entry_name);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_PLAN_REFUSAL_H_
