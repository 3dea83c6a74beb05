#include "agent/rollout/policy.h"

#include "absl/strings/str_cat.h"
#include "common/base/proto_json.h"
#include "common/base/sha256.h"

namespace sassay::agent {

bool IsAboutCandidate(const v1::Verdict& verdict) {
  const bool nobodys = verdict.status() == v1::VERDICT_STATUS_UNSPECIFIED ||
                       verdict.status() == v1::VERDICT_STATUS_INFRA_ERROR ||
                       verdict.status() == v1::VERDICT_STATUS_CANCELLED;
  return !nobodys && !verdict.has_excluded();
}

std::string TroubleOf(const v1::Verdict& verdict) {
  if (verdict.has_excluded()) {
    return absl::StrCat("excluded (incident ", verdict.excluded().incident_id(), ": ", verdict.excluded().reason(),
                        ")");
  }
  return absl::StrCat(EnumName(verdict.status()), " ", EnumName(verdict.code()), ": ", verdict.reason());
}

bool IsHopeless(const v1::Verdict& verdict) {
  return !verdict.has_excluded() &&
         (verdict.code() == v1::VERDICT_CODE_EMULATOR_LACKS || verdict.code() == v1::VERDICT_CODE_DIGEST_BARRED);
}

bool IsWorthWaiting(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kOutOfRange:
      return false;
    default:
      return true;
  }
}

bool EndsConversation(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status);
}

uint64_t TurnSeed(uint64_t seed, absl::string_view trajectory_id, uint32_t turn) {
  const std::string digest = Sha256(absl::StrCat(seed, "/", trajectory_id, "/", turn));
  uint64_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(digest[i]);
  return value & 0x7fffffff;
}

}  // namespace sassay::agent
