// Brings a bundle to the service: never twice, and never from the beginning after a broken connection.
#ifndef SASSAY_AGENT_SUBMIT_UPLOAD_H_
#define SASSAY_AGENT_SUBMIT_UPLOAD_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/submit/connection.h"
#include "agent/submit/retry.h"
#include "common/rpc/stopper.h"

namespace sassay::agent {

// What it took.
struct UploadOutcome {
  // The service had it already; nothing was sent.
  bool already_known = false;
  // Bytes sent by this call, repetitions included.
  uint64_t sent_bytes = 0;
  // Times the connection broke and the upload went on.
  int resumed = 0;
};

// Uploads `bytes` under their SHA-256 (lower-case hex, given because the caller has it). Blocks; the stopper ends it
// with CANCELLED. The first question is not retried, so a wrong address fails at once.
absl::StatusOr<UploadOutcome> Upload(Connection& connection, absl::string_view bytes, const std::string& sha256,
                                     const RetryPolicy& policy, Stopper& stopper);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_SUBMIT_UPLOAD_H_
