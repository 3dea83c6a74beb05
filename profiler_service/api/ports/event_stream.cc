#include <set>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle.h"
#include "common/toolchain/bundle_target.h"
#include "common/toolchain/cuda_drivers.h"
#include "profiler_service/api/ports/cluster/cluster_devices.h"
#include "profiler_service/api/ports/managed_stream.h"
#include "profiler_service/api/ports/streams.h"

namespace sassay::api {
namespace {

using sassay::v1::Event;
using sassay::v1::ProfileRequest;

// What no device here is would wait until its deadline.
absl::Status CheckModel(const sassay::v1::GetCapabilitiesResponse& capabilities, const ProfileRequest& request) {
  if (request.gpu_model().empty()) return absl::OkStatus();
  std::set<std::string> models;
  for (const sassay::v1::DeviceCapability& device : capabilities.devices()) models.insert(device.model());
  if (models.count(request.gpu_model()) > 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("gpu_model: no device here is a '",
                                                    absl::CEscape(request.gpu_model()),
                                                    "'; there are: ", absl::StrJoin(models, ", ")));
}

store::Reuse ReuseFor(const ProfileRequest& request, const reuse::Subject& subject, const reuse::Judges& judges) {
  store::Reuse reuse;
  reuse.key = reuse::KeyOf(request, subject, judges);
  if (request.fresh() || reuse.key.empty()) return reuse;
  reuse.copy = [request, subject, judges](const sassay::v1::Verdict& earlier, absl::Time now) {
    return reuse::CopyOf(earlier, request, subject, judges, now);
  };
  return reuse;
}

// What cannot be read as a bundle is told so by admission.
absl::Status CheckDriversHere(const sassay::v1::GetCapabilitiesResponse& capabilities, const ProfileRequest& request,
                              absl::string_view untrusted_beginning) {
  const absl::StatusOr<BundleTarget> target = PeekTarget(untrusted_beginning);
  if (!target.ok()) return absl::OkStatus();
  return CheckDrivers(target->toolkit_version, target->arch, request.gpu_model(), capabilities.devices());
}

class EventStream : public ManagedStream<grpc::ServerWriteReactor<Event>> {
 public:
  using ManagedStream::ManagedStream;

  void Submit(const Caller& caller, const ProfileRequest& request) {
    // A repetition attaches, whatever the limits say by now: its bundle may have expired, its definition may be gone.
    const absl::StatusOr<absl::optional<std::string>> earlier = port_.queue.FindEarlier(caller.tenant, request);
    if (!earlier.ok()) return Close(earlier.status());
    if (earlier->has_value()) return Follow(caller, **earlier, 0);
    absl::StatusOr<queue::Placing> placing = Place(caller, request);
    if (!placing.ok()) return Close(placing.status());
    port_.queue.Submit(caller.tenant, request, *std::move(placing),
                       [this, self = shared_from_this(), caller](absl::StatusOr<store::Submitted> submitted) {
                         if (!submitted.ok()) return Close(submitted.status());
                         port_.pool.Post(caller.tenant,
                                         [this, self, caller, id = submitted->id] { Follow(caller, id, 0); });
                       });
  }

  void Follow(const Caller& caller, const std::string& id, uint64_t after) {
    auto on_ready = [weak = weak_from_this()] {
      if (auto self = weak.lock()) static_cast<EventStream&>(*self).Pump();
    };
    auto subscription = port_.queue.Subscribe(caller.tenant, id, after, std::move(on_ready));
    if (!subscription.ok()) return Close(subscription.status());
    subscription_ = *std::move(subscription);
    if (Idle()) Pump();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Close(absl::CancelledError("the client went away"));
    if (Idle()) Pump();
  }

 private:
  // Whether it may be submitted, the pool in which it waits, and what would spare it that.
  absl::StatusOr<queue::Placing> Place(const Caller& caller, const ProfileRequest& request) {
    if (!port_.submissions.Allow(caller.tenant)) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "more than ", port_.submissions.per_second(),
          " submissions a second; the limit is --max-submissions-per-second (per tenant); slow down and retry"));
    }
    if (port_.nodes == nullptr) RETURN_IF_ERROR(CheckModel(port_.capabilities, request));
    ASSIGN_OR_RETURN(const sassay::v1::Workload workload, port_.catalog.Resolve(request.workload()));
    RETURN_IF_ERROR(port_.blobs->Touch(caller.tenant, request.bundle_sha256(), absl::Now()));
    ASSIGN_OR_RETURN(const std::string beginning,
                     port_.blobs->Read(caller.tenant, request.bundle_sha256(), 0, kPeekBytes));
    queue::Placing placing;
    Nodes known;
    if (port_.nodes == nullptr) {  // all that waits here is for this process
      RETURN_IF_ERROR(CheckDriversHere(port_.capabilities, request, beginning));
    } else {
      known = port_.nodes->Known();
      ASSIGN_OR_RETURN(placing.arch, PoolFor(beginning, request.gpu_model(), port_.capabilities, known));
    }
    placing.reuse = ReuseFor(request, {workload.name(), absl::BytesToHexString(workload.definition_sha256())},
                             JudgesOf(port_.capabilities, port_.settings_sha256, known));
    return placing;
  }

  // Writes what is there. Whoever finds the stream idle goes on; the subscription loses no wake-up because every claim
  // is followed by another look.
  void Pump() {
    while (Claim()) {
      auto event = subscription_->TryNext();
      if (!event.ok()) return Close(event.status());
      if (event->has_value()) {
        current_ = **std::move(event);
        StartWrite(&current_);
        return;
      }
      if (subscription_->ended()) return Close(absl::OkStatus());
      const std::shared_ptr<queue::Subscription> subscription = subscription_;
      if (!Idle() || !subscription->ready()) return;
    }
  }

  std::shared_ptr<queue::Subscription> subscription_;
  Event current_;
};

}  // namespace

grpc::ServerWriteReactor<Event>* ServeProfile(PortContext& port, grpc::CallbackServerContext& context,
                                              const ProfileRequest& request) {
  const auto stream = std::make_shared<EventStream>(port, context);
  const absl::StatusOr<Caller> caller = CallerOf(port, context);
  if (stream->Open(caller)) {
    port.pool.Post(caller->tenant, [stream, caller = *caller, request] { stream->Submit(caller, request); });
  }
  return stream.get();
}

grpc::ServerWriteReactor<Event>* ServeAttach(PortContext& port, grpc::CallbackServerContext& context,
                                             const sassay::v1::AttachRequest& request) {
  const auto stream = std::make_shared<EventStream>(port, context);
  const absl::StatusOr<Caller> caller = CallerOf(port, context);
  if (stream->Open(caller)) {
    port.pool.Post(caller->tenant, [stream, caller = *caller, request] {
      stream->Follow(caller, request.submission_id(), request.after_sequence());
    });
  }
  return stream.get();
}

}  // namespace sassay::api
