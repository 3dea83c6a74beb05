#include "profiler_service/api/builder/build_stream.h"

#include <utility>

#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"

namespace sassay::api {
namespace {

constexpr size_t kChunkBytes = 1 << 20;
// A whole bundle through a slow line; who reads nothing must not hold its place for ever.
constexpr absl::Duration kAnswerWithin = absl::Minutes(10);

absl::Status Stopping() { return absl::UnavailableError("the builder is stopping; try again, or at another one"); }

}  // namespace

void BuildStream::Open(const absl::StatusOr<Caller>& caller) {
  self_ = shared_from_this();
  if (const absl::Status admitted = Admit(caller); !admitted.ok()) {
    End(admitted);
    return;
  }
  ExpireWith(upload_alarm_, parts_.upload_deadline, "the sources did not arrive in time");
  StartRead(&part_);
}

void BuildStream::ExpireWith(grpc::Alarm& alarm, absl::Duration after, const char* why) {
  alarm.Set(absl::ToChronoTime(absl::Now() + after), [weak = weak_from_this(), why](bool expired) {
    const auto stream = expired ? weak.lock() : nullptr;
    if (stream == nullptr) return;
    stream->End(absl::DeadlineExceededError(why));
    // A write that nobody reads would not end by itself.
    stream->CancelWrite();
  });
}

void BuildStream::CancelWrite() {
  absl::MutexLock lock(&mutex_);
  if (write_pending_) context_.TryCancel();
}

absl::Status BuildStream::Admit(const absl::StatusOr<Caller>& caller) {
  RETURN_IF_ERROR(caller.status());
  if (parts_.draining) return Stopping();
  tenant_ = caller->tenant;
  RETURN_IF_ERROR(parts_.streams.Add(self_, *caller));
  RETURN_IF_ERROR(parts_.places.Admit(tenant_));
  admitted_ = true;
  return absl::OkStatus();
}

void BuildStream::OnReadDone(bool ok) {
  if (stop_) return;
  if (!ok) {
    Queue();
    return;
  }
  if (const absl::Status added = job_.Add(std::move(part_)); !added.ok()) {
    End(added);
    return;
  }
  part_.Clear();
  StartRead(&part_);
}

void BuildStream::Queue() {
  upload_alarm_.Cancel();
  absl::StatusOr<sassay::v1::BuildJob> job = job_.Take();
  if (!job.ok()) {
    End(job.status());
    return;
  }
  Say(sassay::v1::BuildProgress::WAITING);
  {
    absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    phase_ = Phase::kWaiting;
    ready_ = *std::move(job);
    parts_.metrics.Waits(1);
    ticket_ = parts_.places.Post(tenant_, [self = self_] { self->Run(); });
  }
  // A drain that began before the build was posted does not call it.
  if (parts_.draining) End(Stopping());
}

bool BuildStream::Begin(sassay::v1::BuildJob& job) {
  absl::MutexLock lock(&mutex_);
  if (end_.has_value()) return false;
  phase_ = Phase::kBuilding;
  job = std::move(ready_);
  return true;
}

void BuildStream::Run() {
  if (parts_.draining) {
    End(Stopping());
    return;
  }
  sassay::v1::BuildJob job;
  if (!Begin(job)) return;
  parts_.metrics.Waits(-1);
  parts_.metrics.Begins();
  Say(sassay::v1::BuildProgress::BUILDING);
  const absl::Time begin = SteadyNow();
  absl::StatusOr<sassay::v1::BuildJobOutcome> outcome = parts_.run(job, tenant_, [this] { return stop_.load(); });
  parts_.metrics.Ends(outcome, SteadyNow() - begin);
  Answer(std::move(outcome));
}

void BuildStream::Answer(absl::StatusOr<sassay::v1::BuildJobOutcome> outcome) {
  {
    absl::MutexLock lock(&mutex_);
    phase_ = Phase::kAnswering;
    if (!end_.has_value()) end_ = outcome.status();
    if (outcome.ok()) {
      *messages_.emplace_back().mutable_result() = std::move(*outcome->mutable_result());
      bundle_ = std::move(*outcome->mutable_bundle());
    }
  }
  ExpireWith(answer_alarm_, kAnswerWithin, "nobody took the answer");
  Advance();
}

void BuildStream::Say(sassay::v1::BuildProgress::State state) {
  {
    absl::MutexLock lock(&mutex_);
    messages_.emplace_back().mutable_progress()->set_state(state);
  }
  Advance();
}

bool BuildStream::NextMessage() {
  if (!messages_.empty()) {
    writing_ = std::move(messages_.front());
    messages_.pop_front();
    return true;
  }
  if (bundle_sent_ >= bundle_.size()) return false;
  writing_.set_bundle(bundle_.substr(bundle_sent_, kChunkBytes));
  bundle_sent_ += kChunkBytes;
  return true;
}

void BuildStream::Advance() {
  absl::Status end;
  Phase phase;
  uint64_t ticket;
  {
    absl::MutexLock lock(&mutex_);
    if (finished_ || write_pending_) return;
    if (!stop_ && NextMessage()) {
      write_pending_ = true;
      StartWrite(&writing_);
      return;
    }
    // A build that was told to stop still uses the call until it has.
    if (!end_.has_value() || phase_ == Phase::kBuilding) return;
    finished_ = true;
    end = *end_;
    phase = phase_;
    ticket = ticket_;
    ready_.Clear();
  }
  Leave(end, phase, ticket);
  Finish(grpc::Status(static_cast<grpc::StatusCode>(end.code()), std::string(end.message())));
}

void BuildStream::Leave(const absl::Status& end, Phase phase, uint64_t ticket) {
  if (phase == Phase::kWaiting) parts_.places.Forget(tenant_, ticket);
  if (admitted_) parts_.places.Leave(tenant_);
  parts_.streams.Remove(this);
  if (phase == Phase::kWaiting) parts_.metrics.Waits(-1);
  if (!end.ok()) parts_.metrics.CountRefused(end.code());
}

void BuildStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    write_pending_ = false;
  }
  if (!ok) {
    End(absl::CancelledError("the client went away"));
    return;
  }
  Advance();
}

void BuildStream::End(const absl::Status& status) {
  {
    absl::MutexLock lock(&mutex_);
    if (finished_) return;
    // A builder that stops lets an answer that is there go out first.
    const bool answered = phase_ == Phase::kAnswering && end_.has_value() && end_->ok();
    if (answered && absl::IsUnavailable(status)) return;
    if (!end_.has_value() || end_->ok()) end_ = absl::IsUnavailable(status) ? Stopping() : status;
    stop_ = true;
  }
  Advance();
}

void BuildStream::OnDone() {
  parts_.streams.Remove(this);
  self_.reset();
}

}  // namespace sassay::api
