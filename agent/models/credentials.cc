#include "agent/models/credentials.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

constexpr uint64_t kMaxKeyFileBytes = 64 << 10;

struct Provider {
  const char* host;
  const char* variable;
};
constexpr Provider kProviders[] = {{"api.openai.com", "OPENAI_API_KEY"},
                                   {"api.anthropic.com", "ANTHROPIC_API_KEY"},
                                   {"openrouter.ai", "OPENROUTER_API_KEY"}};

const Provider* ProviderOf(const Endpoint& endpoint) {
  const auto found = std::find_if(std::begin(kProviders), std::end(kProviders),
                                  [&](const Provider& provider) { return endpoint.host == provider.host; });
  return found == std::end(kProviders) ? nullptr : found;
}

// What a header takes.
absl::StatusOr<Secret> MakeKey(std::string text, absl::string_view origin) {
  std::string key(absl::StripAsciiWhitespace(absl::string_view(text).substr(0, text.find('\n'))));
  WipeText(text);
  if (key.empty()) return absl::FailedPreconditionError(absl::StrCat(origin, ": the first line must be the key."));
  const bool plain = std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 0x7F; });
  Secret secret(std::move(key));
  if (plain) return secret;
  return absl::FailedPreconditionError(
      absl::StrCat(origin, ": a key must be printable characters without blanks; what is there is none."));
}

absl::StatusOr<Secret> ReadKeyFile(const std::string& path) {
  const std::string origin = absl::StrCat("--api-key-file ", path);
  struct stat facts = {};
  if (stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode)) {
    if ((facts.st_mode & 077) != 0) {
      return absl::FailedPreconditionError(
          absl::StrFormat("%s: others may use it (mode %03o): chmod 600 %s", origin, facts.st_mode & 0777, path));
    }
    if (facts.st_uid != geteuid() && facts.st_uid != 0) {
      return absl::FailedPreconditionError(absl::StrCat(origin, ": it belongs to another user."));
    }
  }
  absl::StatusOr<std::string> text = ReadFile(path, kMaxKeyFileBytes);
  if (!text.ok())
    return absl::FailedPreconditionError(absl::StrCat(origin, ": ", std::string(text.status().message())));
  return MakeKey(*std::move(text), origin);
}

absl::StatusOr<Secret> Find(const Settings& settings, const std::map<std::string, std::string>& environment,
                            const Endpoint& endpoint) {
  if (const std::string& file = settings.Text("api_key_file"); !file.empty()) return ReadKeyFile(file);
  if (const std::string& key = settings.Text("api_key"); !key.empty()) return MakeKey(key, settings.Origin("api_key"));
  const Provider* provider = ProviderOf(endpoint);
  if (provider == nullptr) return Secret();
  const auto found = environment.find(provider->variable);
  if (found != environment.end() && !found->second.empty()) return MakeKey(found->second, provider->variable);
  return absl::FailedPreconditionError(absl::StrCat("no key for ", endpoint.host, ": set ", provider->variable,
                                                    " or SASSAY_API_KEY, or name a file with --api-key-file."));
}

}  // namespace

absl::StatusOr<Secret> FindKey(const Settings& settings, const std::map<std::string, std::string>& environment,
                               const Endpoint& endpoint) {
  ASSIGN_OR_RETURN(Secret key, Find(settings, environment, endpoint));
  const bool safe = endpoint.tls || endpoint.IsLoopback() || settings.Switch("insecure_endpoint");
  if (key.empty() || safe) return key;
  return absl::FailedPreconditionError(
      absl::StrCat("the key would go to ", endpoint.host,
                   " in plain text: use https://, or --insecure-endpoint in a network that you trust."));
}

bool IsKnownServer(const Endpoint& endpoint) {
  return endpoint.IsLoopback() || (endpoint.tls && ProviderOf(endpoint) != nullptr);
}

}  // namespace sassay::agent
