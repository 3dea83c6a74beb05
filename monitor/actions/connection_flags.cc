#include "monitor/actions/connection_flags.h"

#include <cstdlib>
#include <string>

#include "CLI/CLI.hpp"

namespace sassay::monitor {
namespace {

void Add(CLI::App& app, const char* name, std::string& value, const char* variable, const char* help) {
  app.add_option(name, value, help)->envname(variable)->group("Connection");
}

}  // namespace

void AddConnectionFlags(CLI::App& app, ConnectionOptions& options) {
  if (options.service.empty()) options.service = "127.0.0.1:50051";
  app.add_option("--service", options.service, "HOST:PORT or unix:PATH of the profiling service")
      ->envname("SASSAY_SERVICE")
      ->capture_default_str()
      ->group("Connection");
  Add(app, "--token-file", options.token_file, "SASSAY_TOKEN_FILE", "File whose first line is an admin's token");
  Add(app, "--ca-file", options.ca_file, "SASSAY_CA_FILE", "Authorities that vouch for the service (PEM); TLS");
  Add(app, "--cert-file", options.cert_file, "SASSAY_CERT_FILE", "Own certificate for mutual TLS (PEM)");
  Add(app, "--key-file", options.key_file, "SASSAY_KEY_FILE", "Its key (PEM)");
  app.add_flag("--insecure", options.insecure, "Plaintext although the service is on another machine")
      ->group("Connection");
  if (const char* token = std::getenv("SASSAY_TOKEN"); token != nullptr) options.token = token;
}

}  // namespace sassay::monitor
