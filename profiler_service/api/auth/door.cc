#include "profiler_service/api/auth/door.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "spdlog/spdlog.h"

namespace sassay::api {
namespace {

constexpr int kMaxMessageBytes = 4 << 20;
// How often clients may ask whether we are there, and when we ask a client that has not said a word.
constexpr int kClientPingMilliseconds = 10'000;
constexpr int kAskMilliseconds = 30'000;
constexpr int kAnswerWithinMilliseconds = 20'000;

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> Credentials(const ServiceOptions& options) {
  if (options.tls_cert.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions tls;
  grpc::SslServerCredentialsOptions::PemKeyCertPair pair;
  ASSIGN_OR_RETURN(pair.cert_chain, ReadFile(options.tls_cert));
  ASSIGN_OR_RETURN(pair.private_key, ReadFile(options.tls_key));
  tls.pem_key_cert_pairs.push_back(std::move(pair));
  if (!options.tls_client_ca.empty()) {
    ASSIGN_OR_RETURN(tls.pem_root_certs, ReadFile(options.tls_client_ca));
    tls.client_certificate_request = GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  return grpc::SslServerCredentials(tls);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenRegistry>> OpenTokens(const ServiceOptions& options) {
  if (!options.token_file.empty()) {
    auto registry = TokenRegistry::Open(options.token_file);
    if (!absl::IsNotFound(registry.status())) return registry;
    return absl::NotFoundError(absl::StrCat("--token-file ", options.token_file,
                                            ": there is no such file; 'profiler-service token add NAME --token-file ",
                                            options.token_file, "' makes it"));
  }
  if (IsLoopback(options.listen)) return std::make_unique<TokenRegistry>(Caller{"local", Role::kAdmin, "", {}});
  spdlog::warn("no --token-file: whoever reaches {} may submit", options.listen);
  return std::make_unique<TokenRegistry>(Caller{"anonymous", Role::kTenant, "", {}});
}

absl::StatusOr<OpenedDoor> OpenDoor(const ServiceOptions& options,
                                    const std::function<void(grpc::ServerBuilder&)>& add_services) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ServerCredentials> credentials, Credentials(options));
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  OpenedDoor door;
  builder.AddListeningPort(options.listen, credentials, &door.port);
  // Two services must not share a port by accident.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kClientPingMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Streams of hosts that are gone without a word end, too.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kAskMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kAnswerWithinMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  add_services(builder);
  door.server = builder.BuildAndStart();
  if (door.server == nullptr || (door.port == 0 && options.listen.rfind("unix:", 0) != 0)) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", options.listen,
                                               ": the address may be taken, or the TLS files do not fit together"));
  }
  // Not before everything else has started.
  door.server->GetHealthCheckService()->SetServingStatus(false);
  door.address = door.port == 0 ? options.listen
                                : absl::StrCat(options.listen.substr(0, options.listen.rfind(':')), ":", door.port);
  return door;
}

absl::StatusOr<std::string> MetricsAddress(const ServiceOptions& options, absl::StatusOr<std::string> serving) {
  if (!serving.ok() && options.metrics_given) return serving;
  if (!serving.ok()) {
    spdlog::warn("no metrics: {}", serving.status().ToString());
    return std::string();
  }
  if (!IsLoopback(*serving)) {
    spdlog::warn("whoever reaches {} can read the metrics: they carry no names, but ask for no token", *serving);
  }
  return serving;
}

}  // namespace sassay::api
