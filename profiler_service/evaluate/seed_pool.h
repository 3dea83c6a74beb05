// Secret seeds, and the opaque token that brings them back.
//
// A tenant that knew a seed could hand in a kernel that answers for it alone. So seeds come from a keyed hash of a
// random nonce, and the replay id carries only the nonce and a proof that this service made it: without the service's
// secret it says nothing about the inputs. Verdicts of replays are never scored, because a candidate may print its
// inputs.
#ifndef SASSAY_PROFILER_SERVICE_EVALUATE_SEED_POOL_H_
#define SASSAY_PROFILER_SERVICE_EVALUATE_SEED_POOL_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay::evaluate {

// The seeds of one evaluation. A value; thread-compatible.
class Seeds {
 public:
  // HMAC-SHA256(secret, nonce, purpose, index), its first eight bytes. Same arguments, same seed.
  uint64_t Get(absl::string_view purpose, uint64_t index) const;
  // Opaque: give it back to SeedPool::Replay for the same seeds.
  const std::string& replay_id() const { return replay_id_; }

 private:
  friend class SeedPool;
  Seeds(std::string secret, std::string nonce, std::string replay_id)
      : secret_(std::move(secret)), nonce_(std::move(nonce)), replay_id_(std::move(replay_id)) {}

  std::string secret_, nonce_, replay_id_;
};

// Thread-safe; immutable.
class SeedPool {
 public:
  // `secret`: at least 16 bytes that no tenant knows.
  explicit SeedPool(std::string secret) : secret_(std::move(secret)) {}

  // The secret kept in `path`, made with mode 0600 if there is none, so that replay ids outlive a restart.
  static absl::StatusOr<SeedPool> FromFile(const std::filesystem::path& path);

  // Seeds that were never used before.
  Seeds Fresh() const;
  // INVALID_ARGUMENT for anything but a replay id of a service with the same secret.
  absl::StatusOr<Seeds> Replay(absl::string_view untrusted_replay_id) const;

 private:
  std::string Proof(const std::string& nonce) const;

  const std::string secret_;
};

}  // namespace sassay::evaluate

#endif  // SASSAY_PROFILER_SERVICE_EVALUATE_SEED_POOL_H_
