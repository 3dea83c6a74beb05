// Secrets and ids that nobody can guess.
#ifndef SASSAY_COMMON_BASE_RANDOM_H_
#define SASSAY_COMMON_BASE_RANDOM_H_

#include <cstddef>
#include <string>

namespace sassay {

// `count` bytes of the system's randomness. Ends the process if there is none: what goes on without it hands out
// secrets that everybody knows.
std::string RandomBytes(size_t count);

// 2 * `bytes` lower-case hex digits.
std::string RandomHex(size_t bytes);

}  // namespace sassay

#endif  // SASSAY_COMMON_BASE_RANDOM_H_
