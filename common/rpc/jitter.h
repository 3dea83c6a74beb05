// Waits that differ, so that whoever was turned away together does not come back together.
#ifndef SASSAY_COMMON_RPC_JITTER_H_
#define SASSAY_COMMON_RPC_JITTER_H_

#include "absl/time/time.h"

namespace sassay {

// 50 % to 100 % of `wait`, at random. Thread-safe.
absl::Duration WithJitter(absl::Duration wait);

}  // namespace sassay

#endif  // SASSAY_COMMON_RPC_JITTER_H_
