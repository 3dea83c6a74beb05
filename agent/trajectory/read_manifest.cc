#include "agent/trajectory/read_manifest.h"

#include "absl/strings/str_cat.h"
#include "agent/trajectory/json_form.h"
#include "agent/trajectory/layout.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

// As --price has it.
constexpr double kMostPrice = 1e6;
constexpr double kMostAmount = 1e12;

struct Amount {
  const char* name;
  double value;
  double most;
};

// A folder may be somebody else's, or damaged: with NaN for a price no budget would ever be used up.
absl::Status CheckAmounts(const v1::RunManifest& manifest) {
  const v1::Prices& prices = manifest.prices();
  const v1::Sampling& sampling = manifest.sampling();
  for (const Amount& amount : {Amount{"prices.prompt", prices.prompt(), kMostPrice},
                               {"prices.cached_prompt", prices.cached_prompt(), kMostPrice},
                               {"prices.cache_write", prices.cache_write(), kMostPrice},
                               {"prices.completion", prices.completion(), kMostPrice},
                               {"money_budget_usd", manifest.money_budget_usd(), kMostAmount},
                               {"target_speedup", manifest.target_speedup(), kMostAmount},
                               {"sampling.temperature", sampling.temperature(), kMostAmount},
                               {"sampling.top_p", sampling.top_p(), 1}}) {
    if (amount.value >= 0 && amount.value <= amount.most) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(amount.name, " must be a number from 0 to ", amount.most, ", not ", amount.value));
  }
  return absl::OkStatus();
}

absl::Status Parse(absl::string_view untrusted, v1::RunManifest& manifest) {
  RETURN_IF_ERROR(ParseJson(untrusted, manifest));
  return CheckAmounts(manifest);
}

}  // namespace

absl::StatusOr<v1::RunManifest> ReadManifest(const std::filesystem::path& folder) {
  const absl::StatusOr<std::string> text = ReadUntrustedFile(ManifestPath(folder), kMaxManifestBytes);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(
        absl::StrCat(folder.string(), " is no run: it has no run.json. `mini-ptx-agent run -o DIR` makes runs."));
  }
  if (!text.ok()) return absl::DataLossError(text.status().message());
  v1::RunManifest manifest;
  if (const absl::Status status = Parse(*text, manifest); !status.ok())
    return absl::DataLossError(absl::StrCat(ManifestPath(folder).string(), ": ", status.message()));
  return manifest;
}

}  // namespace sassay::agent
