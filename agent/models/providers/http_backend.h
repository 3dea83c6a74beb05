// A provider behind HTTP: one request, and the stream that answers it.
#ifndef SASSAY_AGENT_MODELS_PROVIDERS_HTTP_BACKEND_H_
#define SASSAY_AGENT_MODELS_PROVIDERS_HTTP_BACKEND_H_

#include <memory>
#include <string>

#include "agent/models/backend.h"
#include "agent/models/http/http_client.h"
#include "agent/models/providers/dialect.h"

namespace sassay::agent {

struct HttpBackendOptions {
  // Where requests are posted to.
  std::string url;
  HttpTimeouts timeouts;
};

// Whatever the server says (answers, errors, its own names), the key is not in what comes out of here.
class HttpBackend : public Backend {
 public:
  // `key` may be empty: a server that needs none.
  HttpBackend(HttpBackendOptions options, Secret key, std::unique_ptr<Dialect> dialect,
              std::unique_ptr<HttpClient> client);
  absl::optional<Failure> Try(const GenerationRequest& request, const GenerationListener& listener, Stopper& stopper,
                              v1::Answered& answer) override;

 private:
  const HttpBackendOptions options_;
  const Secret key_;
  const std::unique_ptr<Dialect> dialect_;
  const std::unique_ptr<HttpClient> client_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_PROVIDERS_HTTP_BACKEND_H_
