#include "agent/models/http/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace sassay::agent {
namespace {

absl::Status Refuse(absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("--endpoint ", why, "; expected a URL such as http://127.0.0.1:8000/v1 or https://api.openai.com."));
}

bool IsPlain(char c) { return c > ' ' && c < 0x7F && c != '"' && c != '<' && c != '>' && c != '\\' && c != '`'; }

// Splits "HOST:PORT", "[v6]:PORT" or "HOST".
absl::Status ReadAuthority(absl::string_view authority, Endpoint& endpoint) {
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.find(':', bracket == absl::string_view::npos ? 0 : bracket);
  endpoint.host = absl::AsciiStrToLower(authority.substr(0, colon));
  if (endpoint.host.empty()) return Refuse("names no host");
  if (colon == absl::string_view::npos) return absl::OkStatus();
  int port = 0;
  if (!absl::SimpleAtoi(authority.substr(colon + 1), &port) || port < 1 || port > 65535) {
    return Refuse(absl::StrCat("has the port \"", authority.substr(colon + 1), "\""));
  }
  endpoint.port = absl::StrCat(":", port);
  return absl::OkStatus();
}

}  // namespace

std::string Endpoint::Url() const { return With(path); }

std::string Endpoint::With(absl::string_view other_path) const {
  return absl::StrCat(tls ? "https://" : "http://", host, port, other_path);
}

bool Endpoint::IsLoopback() const {
  in_addr address = {};
  if (inet_pton(AF_INET, host.c_str(), &address) == 1) return ntohl(address.s_addr) >> 24 == 127;
  return host == "localhost" || host == "[::1]";
}

absl::StatusOr<Endpoint> ParseEndpoint(absl::string_view text) {
  Endpoint endpoint;
  absl::string_view rest = text;
  endpoint.tls = absl::ConsumePrefix(&rest, "https://");
  if (!endpoint.tls && !absl::ConsumePrefix(&rest, "http://")) {
    const bool scheme_only_missing = !rest.empty() && rest.find("://") == absl::string_view::npos;
    return Refuse(scheme_only_missing ? "begins with neither http:// nor https://" : "is no http or https URL");
  }
  const size_t slash = rest.find('/');
  const absl::string_view authority = rest.substr(0, slash);
  if (authority.find('@') != absl::string_view::npos) {
    return Refuse("holds a credential, which would end in records and logs (keys go into SASSAY_API_KEY)");
  }
  if (rest.find_first_of("?#") != absl::string_view::npos) return Refuse("holds a query or a fragment");
  if (!std::all_of(rest.begin(), rest.end(), IsPlain)) return Refuse("holds characters that no URL has");
  if (absl::Status status = ReadAuthority(authority, endpoint); !status.ok()) return status;
  if (slash != absl::string_view::npos) endpoint.path = std::string(rest.substr(slash));
  while (absl::EndsWith(endpoint.path, "/")) endpoint.path.pop_back();
  return endpoint;
}

}  // namespace sassay::agent
