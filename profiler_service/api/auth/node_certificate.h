// Which node a client certificate is for: mutual TLS says that a caller may connect, and a token that it may be a node;
// without this one stolen key would be every node's.
#ifndef SASSAY_PROFILER_SERVICE_API_AUTH_NODE_CERTIFICATE_H_
#define SASSAY_PROFILER_SERVICE_API_AUTH_NODE_CERTIFICATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sassay::api {

// OK if one of `certificate_names` (common name, and alternative names: DNS, URI) stands for the node: its name itself,
// or "sassay:node/NAME"; in the latter a NAME that ends in * stands for all that begin so (jobs of one pool).
// PERMISSION_DENIED says what the certificate names and what would do.
absl::Status CheckNodeCertificate(const std::vector<std::string>& certificate_names, absl::string_view node);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_AUTH_NODE_CERTIFICATE_H_
