// Where a model is: what a person writes as --endpoint, made exact.
#ifndef SASSAY_AGENT_MODELS_HTTP_ENDPOINT_H_
#define SASSAY_AGENT_MODELS_HTTP_ENDPOINT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay::agent {

// An http or https URL without credentials, query and fragment.
struct Endpoint {
  bool tls = false;
  // Lower case; an IPv6 address in brackets.
  std::string host;
  // ":8000" or empty.
  std::string port;
  // "/v1" or empty; no slash at the end.
  std::string path;

  std::string Url() const;
  // The URL with `path` in the place of its own.
  std::string With(absl::string_view other_path) const;
  // Whether what is sent there stays on this machine.
  bool IsLoopback() const;
};

// INVALID_ARGUMENT says what was expected; a credential in the URL is refused without repeating it.
absl::StatusOr<Endpoint> ParseEndpoint(absl::string_view text);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_HTTP_ENDPOINT_H_
