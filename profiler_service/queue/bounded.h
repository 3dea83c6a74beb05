// What the service keeps for ever and sends to clients has bounds, whoever wrote it.
//
// Verdicts and events repeat text of bundles, compilers and kernels: it may be long, and it may be no UTF-8, which
// protobuf writes but does not read back. Stages keep their own, smaller limits; this is the last door before the
// store.
#ifndef SASSAY_PROFILER_SERVICE_QUEUE_BOUNDED_H_
#define SASSAY_PROFILER_SERVICE_QUEUE_BOUNDED_H_

#include <cstddef>

#include "google/protobuf/message.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::queue {

// Of one text: what a candidate prints is the longest that is meant.
inline constexpr size_t kMaxTextBytes = 64 << 10;
// Of one text in a verdict that is too large: a kernel's name of 17,000 letters stands there once for each opcode.
inline constexpr size_t kShortTextBytes = 1 << 10;
// Of a verdict.
inline constexpr size_t kMaxVerdictBytes = 1 << 20;

// Cuts every text in `message` to kMaxTextBytes and replaces what is not UTF-8 by '?'.
void BoundTexts(google::protobuf::Message& message);

// The same; in a verdict that is still larger than kMaxVerdictBytes every text is cut to kShortTextBytes, and if that
// is not enough details, then diagnoses, sanitizers, evidence, timing, numerics and stages are dropped. A note says so.
// Status and code stay, and what fits of the reason.
void BoundVerdict(sassay::v1::Verdict& verdict);

}  // namespace sassay::queue

#endif  // SASSAY_PROFILER_SERVICE_QUEUE_BOUNDED_H_
