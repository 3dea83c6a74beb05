#include "common/rpc/jitter.h"

#include <random>

namespace sassay {

absl::Duration WithJitter(absl::Duration wait) {
  thread_local std::minstd_rand random(std::random_device{}());
  return wait * std::uniform_real_distribution<double>(0.5, 1.0)(random);
}

}  // namespace sassay
