#include "profiler_service/api/service/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "common/metrics/service_metrics.h"
#include "common/process/crash_report.h"
#include "profiler_service/api/ports/control_port.h"
#include "profiler_service/api/ports/gpu_holds.h"
#include "profiler_service/api/ports/heartbeat.h"
#include "profiler_service/api/ports/profiler_port.h"
#include "profiler_service/api/service/metrics.h"
#include "profiler_service/queue/dispatcher.h"
#include "profiler_service/store/open_store.h"
#include "spdlog/spdlog.h"

namespace sassay::api {
namespace {

constexpr int kIoThreads = 4;
// A canary each for as many GPUs at once.
constexpr int kSlowControlThreads = 8;
constexpr double kAuditedRefusalsPerSecond = 1;
constexpr int kMaxMessageBytes = 4 << 20;
constexpr absl::Duration kHousekeeping = absl::Minutes(10);
constexpr int kTrimAtOnce = 20;
constexpr auto kCallsEndWithin = std::chrono::seconds(1);
constexpr int kClientPingMilliseconds = 10'000;

absl::StatusOr<std::unique_ptr<TokenRegistry>> OpenTokens(const ServiceOptions& options) {
  if (!options.token_file.empty()) {
    auto registry = TokenRegistry::Open(options.token_file);
    if (!absl::IsNotFound(registry.status())) return registry;
    return absl::NotFoundError(absl::StrCat("--token-file ", options.token_file,
                                            ": there is no such file; 'profiler-service token add NAME --token-file ",
                                            options.token_file, "' makes it"));
  }
  if (IsLoopback(options.listen)) return std::make_unique<TokenRegistry>(Caller{"local", Role::kAdmin, ""});
  spdlog::warn("no --token-file: whoever reaches {} may submit", options.listen);
  return std::make_unique<TokenRegistry>(Caller{"anonymous", Role::kTenant, ""});
}

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

// Call with the store open: its lock says that no other process writes the report.
absl::StatusOr<queue::PreviousProcess> AskHowThePreviousProcessEnded(const ServiceOptions& options) {
  ASSIGN_OR_RETURN(const std::string report, BeginCrashReport(std::filesystem::path(options.state) / "crash_report"));
  if (report.empty()) return queue::PreviousProcess::kEndedOrWasKilled;
  spdlog::error("the service crashed before this start; {}/crash_report.last has the stack", options.state);
  return queue::PreviousProcess::kCrashed;
}

// What the queue may ask for: everything, on any of the devices.
queue::QueueOptions WithDevices(queue::QueueOptions options, const sassay::v1::GetCapabilitiesResponse& capabilities) {
  std::set<std::string> models;
  for (const sassay::v1::DeviceCapability& device : capabilities.devices()) models.insert(device.model());
  options.asker.models.assign(models.begin(), models.end());
  options.asker.pools.front().gpus = static_cast<uint64_t>(std::max(capabilities.devices_size(), 1));
  return options;
}

}  // namespace

// Members in the order in which they depend on each other; destroyed in reverse.
struct Server::Parts {
  Parts(const ServiceOptions& service_options, StateFolder taken_state, std::unique_ptr<store::Store> opened_store,
        std::unique_ptr<store::BlobStore> opened_blobs, std::unique_ptr<TokenRegistry> opened_tokens,
        const WorkloadCatalog& catalog, ServiceFacts facts)
      : options(service_options),
        state(std::move(taken_state)),
        store(std::move(opened_store)),
        blobs(std::move(opened_blobs)),
        streams(options.max_streams_per_tenant),
        tokens(std::move(opened_tokens)),
        submissions(options.max_submissions_per_second),
        queue(*store, WithDevices(options.queue, facts.capabilities), metrics.Hooks()),
        port{queue,
             *store,
             *blobs,
             catalog,
             *tokens,
             submissions,
             refusals,
             pool,
             control_pool,
             streams,
             [this](absl::StatusCode code) { metrics.CountRefused(code); },
             std::move(facts.capabilities)},
        machine(std::move(facts.metrics)),
        gpus(*facts.gpus),
        telemetry(*facts.telemetry),
        holds(*store, gpus),
        profiler_port(port),
        control_port(port, {gpus, holds, telemetry, slow_control_pool}) {}

  // What is held is closed before anything is handed out; from then on the queue follows the GPUs.
  absl::Status FollowGpus() {
    gpus.OnSeatsChange([this](uint32_t seats) { queue.SetRoom(seats); });
    RETURN_IF_ERROR(holds.Start());
    queue.SetRoom(gpus.open_seats());
    heartbeat = std::make_unique<Heartbeat>(telemetry, gpus, *store);
    return absl::OkStatus();
  }

  std::vector<MetricSource> Sources() {
    std::vector<MetricSource> sources = {
        {&metrics::kQueueDepth, [this] { return Depth(&store::Depths::queued); }},
        {&metrics::kSubmissionsRunning, [this] { return Depth(&store::Depths::leased); }},
        {&metrics::kPaused, [this] { return holds.AllHeld() ? 1.0 : 0.0; }},
        {&metrics::kBlobBytes, [this] { return BlobBytes(); }},
        {&metrics::kOpenStreams, [this] { return static_cast<double>(streams.count()); }},
        {&metrics::kTimingsProvisional, [this] { return static_cast<double>(queue.finality().open()); }},
        {&metrics::kMonitorWatching,
         [this] { return queue.finality().silent() <= queue::Finality::kSilence ? 1.0 : 0.0; }},
    };
    for (const sassay::v1::Gpu& gpu : gpus.List()) {
      for (const char* holder : {"operator", "monitor"}) {
        sources.push_back({&metrics::kGpuHeld,
                           [this, uuid = gpu.uuid(), holder] { return Held(uuid, holder); },
                           {gpu.uuid(), gpu.model(), holder}});
      }
    }
    sources.insert(sources.end(), machine.begin(), machine.end());
    return sources;
  }

  double Held(const std::string& uuid, absl::string_view holder) const {
    for (const sassay::v1::Gpu& gpu : holds.List()) {
      if (gpu.uuid() != uuid) continue;
      for (const sassay::v1::Hold& hold : gpu.holds()) {
        if (hold.holder() == holder) return 1;
      }
    }
    return 0;
  }

  absl::StatusOr<double> BlobBytes() const {
    ASSIGN_OR_RETURN(const uint64_t bytes, blobs->TotalBytes());
    return static_cast<double>(bytes);
  }

  absl::StatusOr<double> Depth(uint64_t store::Depths::*which) const {
    ASSIGN_OR_RETURN(const store::Depths depths, store->CountDepths());
    return static_cast<double>(depths.*which);
  }

  void FollowTokens() {
    tokens->OnChange([this](const TokenChange& change) {
      streams.EndUnless([this](const Caller& caller) { return tokens->StillValid(caller); });
      if (change.added.empty() && change.removed.empty()) return;
      const absl::Status audited =
          store->Audit({0, absl::Now(), "token file", "Tokens.Changed", options.token_file, "OK",
                        absl::StrCat("added: ", absl::StrJoin(change.added, ", "),
                                     "; removed: ", absl::StrJoin(change.removed, ", "))});
      if (!audited.ok()) spdlog::error("cannot write down a change of the tokens: {}", audited.ToString());
    });
  }

  // A bundle that is about to run must not expire meanwhile.
  absl::StatusOr<std::string> ReadBundle(absl::string_view tenant, absl::string_view sha256) {
    RETURN_IF_ERROR(blobs->Touch(tenant, sha256, absl::Now()));
    return blobs->ReadAll(tenant, sha256);
  }

  // Counts against the tenant's quota, and expires, as what it uploads.
  absl::StatusOr<std::string> KeepArtifact(absl::string_view tenant, absl::string_view bytes) {
    const std::string sha256 = Sha256Hex(bytes);
    RETURN_IF_ERROR(blobs->Write(tenant, sha256, bytes.size(), 0, bytes).status());
    RETURN_IF_ERROR(blobs->Touch(tenant, sha256, absl::Now()));
    return sha256;
  }

  absl::Status ServeMetrics() {
    if (options.metrics.empty()) return absl::OkStatus();
    absl::StatusOr<std::string> serving = metrics.Serve(options.metrics, Sources());
    if (!serving.ok() && options.metrics_given) return serving.status();
    if (!serving.ok()) spdlog::warn("no metrics: {}", serving.status().ToString());
    if (serving.ok()) metrics_address = *serving;
    if (serving.ok() && !IsLoopback(*serving)) {
      spdlog::warn("whoever reaches {} can read the metrics: they carry no names, but ask for no token", *serving);
    }
    return absl::OkStatus();
  }

  absl::Status Listen() {
    ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ServerCredentials> credentials, Credentials(options));
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    builder.AddListeningPort(options.listen, credentials, &bound_port);
    // Two services must not share a port by accident.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kClientPingMilliseconds);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.RegisterService(&profiler_port);
    builder.RegisterService(&control_port);
    server = builder.BuildAndStart();
    if (server == nullptr || (bound_port == 0 && options.listen.rfind("unix:", 0) != 0)) {
      return absl::UnavailableError(absl::StrCat("cannot listen on ", options.listen,
                                                 ": the address may be taken, or the TLS files do not fit together"));
    }
    address = bound_port == 0 ? options.listen
                              : absl::StrCat(options.listen.substr(0, options.listen.rfind(':')), ":", bound_port);
    return absl::OkStatus();
  }

  // In small transactions, so that what is written meanwhile hardly waits.
  void Trim(absl::Time before) {
    absl::StatusOr<int> trimmed = kTrimAtOnce;
    while (trimmed.ok() && *trimmed == kTrimAtOnce && !stop.HasBeenNotified()) {
      trimmed = store->Trim(before, kTrimAtOnce);
    }
    if (!trimmed.ok()) spdlog::error("cannot drop old verdicts: {}", trimmed.status().ToString());
  }

  void KeepHouse() {
    do {
      const absl::Time now = absl::Now();
      const absl::Status status = blobs->Expire(now - options.partial_upload_ttl, now - options.keep);
      if (!status.ok()) spdlog::error("cannot drop old blobs: {}", status.ToString());
      Trim(now - options.keep);
    } while (!stop.WaitForNotificationWithTimeout(kHousekeeping));
  }

  void Shutdown() {
    if (stop.HasBeenNotified()) return;
    stop.Notify();
    if (server != nullptr) server->GetHealthCheckService()->SetServingStatus(false);
    streams.RefuseNew();
    if (dispatcher != nullptr) dispatcher->Drain(options.drain);
    streams.EndAll();
    if (server != nullptr) {
      server->Shutdown(std::chrono::system_clock::now() + kCallsEndWithin);
      server->Wait();
    }
    metrics.StopServing();
    heartbeat.reset();
    gpus.OnSeatsChange({});
    if (housekeeper.joinable()) housekeeper.join();
  }

  const ServiceOptions options;
  const StateFolder state;
  const std::unique_ptr<store::Store> store;
  const std::unique_ptr<store::BlobStore> blobs;
  OpenStreams streams;
  const std::unique_ptr<TokenRegistry> tokens;
  RateLimiter submissions;
  RateLimiter refusals{kAuditedRefusalsPerSecond};
  Metrics metrics;
  queue::Queue queue;
  IoPool pool{kIoThreads};
  IoPool control_pool{1};
  IoPool slow_control_pool{kSlowControlThreads};
  PortContext port;
  const std::vector<MetricSource> machine;
  pipeline::Gpus& gpus;
  telemetry::Hub& telemetry;
  GpuHolds holds;
  std::unique_ptr<Heartbeat> heartbeat;
  ProfilerPort profiler_port;
  ControlPort control_port;
  std::unique_ptr<queue::Dispatcher> dispatcher;
  std::unique_ptr<grpc::Server> server;
  absl::Notification stop;
  std::thread housekeeper;
  int bound_port = 0;
  std::string address, metrics_address;
};

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServiceOptions& options, StateFolder state,
                                                      JobRunner& runner, const WorkloadCatalog& catalog,
                                                      ServiceFacts facts) {
  RETURN_IF_ERROR(CheckOptions(options));
  ASSIGN_OR_RETURN(auto store, store::OpenStore(options.store));
  const std::string place =
      options.blobs_place.empty() ? absl::StrCat("dir:", (state.path() / "blobs").string()) : options.blobs_place;
  ASSIGN_OR_RETURN(auto blobs, store::OpenBlobs(place, options.store, options.blobs));
  ASSIGN_OR_RETURN(auto tokens, OpenTokens(options));
  std::unique_ptr<Server> server(new Server(std::make_unique<Parts>(
      options, std::move(state), std::move(store), std::move(blobs), std::move(tokens), catalog, std::move(facts))));
  Parts& running = *server->parts_;
  running.FollowTokens();
  ASSIGN_OR_RETURN(const queue::PreviousProcess previous, AskHowThePreviousProcessEnded(options));
  RETURN_IF_ERROR(running.queue.Start(previous));
  RETURN_IF_ERROR(running.FollowGpus());
  RETURN_IF_ERROR(running.ServeMetrics());
  RETURN_IF_ERROR(running.Listen());
  running.dispatcher = std::make_unique<queue::Dispatcher>(
      running.queue, runner,
      [&running](absl::string_view tenant, absl::string_view sha256) { return running.ReadBundle(tenant, sha256); },
      [&running](absl::string_view tenant, absl::string_view bytes) { return running.KeepArtifact(tenant, bytes); });
  running.housekeeper = std::thread([&running] { running.KeepHouse(); });
  return server;
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() { Shutdown(); }

const std::string& Server::address() const { return parts_->address; }
int Server::port() const { return parts_->bound_port; }
const std::string& Server::metrics_address() const { return parts_->metrics_address; }
std::string Server::MetricsText() const { return parts_->metrics.Text(); }
void Server::Shutdown() { parts_->Shutdown(); }

}  // namespace sassay::api
