#include "profiler_service/api/service/server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/metrics/cluster_metrics.h"
#include "common/metrics/service_metrics.h"
#include "profiler_service/api/auth/door.h"
#include "profiler_service/api/ports/cluster/cluster_gpus.h"
#include "profiler_service/api/ports/cluster/cluster_port.h"
#include "profiler_service/api/ports/control_port.h"
#include "profiler_service/api/ports/gpu_holds.h"
#include "profiler_service/api/ports/heartbeat.h"
#include "profiler_service/api/ports/profiler_port.h"
#include "profiler_service/api/service/metrics.h"
#include "profiler_service/queue/dispatcher.h"
#include "spdlog/spdlog.h"

namespace sassay::api {
namespace {

constexpr int kIoThreads = 8;
// Calls of nodes wait there for the store.
constexpr int kClusterThreads = 8;
// A canary each for as many GPUs at once.
constexpr int kSlowControlThreads = 8;
// For leases that have ended without a word.
constexpr absl::Duration kFrontEndLooks = absl::Seconds(2);
constexpr double kAuditedRefusalsPerSecond = 1;
constexpr auto kCallsEndWithin = std::chrono::seconds(1);

// What the queue may ask for: everything, on any of the devices.
queue::QueueOptions WithDevices(queue::QueueOptions options, const ServiceFacts& facts, const std::string& identity) {
  const sassay::v1::GetCapabilitiesResponse& capabilities = facts.capabilities;
  std::set<std::string> models;
  for (const sassay::v1::DeviceCapability& device : capabilities.devices()) models.insert(device.model());
  options.asker.models.assign(models.begin(), models.end());
  options.asker.pools.front().gpus = static_cast<uint64_t>(std::max(capabilities.devices_size(), 1));
  if (identity.empty()) return options;
  options.owner_prefix = absl::StrCat(identity, "/");
  options.asker.node = identity;
  // Where nodes are, too, each submission waits in the pool of its architecture.
  std::map<std::string, uint64_t> archs;
  for (const sassay::v1::DeviceCapability& device : capabilities.devices()) {
    for (const std::string& arch : device.archs()) ++archs[arch];
  }
  for (const auto& [arch, count] : archs) options.asker.pools.push_back({arch, count, {identity}});
  return options;
}

// Where others have GPUs, too, theirs are not looked after here.
std::function<bool(absl::string_view)> OnlyOwn(const pipeline::Gpus* own) {
  std::set<std::string, std::less<>> names;
  if (own != nullptr) {
    for (const sassay::v1::Gpu& gpu : own->List()) names.insert(gpu.uuid());
  }
  return [names = std::move(names)](absl::string_view gpu) { return names.find(gpu) != names.end(); };
}

queue::QueueOptions QueueOptionsOf(const ServiceOptions& options, const ServiceFacts& facts,
                                   const std::string& identity) {
  queue::QueueOptions of = WithDevices(options.queue, facts, identity);
  // It has no leases to renew: what a renewal would cost goes into looking for those of dead nodes.
  if (options.role == ServiceRole::kFrontEnd) of.lease = kFrontEndLooks * 3;
  if (facts.gpus != nullptr) of.free_models = [own = facts.gpus] { return own->FreeModels(); };
  if (options.AdmitsNodes() || !identity.empty()) of.mine = OnlyOwn(facts.gpus);
  return of;
}

}  // namespace

// Members in the order in which they depend on each other; destroyed in reverse.
struct Server::Parts {
  Parts(const ServiceOptions& service_options, StateFolder taken_state, std::unique_ptr<Backing> opened_backing,
        std::unique_ptr<TokenRegistry> opened_tokens, const WorkloadCatalog& catalog, ServiceFacts facts,
        const std::string& identity)
      : options(service_options),
        state(std::move(taken_state)),
        backing(std::move(opened_backing)),
        store(&backing->store()),
        own_gpus(facts.gpus),
        cluster_gpus(MakeClusterGpus()),
        gpus(cluster_gpus == nullptr ? *own_gpus : *cluster_gpus),
        holds(*store, gpus),
        streams(options.max_streams_per_tenant),
        tokens(std::move(opened_tokens)),
        submissions(options.max_submissions_per_second),
        queue(*store, QueueOptionsOf(options, facts, identity), metrics.Hooks()),
        port{queue,
             *store,
             backing->blobs(),
             catalog,
             *tokens,
             submissions,
             refusals,
             pool,
             control_pool,
             streams,
             [this](absl::StatusCode code) { metrics.CountRefused(code); },
             std::move(facts.capabilities),
             std::move(facts.settings_sha256),
             backing->nodes(),
             options.oldest_client},
        machine(std::move(facts.metrics)),
        telemetry(*facts.telemetry),
        profiler_port(port),
        control_port(port, {gpus, holds, telemetry, slow_control_pool}) {
    if (port.nodes != nullptr) {
      cluster_port = std::make_unique<ClusterPort>(port, ClusterParts{*port.nodes, cluster_pool, absl::Now});
    }
  }

  std::unique_ptr<ClusterGpus> MakeClusterGpus() const {
    cluster::NodeRegistry* const nodes = backing->nodes();
    return nodes == nullptr ? nullptr : std::make_unique<ClusterGpus>(own_gpus, *nodes);
  }

  // What is held is closed before anything is handed out; from then on the queue follows the GPUs.
  absl::Status FollowGpus() {
    gpus.OnSeatsChange([this](uint32_t seats) { queue.SetRoom(seats); });
    RETURN_IF_ERROR(holds.Start());
    queue.SetRoom(gpus.open_seats());
    holds_ear = queue.OnHolds([this] { FollowHolds(); });
    return absl::OkStatus();
  }

  // Those that others have placed and lifted, at a front end or at a node.
  void FollowHolds() {
    const absl::Status followed = holds.Refresh();
    if (!followed.ok()) spdlog::warn("cannot see which GPUs are held: {}", followed.ToString());
  }

  // A node has none: what waits does so at its front ends.
  absl::StatusOr<uint64_t> Queued() const {
    if (!HasClients()) return uint64_t{0};
    ASSIGN_OR_RETURN(const store::Depths depths, store->CountDepths());
    return depths.queued;
  }
  bool HasClients() const { return port.blobs != nullptr; }

  std::vector<MetricSource> Sources() {
    std::vector<MetricSource> sources = {
        {&metrics::kPaused, [this] { return holds.AllHeld() ? 1.0 : 0.0; }},
        {&metrics::kOpenStreams, [this] { return static_cast<double>(streams.count()); }},
        {&metrics::kTimingsProvisional, [this] { return static_cast<double>(queue.finality().open()); }},
        {&metrics::kMonitorWatching,
         [this] { return queue.finality().silent() <= queue::Finality::kSilence ? 1.0 : 0.0; }},
    };
    if (HasClients()) {
      sources.push_back({&metrics::kQueueDepth, [this] { return Depth(&store::Depths::queued); }});
      sources.push_back({&metrics::kSubmissionsRunning, [this] { return Depth(&store::Depths::leased); }});
      sources.push_back({&metrics::kBlobBytes, [this] { return BlobBytes(); }});
    } else {
      sources.push_back({&metrics::kSubmissionsRunning, [this] { return static_cast<double>(queue.running()); }});
    }
    if (backing->heard().has_value()) {
      sources.push_back({&metrics::kNodeHeard, [this] { return backing->heard().value_or(false) ? 1.0 : 0.0; }});
    }
    if (port.nodes != nullptr) AddNodes(*port.nodes, sources);
    if (own_gpus == nullptr) return sources;
    for (const sassay::v1::Gpu& gpu : own_gpus->List()) {
      for (const char* holder : {"operator", "monitor"}) {
        sources.push_back({&metrics::kGpuHeld,
                           [this, uuid = gpu.uuid(), holder] { return Held(uuid, holder); },
                           {gpu.uuid(), gpu.model(), holder}});
      }
    }
    sources.insert(sources.end(), machine.begin(), machine.end());
    return sources;
  }

  static void AddNodes(cluster::NodeRegistry& nodes, std::vector<MetricSource>& sources) {
    for (const auto& [state, name] : cluster::NodeCounts::States()) {
      sources.push_back(
          {&metrics::kNodes, [&nodes, state = state] { return static_cast<double>(nodes.Count().*state); }, {name}});
    }
    sources.push_back({&metrics::kNodePlaces, [&nodes] { return static_cast<double>(nodes.Count().places); }});
    sources.push_back(
        {&metrics::kNodeSilence, [&nodes] { return absl::ToDoubleSeconds(nodes.Count().longest_silence); }});
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
    ASSIGN_OR_RETURN(const uint64_t bytes, port.blobs->TotalBytes());
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

  absl::Status ServeMetrics() {
    if (options.metrics.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(metrics_address, MetricsAddress(options, metrics.Serve(options.metrics, Sources())));
    return absl::OkStatus();
  }

  absl::Status Listen() {
    ASSIGN_OR_RETURN(door, OpenDoor(options, [this](grpc::ServerBuilder& builder) {
                       if (HasClients()) builder.RegisterService(&profiler_port);
                       if (cluster_port != nullptr) builder.RegisterService(cluster_port.get());
                       builder.RegisterService(&control_port);
                     }));
    heartbeat = std::make_unique<Heartbeat>(telemetry, gpus, [this] { return Queued(); });
    return absl::OkStatus();
  }

  void Shutdown() {
    if (stop.HasBeenNotified()) return;
    stop.Notify();
    if (door.server != nullptr) door.server->GetHealthCheckService()->SetServingStatus(false);
    streams.RefuseNew();
    backing->Drain();
    if (dispatcher != nullptr) dispatcher->Drain(options.drain);
    streams.EndAll();
    if (door.server != nullptr) {
      door.server->Shutdown(std::chrono::system_clock::now() + kCallsEndWithin);
      door.server->Wait();
    }
    metrics.StopServing();
    holds_ear.reset();
    heartbeat.reset();
    gpus.OnSeatsChange({});
    backing->Leave();
  }

  const ServiceOptions options;
  const StateFolder state;
  const std::unique_ptr<Backing> backing;
  store::Store* const store;
  pipeline::Gpus* const own_gpus;                   // null at a front end
  const std::unique_ptr<ClusterGpus> cluster_gpus;  // where nodes are admitted
  pipeline::Gpus& gpus;
  GpuHolds holds;
  OpenStreams streams;
  const std::unique_ptr<TokenRegistry> tokens;
  RateLimiter submissions;
  RateLimiter refusals{kAuditedRefusalsPerSecond};
  Metrics metrics;
  queue::Queue queue;
  IoPool pool{kIoThreads};
  IoPool control_pool{1};
  IoPool slow_control_pool{kSlowControlThreads};
  IoPool cluster_pool{kClusterThreads};
  PortContext port;
  const std::vector<MetricSource> machine;
  telemetry::Hub& telemetry;
  std::unique_ptr<Heartbeat> heartbeat;
  ProfilerPort profiler_port;
  ControlPort control_port;
  std::unique_ptr<ClusterPort> cluster_port;
  std::shared_ptr<queue::Bell::Ear> holds_ear;
  std::unique_ptr<queue::Dispatcher> dispatcher;
  OpenedDoor door;
  absl::Notification stop;
  std::string metrics_address;
};

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServiceOptions& options, StateFolder state,
                                                      std::unique_ptr<Backing> backing, JobRunner* runner,
                                                      const WorkloadCatalog& catalog, ServiceFacts facts) {
  RETURN_IF_ERROR(CheckOptions(options));
  // Whose leases are taken back after a restart, where others have some, too.
  std::string identity;
  if (options.role == ServiceRole::kAll && backing->store().shared()) {
    ASSIGN_OR_RETURN(identity, state.Identity());
  }
  ASSIGN_OR_RETURN(auto tokens, OpenTokens(options));
  const queue::PreviousProcess previous = facts.previous.value_or(queue::PreviousProcess::kEndedOrWasKilled);
  std::unique_ptr<Server> server(new Server(std::make_unique<Parts>(
      options, std::move(state), std::move(backing), std::move(tokens), catalog, std::move(facts), identity)));
  Parts& running = *server->parts_;
  running.FollowTokens();
  RETURN_IF_ERROR(running.ServeMetrics());
  // A node's monitor must hear it while it waits for its front ends: it restarts what says nothing.
  if (!running.HasClients()) RETURN_IF_ERROR(running.Listen());
  RETURN_IF_ERROR(running.backing->Join());
  RETURN_IF_ERROR(running.queue.Start(previous));
  RETURN_IF_ERROR(running.FollowGpus());
  if (running.HasClients()) RETURN_IF_ERROR(running.Listen());
  running.door.server->GetHealthCheckService()->SetServingStatus(true);
  if (runner == nullptr) return server;
  running.dispatcher = std::make_unique<queue::Dispatcher>(
      running.queue, *runner,
      [kept = running.backing.get()](const store::Lease& lease) { return kept->ReadBundle(lease); },
      [kept = running.backing.get()](const store::Lease& lease, absl::string_view bytes) {
        return kept->KeepArtifact(lease, bytes);
      });
  return server;
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() { Shutdown(); }

const std::string& Server::address() const { return parts_->door.address; }
int Server::port() const { return parts_->door.port; }
const std::string& Server::metrics_address() const { return parts_->metrics_address; }
std::string Server::MetricsText() const { return parts_->metrics.Text(); }
void Server::Shutdown() { parts_->Shutdown(); }

}  // namespace sassay::api
