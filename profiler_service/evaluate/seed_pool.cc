#include "profiler_service/evaluate/seed_pool.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/fd.h"
#include "common/base/files.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"

namespace sassay::evaluate {
namespace {

constexpr size_t kNonceBytes = 16, kProofBytes = 8, kSecretBytes = 32;
constexpr absl::string_view kPrefix = "r1-";

std::string Hmac(const std::string& secret, const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
  return std::string(reinterpret_cast<const char*>(digest), size);
}

bool IsLowerHex(absl::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

// Another process may be first: then its secret is the secret.
absl::Status CreateSecret(const std::filesystem::path& path) {
  const std::string temporary = absl::StrCat(path.string(), ".", getpid());
  const UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const std::string secret = RandomBytes(kSecretBytes);
  const bool written = fd.valid() &&
                       write(fd.get(), secret.data(), secret.size()) == static_cast<ssize_t>(secret.size()) &&
                       fsync(fd.get()) == 0;
  const bool linked = written && (link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int error = errno;
  unlink(temporary.c_str());
  if (linked) return absl::OkStatus();
  return absl::ErrnoToStatus(error, absl::StrCat("cannot keep the seed secret in ", path.string()));
}

}  // namespace

uint64_t Seeds::Get(absl::string_view purpose, uint64_t index) const {
  const std::string digest = Hmac(secret_, absl::StrCat("seed\n", nonce_, "\n", purpose, "\n", index));
  uint64_t seed;
  std::memcpy(&seed, digest.data(), sizeof(seed));
  return seed;
}

absl::StatusOr<SeedPool> SeedPool::FromFile(const std::filesystem::path& path) {
  absl::StatusOr<std::string> secret = ReadFile(path, 4096);
  if (absl::IsNotFound(secret.status())) {
    RETURN_IF_ERROR(CreateSecret(path));
    secret = ReadFile(path, 4096);
  }
  RETURN_IF_ERROR(secret.status());
  if (secret->size() < 16) {
    return absl::DataLossError(absl::StrCat(path.string(), " holds ", secret->size(),
                                            " bytes, a seed secret has 32; remove it to have a new one made"));
  }
  return SeedPool(*std::move(secret));
}

std::string SeedPool::Proof(const std::string& nonce) const {
  return Hmac(secret_, absl::StrCat("replay\n", nonce)).substr(0, kProofBytes);
}

Seeds SeedPool::Fresh() const {
  const std::string nonce = RandomBytes(kNonceBytes);
  return Seeds(secret_, nonce, absl::StrCat(kPrefix, absl::BytesToHexString(nonce + Proof(nonce))));
}

absl::StatusOr<Seeds> SeedPool::Replay(absl::string_view untrusted_replay_id) const {
  absl::string_view hex = untrusted_replay_id;
  const auto refuse = [&] {
    return absl::InvalidArgumentError("replay_id: not a replay id of this service; use the one of a verdict");
  };
  if (!absl::ConsumePrefix(&hex, kPrefix) || hex.size() != 2 * (kNonceBytes + kProofBytes) || !IsLowerHex(hex)) {
    return refuse();
  }
  const std::string bytes = absl::HexStringToBytes(hex);
  const std::string nonce = bytes.substr(0, kNonceBytes), proof = Proof(nonce);
  if (CRYPTO_memcmp(proof.data(), bytes.data() + kNonceBytes, kProofBytes) != 0) return refuse();
  return Seeds(secret_, nonce, std::string(untrusted_replay_id));
}

}  // namespace sassay::evaluate
