// Server-sent events (WHATWG HTML, section 9.2) from a server that may send anything.
#ifndef SASSAY_AGENT_MODELS_HTTP_SSE_H_
#define SASSAY_AGENT_MODELS_HTTP_SSE_H_

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sassay::agent {

// Cuts a byte stream into events, however the bytes arrive. Holds at most one event. Comments, ids and unknown fields
// are passed over, and so is an event that the stream's end cuts. A line "error: …", as llama.cpp sends it, is an event
// of type "error".
//
// Threads: compatible. Failure: RESOURCE_EXHAUSTED for an event beyond the limit; whatever the sink returns ends Feed.
class SseParser {
 public:
  // Type is "message" unless the server names one. Both views end with the call.
  using Sink = absl::FunctionRef<absl::Status(absl::string_view type, absl::string_view data)>;

  explicit SseParser(size_t max_event_bytes) : max_event_bytes_(max_event_bytes) {}
  absl::Status Feed(absl::string_view untrusted, Sink sink);

 private:
  absl::Status EndLine(Sink sink);
  absl::Status Dispatch(Sink sink);
  void Field(absl::string_view name, absl::string_view value);

  const size_t max_event_bytes_;
  std::string line_;
  std::string type_;
  std::string data_;
  bool has_data_ = false;
  bool first_line_ = true;
  bool after_cr_ = false;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_HTTP_SSE_H_
