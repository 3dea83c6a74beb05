#include "agent/rollout/policy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/proto_json.h"

namespace sassay::agent {
namespace {

constexpr double kTokensPerPrice = 1e6;

}  // namespace

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

void Price(const v1::Prices& prices, v1::Usage& usage) {
  if (usage.cost_usd() > 0) return;
  const uint64_t cached = std::min(usage.cached_prompt_tokens(), usage.prompt_tokens());
  const uint64_t written = std::min(usage.cache_written_prompt_tokens(), usage.prompt_tokens() - cached);
  const auto cost = [](uint64_t tokens, double price) { return static_cast<double>(tokens) * price / kTokensPerPrice; };
  const auto or_prompt = [&](double price) { return price > 0 ? price : prices.prompt(); };
  usage.set_cost_usd(cost(usage.prompt_tokens() - cached - written, prices.prompt()) +
                     cost(cached, or_prompt(prices.cached_prompt())) + cost(written, or_prompt(prices.cache_write())) +
                     cost(usage.completion_tokens(), prices.completion()));
}

}  // namespace sassay::agent
