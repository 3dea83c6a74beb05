// A JSON request that is written while it is sent.
//
// Why: hundreds of conversations are in flight and most of each is text that they share. A body made whole would copy
// it for each of them, for as long as the answer takes.
#ifndef SASSAY_AGENT_MODELS_HTTP_REQUEST_BODY_H_
#define SASSAY_AGENT_MODELS_HTTP_REQUEST_BODY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sassay::agent {

// JSON text and shared texts that become JSON strings, in order. Plain data once it is made; readers are apart, so that
// a body can be sent again.
class RequestBody {
 public:
  // JSON as it stands.
  void Append(absl::string_view json);
  // A JSON string with this text; bytes that are no UTF-8 become '?'.
  void AppendString(std::shared_ptr<const std::string> text);
  void AppendString(absl::string_view text);

  // Of the whole body.
  uint64_t bytes() const { return bytes_; }
  // For tests and small bodies.
  std::string ToString() const;

  // Walks over a body, which must outlive it. Thread-compatible.
  class Reader {
   public:
    explicit Reader(const RequestBody& body) : body_(&body) {}
    // Fills at most `size` bytes; 0 at the end.
    size_t Read(char* out, size_t size);
    void Rewind() { *this = Reader(*body_); }

   private:
    const RequestBody* body_;
    size_t piece_ = 0;
    size_t at_ = 0;
    // What was written of the character at `at_` and did not fit.
    std::string rest_;
  };

 private:
  struct Piece {
    std::shared_ptr<const std::string> text;
    bool is_json;
  };
  std::vector<Piece> pieces_;
  uint64_t bytes_ = 0;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_HTTP_REQUEST_BODY_H_
