#include "profiler_service/cluster/remote_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "profiler_service/cluster/convert.h"
#include "spdlog/spdlog.h"

namespace sassay::cluster {
namespace {

using sassay::v1::Event;
using sassay::v1::Verdict;
using store::Lease;
using Stub = FrontEnds::Stub;

// So short that a node which lost its stream for a moment does not wait for its next look.
constexpr absl::Duration kBetweenStreams = absl::Milliseconds(200);

uint64_t Nanoseconds(absl::Duration duration) {
  return static_cast<uint64_t>(std::max<int64_t>(0, absl::ToInt64Nanoseconds(duration)));
}

}  // namespace

RemoteStore::RemoteStore(FrontEnds& front_ends, RemoteStoreOptions options)
    : front_ends_(front_ends),
      options_(options),
      hints_(nullptr),
      writer_(front_ends, options.patience),
      watcher_([this] { ReadHints(); }) {}

RemoteStore::~RemoteStore() {
  ending_ = true;
  front_ends_.EndStream();
  watcher_.join();
}

// ---- hints ----

std::unique_ptr<store::Watch> RemoteStore::Observe(store::Observer observer) {
  return hints_.Observe(std::move(observer));
}

void RemoteStore::Hear(const sassay::v1::WatchResponse& hint) {
  store::Changes changes;
  changes.everything = hint.everything();
  changes.work = hint.work();
  changes.holds = hint.holds();
  changes.exclusions = hint.windows();
  changes.cancelling.assign(hint.cancelling_submission_ids().begin(), hint.cancelling_submission_ids().end());
  if (!changes.empty()) hints_.Announce(changes);
}

void RemoteStore::ReadHints() {
  while (!ending_ && !front_ends_.stopped()) {
    const grpc::Status status = front_ends_.Stream([this](Stub& stub, grpc::ClientContext& context) {
      sassay::v1::WatchRequest request;
      *request.mutable_node() = front_ends_.node();
      const auto stream = stub.Watch(&context, request);
      sassay::v1::WatchResponse hint;
      while (stream->Read(&hint)) Hear(hint);
      return stream->Finish();
    });
    if (ending_) return;
    // The next beat registers where this node is not known.
    spdlog::debug("the stream of hints ended: {}", status.error_message());
    front_ends_.Sleep(kBetweenStreams);
  }
}

// ---- leases ----

void RemoteStore::MakeAcquire(sassay::v1::AcquireRequest request, absl::Time until,
                              const store::Callback<absl::optional<Lease>>& done) {
  request.set_number(next_number_);
  request.set_repeated(acquire_unsure_);
  sassay::v1::AcquireResponse response;
  const absl::Status status = front_ends_.Call(&Stub::Acquire, request, response, until);
  acquire_unsure_ = absl::IsUnavailable(status);
  if (!status.ok()) return done(status);
  absl::optional<Lease> taken;
  if (response.has_leased()) taken = FromProto(response.leased(), front_ends_.Now());
  writer_.NoteAnswer(next_number_++, taken);
  done(std::move(taken));
}

void RemoteStore::Acquire(const store::Asker& asker, absl::Time now, absl::Time expires_at,
                          store::Callback<absl::optional<Lease>> done) {
  sassay::v1::AcquireRequest request;
  request.set_lease_ns(Nanoseconds(expires_at - now));
  *request.mutable_models() = {asker.models.begin(), asker.models.end()};
  *request.mutable_states() = {asker.states.begin(), asker.states.end()};
  writer_.Post(
      request.ByteSizeLong(), [this, request, done](absl::Time until) { MakeAcquire(request, until, done); }, done);
}

void RemoteStore::Append(const Lease& lease, Event event, store::Callback<Event> done) {
  writer_.Append(lease, std::move(event), std::move(done));
}

void RemoteStore::Finish(const Lease& lease, Verdict verdict, const store::Ending& ending,
                         store::Callback<std::vector<Event>> done) {
  sassay::v1::FinishRequest request;
  *request.mutable_lease() = LeaseIdOf(lease);
  *request.mutable_verdict() = std::move(verdict);
  *request.mutable_ending() = ToProto(ending);
  const size_t bytes = request.ByteSizeLong();
  const auto finish = [this, lease, request = std::move(request), done](absl::Time until) mutable {
    request.set_after_sequence(writer_.ProgressOf(lease).last_sequence);
    sassay::v1::FinishResponse response;
    const absl::Status status = front_ends_.Call(&Stub::Finish, request, response, until);
    if (status.ok() || absl::IsAborted(status)) writer_.NoteOver(lease);
    if (!status.ok()) return done(status);
    if (response.events().empty()) return done(absl::InternalError("a front end answered a verdict with no event"));
    done(std::vector<Event>(response.events().begin(), response.events().end()));
  };
  writer_.Post(bytes, finish, done);
}

void RemoteStore::Return(const Lease& lease, absl::string_view reason, store::Ended ended, const store::Ending& ending,
                         absl::Time now, store::Callback<Event> done) {
  sassay::v1::ReturnRequest request;
  *request.mutable_lease() = LeaseIdOf(lease);
  request.set_reason(std::string(reason));
  *request.mutable_ending() = ToProto(ending);
  SetTimestamp(now, *request.mutable_at());
  const absl::StatusOr<sassay::v1::AttemptEnd> end = ToProto(ended);
  if (!end.ok()) return done(end.status());
  request.set_end(*end);
  const auto give_back = [this, lease, request, done](absl::Time until) mutable {
    request.set_after_sequence(writer_.ProgressOf(lease).last_sequence);
    sassay::v1::ReturnResponse response;
    const absl::Status status = front_ends_.Call(&Stub::Return, request, response, until);
    if (status.ok() || absl::IsAborted(status)) writer_.NoteOver(lease);
    if (!status.ok()) return done(status);
    done(std::move(*response.mutable_event()));
  };
  writer_.Post(request.ByteSizeLong(), give_back, done);
}

absl::StatusOr<std::vector<store::Renewal>> RemoteStore::Renew(const std::vector<Lease>& leases,
                                                               absl::Time expires_at) {
  using Renewals = std::vector<store::Renewal>;
  sassay::v1::RenewRequest request;
  for (const Lease& lease : leases) *request.add_leases() = LeaseIdOf(lease);
  request.set_lease_ns(Nanoseconds(expires_at - front_ends_.Now()));
  return store::Await<Renewals>([&](store::Callback<Renewals> done) {
    const auto renew = [this, leases, request, done](absl::Time until) {
      if (leases.empty()) return done(Renewals());
      sassay::v1::RenewResponse response;
      const absl::Status status = front_ends_.Call(&Stub::Renew, request, response, until);
      if (!status.ok()) return done(status);
      if (response.outcomes_size() != static_cast<int>(leases.size())) {
        return done(absl::InternalError("a front end answered another number of renewals than it was asked for"));
      }
      Renewals renewals;
      for (size_t i = 0; i < leases.size(); ++i) {
        renewals.push_back(FromProto(response.outcomes(static_cast<int>(i))));
        if (renewals.back() == store::Renewal::kLost) writer_.NoteOver(leases[i]);
      }
      done(std::move(renewals));
    };
    writer_.Post(0, renew, done);
  });
}

absl::StatusOr<std::vector<Event>> RemoteStore::Events(absl::string_view id, uint64_t after, int limit) {
  const Lease lease = writer_.HeldOf(id);
  if (lease.submission.id.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("submission ", id, ": this node does not hold its lease"));
  }
  sassay::v1::ListEventsRequest request;
  *request.mutable_lease() = LeaseIdOf(lease);
  request.set_after_sequence(after);
  request.set_limit(static_cast<uint32_t>(limit));
  sassay::v1::ListEventsResponse response;
  RETURN_IF_ERROR(Ask(&Stub::ListEvents, request, response));
  return std::vector<Event>(response.events().begin(), response.events().end());
}

// ---- what does not count, and what is not final ----

void RemoteStore::Exclude(const store::BadWindow& window, uint32_t max_exclusions, absl::Time now,
                          store::Callback<store::Exclusions> done) {
  sassay::v1::ExcludeRequest request;
  *request.mutable_window() = ToProto(window);
  request.set_max_exclusions(max_exclusions);
  SetTimestamp(now, *request.mutable_at());
  const auto exclude = [this, request, done](absl::Time until) {
    sassay::v1::ExcludeResponse response;
    const absl::Status status = front_ends_.Call(&Stub::Exclude, request, response, until);
    if (!status.ok()) return done(status);
    done(store::Exclusions{{response.events().begin(), response.events().end()},
                           {response.submission_ids().begin(), response.submission_ids().end()}});
  };
  writer_.Post(request.ByteSizeLong(), exclude, done);
}

absl::StatusOr<std::vector<store::BadWindow>> RemoteStore::OpenWindows() {
  sassay::v1::ListWindowsResponse response;
  RETURN_IF_ERROR(Ask(&Stub::ListWindows, {}, response));
  std::vector<store::BadWindow> windows;
  for (const sassay::v1::Window& window : response.windows()) windows.push_back(FromProto(window));
  return windows;
}

absl::Status RemoteStore::CloseWindows(absl::string_view gpu, absl::Time now) {
  sassay::v1::CloseWindowsRequest request;
  request.set_gpu(std::string(gpu));
  SetTimestamp(now, *request.mutable_at());
  sassay::v1::CloseWindowsResponse response;
  return Ask(&Stub::CloseWindows, request, response);
}

void RemoteStore::SettleTiming(absl::string_view id, uint32_t attempt, absl::string_view warning, absl::Time now,
                               store::Callback<Event> done) {
  sassay::v1::SettleTimingRequest request;
  request.set_submission_id(std::string(id));
  request.set_attempt(attempt);
  request.set_warning(std::string(warning));
  SetTimestamp(now, *request.mutable_at());
  const auto settle = [this, request, done](absl::Time until) {
    sassay::v1::SettleTimingResponse response;
    const absl::Status status = front_ends_.Call(&Stub::SettleTiming, request, response, until);
    if (!status.ok()) return done(status);
    done(std::move(*response.mutable_event()));
  };
  writer_.Post(request.ByteSizeLong(), settle, done);
}

absl::StatusOr<std::vector<store::Provisional>> RemoteStore::Provisionals() {
  sassay::v1::ListProvisionalsResponse response;
  RETURN_IF_ERROR(Ask(&Stub::ListProvisionals, {}, response));
  std::vector<store::Provisional> timings;
  for (const sassay::v1::ProvisionalTiming& timing : response.timings()) timings.push_back(FromProto(timing));
  return timings;
}

}  // namespace sassay::cluster
