#include "profiler_service/api/builder/builder_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <atomic>
#include <chrono>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "profiler_service/api/auth/door.h"

namespace sassay::api {
namespace {

// Who has been told the end needs a moment to hear it.
constexpr auto kCallsEndWithin = std::chrono::seconds(2);

sassay::v1::GetBuilderResponse FactsOf(const ServiceOptions& options, const std::string& toolkit_version) {
  sassay::v1::GetBuilderResponse facts;
  facts.set_sassay_version(SASSAY_VERSION);
  facts.set_toolkit_version(toolkit_version);
  facts.set_places(options.build.places);
  facts.set_max_builds(static_cast<uint32_t>(options.build.max_builds));
  SetDuration(options.build.deadline, *facts.mutable_build_deadline());
  return facts;
}

builder::JobLimits LimitsOf(const ServiceOptions& options) {
  builder::JobLimits limits;
  limits.compile_deadline = options.build.deadline;
  return limits;
}

}  // namespace

// Members in the order in which they depend on each other; destroyed in reverse.
struct BuilderServer::Parts {
  Parts(const ServiceOptions& service_options, std::unique_ptr<TokenRegistry> opened, BuildJobRunner run,
        const std::string& toolkit_version, absl::Duration upload_deadline)
      : options(service_options),
        tokens(std::move(opened)),
        metrics(options.build.places),
        streams(options.max_streams_per_tenant),
        places({options.build.places, options.build.max_builds, options.build.max_builds_per_tenant}),
        port({*tokens, streams, places, draining, metrics, std::move(run), LimitsOf(options), upload_deadline,
              FactsOf(options, toolkit_version), options.oldest_client}) {
    tokens->OnChange([this](const TokenChange&) {
      streams.EndUnless([this](const Caller& caller) { return tokens->StillValid(caller); });
    });
  }

  absl::Status ServeMetrics() {
    if (options.metrics.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(metrics_address, MetricsAddress(options, metrics.Serve(options.metrics)));
    return absl::OkStatus();
  }

  void Shutdown() {
    if (door.server == nullptr) return;
    door.server->GetHealthCheckService()->SetServingStatus(false);
    streams.RefuseNew();
    draining = true;
    places.Drain(absl::Now() + options.drain);
    streams.EndAll();
    door.server->Shutdown(std::chrono::system_clock::now() + kCallsEndWithin);
    door.server->Wait();
    metrics.StopServing();
    door.server.reset();
  }

  const ServiceOptions options;
  const std::unique_ptr<TokenRegistry> tokens;
  BuilderMetrics metrics;
  OpenStreams streams;
  std::atomic<bool> draining = false;
  Places places;
  BuilderPort port;
  OpenedDoor door;
  std::string metrics_address;
};

absl::StatusOr<std::unique_ptr<BuilderServer>> BuilderServer::Start(const ServiceOptions& options, BuildJobRunner run,
                                                                    const std::string& toolkit_version,
                                                                    absl::Duration upload_deadline) {
  RETURN_IF_ERROR(CheckOptions(options));
  ASSIGN_OR_RETURN(auto tokens, OpenTokens(options));
  std::unique_ptr<BuilderServer> server(new BuilderServer(
      std::make_unique<Parts>(options, std::move(tokens), std::move(run), toolkit_version, upload_deadline)));
  Parts& running = *server->parts_;
  RETURN_IF_ERROR(running.ServeMetrics());
  ASSIGN_OR_RETURN(running.door,
                   OpenDoor(options, [&](grpc::ServerBuilder& builder) { builder.RegisterService(&running.port); }));
  running.door.server->GetHealthCheckService()->SetServingStatus(true);
  return server;
}

BuilderServer::BuilderServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

BuilderServer::~BuilderServer() { Shutdown(); }

const std::string& BuilderServer::address() const { return parts_->door.address; }
int BuilderServer::port() const { return parts_->door.port; }
const std::string& BuilderServer::metrics_address() const { return parts_->metrics_address; }
std::string BuilderServer::MetricsText() const { return parts_->metrics.Text(); }
void BuilderServer::Shutdown() { parts_->Shutdown(); }

}  // namespace sassay::api
