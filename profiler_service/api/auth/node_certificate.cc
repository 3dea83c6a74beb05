#include "profiler_service/api/auth/node_certificate.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace sassay::api {
namespace {

constexpr absl::string_view kPrefix = "sassay:node/";
constexpr size_t kShownNames = 8;

bool StandsFor(absl::string_view name, absl::string_view node) {
  if (name == node) return true;
  if (!absl::ConsumePrefix(&name, kPrefix)) return false;
  return absl::ConsumeSuffix(&name, "*") ? absl::StartsWith(node, name) : name == node;
}

}  // namespace

absl::Status CheckNodeCertificate(const std::vector<std::string>& certificate_names, absl::string_view node) {
  const auto stands = [&](const std::string& name) { return StandsFor(name, node); };
  if (std::any_of(certificate_names.begin(), certificate_names.end(), stands)) return absl::OkStatus();
  std::vector<std::string> shown;
  for (const std::string& name : certificate_names) {
    if (shown.size() < kShownNames) shown.push_back(absl::CEscape(name));
  }
  return absl::PermissionDeniedError(
      absl::StrCat("the certificate is for ", shown.empty() ? "nobody by name" : absl::StrJoin(shown, ", "),
                   ", and the node calls itself ", node,
                   ": give it --node-name as the certificate says, or a certificate with the name DNS:", node,
                   " or URI:", kPrefix, node));
}

}  // namespace sassay::api
