#include "agent/models/retrying_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/rpc/jitter.h"

namespace sassay::agent {
namespace {

// A server that refuses both spellings of something must not be asked for ever.
constexpr uint32_t kMaxAdjustments = 4;

absl::string_view TextOf(const absl::Status& status) {
  return absl::string_view(status.message().data(), status.message().size());
}

std::string ShortDuration(absl::Duration duration) {
  return absl::FormatDuration(absl::Floor(duration, absl::Milliseconds(duration < absl::Seconds(1) ? 1 : 100)));
}

// The tries of one answer.
class Tries {
 public:
  explicit Tries(const Patience& patience) : patience_(patience), next_wait_(patience.first_wait) {}

  // How long to wait before the next try; what to return if there is none. `took`: the try that failed.
  absl::StatusOr<absl::Duration> AfterFailure(const Failure& failure, absl::Duration took) {
    if (failure.kind == Failure::Kind::kFinal) return failure.status;
    if (failure.kind == Failure::Kind::kAdjusted) {
      if (++adjusted_ > kMaxAdjustments) return failure.status;
      return absl::ZeroDuration();
    }
    ++failures_;
    if (failure.kind == Failure::Kind::kBroken) {
      ++broken_;
    } else {
      in_vain_ += took;
    }
    const absl::Duration wait = NextWait(failure);
    if (broken_ >= patience_.broken_tries || in_vain_ + wait > patience_.give_up_after) return GivenUp(failure, wait);
    in_vain_ += wait;
    return wait;
  }

  uint32_t failures() const { return failures_; }
  absl::Duration wall() const { return SteadyNow() - started_; }

 private:
  absl::Duration NextWait(const Failure& failure) {
    const absl::Duration own = WithJitter(next_wait_);
    next_wait_ = std::min(next_wait_ * 2, patience_.longest_wait);
    // A little later than asked for, so that not all come in the same moment.
    return failure.retry_after ? *failure.retry_after + std::min(own, absl::Seconds(1)) : own;
  }

  absl::Status GivenUp(const Failure& failure, absl::Duration wait) const {
    const std::string asked =
        failure.retry_after ? absl::StrCat("; the server wants to be asked again in ", ShortDuration(wait)) : "";
    return absl::UnavailableError(absl::StrCat(TextOf(failure.status), " (given up after ", failures_, " tries in ",
                                               ShortDuration(wall()), asked, ")"));
  }

  const Patience& patience_;
  const absl::Time started_ = SteadyNow();
  absl::Duration next_wait_;
  // Time that brought no token.
  absl::Duration in_vain_;
  uint32_t failures_ = 0;
  uint32_t broken_ = 0;
  uint32_t adjusted_ = 0;
};

}  // namespace

RetryingModel::RetryingModel(std::unique_ptr<Backend> backend, const Patience& patience, uint32_t limit)
    : backend_(std::move(backend)), patience_(patience), throttle_(limit) {}

absl::StatusOr<v1::Answered> RetryingModel::Generate(const GenerationRequest& request,
                                                     const GenerationListener& listener, Stopper& stopper) {
  Tries tries(patience_);
  Stopper& waits = request.tries != nullptr ? *request.tries : stopper;
  while (true) {
    absl::Duration wait;
    {
      ASSIGN_OR_RETURN(Throttle::Pass pass, throttle_.Enter(waits));
      const absl::Time began = SteadyNow();
      v1::Answered answer;
      const absl::optional<Failure> failure = backend_->Try(request, listener, stopper, answer);
      if (!failure) {
        pass.Succeeded();
        answer.set_turn(request.turn);
        answer.set_retries(tries.failures());
        SetDuration(SteadyNow() - began, *answer.mutable_wall());
        return answer;
      }
      if (stopper.stopped() || waits.stopped()) return absl::CancelledError("stopped");
      ASSIGN_OR_RETURN(wait, tries.AfterFailure(*failure, SteadyNow() - began));
      if (failure->kind == Failure::Kind::kAdjusted) continue;
      if (failure->kind == Failure::Kind::kBusy) pass.Refused(wait);
      listener.on_note(absl::StrCat(TextOf(failure->status), ", trying again in ", ShortDuration(wait)));
    }
    if (!waits.Sleep(wait)) return absl::CancelledError("stopped");
  }
}

}  // namespace sassay::agent
