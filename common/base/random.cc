#include "common/base/random.h"

#include <openssl/rand.h>

#include <cstdlib>

#include "absl/strings/escaping.h"

namespace sassay {

std::string RandomBytes(size_t count) {
  std::string bytes(count, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) != 1) std::abort();
  return bytes;
}

std::string RandomHex(size_t bytes) { return absl::BytesToHexString(RandomBytes(bytes)); }

}  // namespace sassay
