// Content digests. Everything addressed by content in Sassay is addressed by SHA-256.
#ifndef SASSAY_COMMON_BASE_SHA256_H_
#define SASSAY_COMMON_BASE_SHA256_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sassay {

// 32 raw bytes.
std::string Sha256(absl::string_view bytes);

// 64 lower-case hex digits; the spelling used on the wire.
std::string Sha256Hex(absl::string_view bytes);

// Whether `text` is 64 lower-case hex digits.
bool IsSha256Hex(absl::string_view text);

// Digest of bytes that arrive in pieces. Thread-compatible.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(const Sha256Stream&) = delete;
  Sha256Stream& operator=(const Sha256Stream&) = delete;

  void Update(absl::string_view bytes);
  // 32 raw bytes. Call once; no Update afterwards.
  std::string Finish();

 private:
  void* context_;
};

}  // namespace sassay

#endif  // SASSAY_COMMON_BASE_SHA256_H_
