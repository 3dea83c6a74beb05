// Control's streams: incidents as they are recorded, telemetry as it happens.
#include <memory>
#include <utility>

#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "profiler_service/api/ports/control_port.h"
#include "profiler_service/api/ports/paged_stream.h"
#include "spdlog/spdlog.h"

namespace sassay::api {
namespace {

using sassay::v1::Incident;
using sassay::v1::Telemetry;
using Incidents = PagedStream<Incident>;

constexpr int kPage = 64;
// About a minute of a busy service with eight GPUs.
constexpr size_t kTelemetryBacklog = 4096;

absl::StatusOr<Incidents::Page> ReadPage(store::Store& store, absl::Time from, uint64_t after) {
  ASSIGN_OR_RETURN(std::vector<store::IncidentRecord> records, store.IncidentsSince(from, after, kPage));
  Incidents::Page page;
  for (store::IncidentRecord& record : records) page.emplace_back(record.place, std::move(record.incident));
  return page;
}

// What the hub holds for a reader that is too slow is bounded there; here is one message.
class TelemetryStream : public ManagedStream<grpc::ServerWriteReactor<Telemetry>> {
 public:
  using ManagedStream::ManagedStream;

  void Begin(telemetry::Hub& hub) {
    watcher_ = hub.Watch(kTelemetryBacklog, [weak = weak_from_this()] {
      if (auto self = weak.lock()) static_cast<TelemetryStream&>(*self).Pump();
    });
    StartSendInitialMetadata();
    if (Idle()) Pump();
  }
  void Refuse(const absl::Status& status) { Close(status); }

  void OnWriteDone(bool ok) override {
    if (!ok) return Close(absl::CancelledError("the client went away"));
    if (Idle()) Pump();
  }

 private:
  void Pump() {
    while (Claim()) {
      const std::shared_ptr<telemetry::Watcher> watcher = watcher_;
      absl::optional<Telemetry> message = watcher->Take();
      if (message.has_value()) {
        current_ = *std::move(message);
        StartWrite(&current_);
        return;
      }
      if (!Idle() || !watcher->waiting()) return;
    }
  }

  std::shared_ptr<telemetry::Watcher> watcher_;
  Telemetry current_;
};

}  // namespace

template <typename Stream>
auto ControlPort::OpenFor(grpc::CallbackServerContext& context, const char* name, std::function<void(Stream&)> begin) {
  const auto stream = std::make_shared<Stream>(port_, context);
  const absl::StatusOr<Caller> caller = CallerOf(port_, context);
  if (stream->Open(caller)) {
    port_.control_pool.Post("", [this, stream, caller, name, begin = std::move(begin)] {
      const absl::Status allowed =
          Audited(caller, {name, "", "", Effect::kReads, [](const Caller&) { return absl::OkStatus(); }});
      if (!allowed.ok()) return stream->Refuse(allowed);
      begin(*stream);
    });
  }
  return stream.get();
}

grpc::ServerWriteReactor<Incident>* ControlPort::StreamIncidents(grpc::CallbackServerContext* context,
                                                                 const sassay::v1::StreamIncidentsRequest* request) {
  const absl::Time from = request->has_from() ? TimeOf(request->from()) : absl::UnixEpoch();
  std::function<absl::StatusOr<uint64_t>()> last;
  if (!request->has_from()) last = [this] { return port_.store.LastIncident(); };
  const auto then = request->only_kept() ? Incidents::After::kTheEnd : Incidents::After::kLiveOnes;
  return OpenFor<Incidents>(*context, "Control.StreamIncidents", [this, from, last, then](Incidents& stream) {
    stream.Begin([this](std::function<void()> on_ring) { return port_.queue.OnIncidents(std::move(on_ring)); },
                 [this, from](uint64_t after) { return ReadPage(port_.store, from, after); }, last, then);
  });
}

grpc::ServerWriteReactor<Telemetry>* ControlPort::StreamTelemetry(grpc::CallbackServerContext* context,
                                                                  const sassay::v1::StreamTelemetryRequest* request) {
  return OpenFor<TelemetryStream>(*context, "Control.StreamTelemetry",
                                  [this, who = ShortText(request->monitor())](TelemetryStream& stream) {
                                    spdlog::info("'{}' watches", who);
                                    stream.Begin(parts_.telemetry);
                                  });
}

}  // namespace sassay::api
