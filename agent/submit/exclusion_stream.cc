#include "agent/submit/exclusion_stream.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/submit/rpc_error.h"
#include "common/base/proto_time.h"
#include "common/base/steady_time.h"

namespace sassay::agent {
namespace {

// A stream that stood for so long had reached the service, whether or not there was something to tell.
constexpr absl::Duration kStood = absl::Seconds(5);

// For what is kept.
constexpr absl::Duration kReading = absl::Minutes(1);

grpc::Status ReadStream(Connection& connection, absl::Time from, Stopper& stopper,
                        const std::function<void(const v1::Event&)>& on_event, bool& contacted) {
  v1::WatchExclusionsRequest request;
  SetTimestamp(from, *request.mutable_from());
  const auto context = connection.NewContext(absl::InfiniteDuration());
  const Stopper::Scope scope(stopper, *context);
  const absl::Time begin = SteadyNow();
  const auto reader = connection.stub().WatchExclusions(context.get(), request);
  for (v1::Event event; reader->Read(&event);) {
    contacted = true;
    if (event.has_excluded()) on_event(event);
  }
  const grpc::Status status = reader->Finish();
  contacted = contacted || SteadyNow() - begin >= kStood;
  return status;
}

}  // namespace

void WatchExclusions(Connection& connection, absl::Time from, const RetryPolicy& policy, Stopper& stopper,
                     const std::function<void(const v1::Event&)>& on_event,
                     const std::function<void(absl::string_view)>& on_note) {
  RetryPolicy for_ever = policy;
  for_ever.give_up_after = absl::InfiniteDuration();
  Backoff backoff(for_ever, stopper);
  while (!stopper.stopped()) {
    bool contacted = false;
    const grpc::Status status = ReadStream(connection, from, stopper, on_event, contacted);
    if (stopper.stopped()) return;
    if (contacted) backoff.Reset();
    const bool worth_it = status.ok() || WorthRetrying(status);
    if (worth_it && backoff.Wait()) continue;
    if (stopper.stopped()) return;
    on_note(
        absl::StrCat("late exclusions are not heard of any more: ",
                     FromGrpc(status.ok() ? grpc::Status(grpc::UNAVAILABLE, "the service ended the stream") : status,
                              "watch exclusions", connection.service())
                         .message()));
    return;
  }
}

absl::Status ReadExclusions(Connection& connection, absl::Time from, Stopper& stopper,
                            const std::function<void(const v1::Event&)>& on_event) {
  v1::WatchExclusionsRequest request;
  SetTimestamp(from, *request.mutable_from());
  request.set_only_kept(true);
  const auto context = connection.NewContext(kReading);
  const Stopper::Scope scope(stopper, *context);
  const auto reader = connection.stub().WatchExclusions(context.get(), request);
  for (v1::Event event; reader->Read(&event);) {
    if (event.has_excluded()) on_event(event);
  }
  const grpc::Status status = reader->Finish();
  return status.ok() ? absl::OkStatus() : FromGrpc(status, "read exclusions", connection.service());
}

}  // namespace sassay::agent
