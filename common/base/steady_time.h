// The time for waiting: deadlines that do not move when somebody sets the clock.
//
// Why: a step of NTP would end a wait at once, and who waits kills what is late, or stretch it by hours. absl knows no
// steady clock, so this gives points of one as absl::Time.
#ifndef SASSAY_COMMON_BASE_STEADY_TIME_H_
#define SASSAY_COMMON_BASE_STEADY_TIME_H_

#include <algorithm>
#include <chrono>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace sassay {

// absl::Now() as it would be had nobody set the clock since this process first asked. Of use for differences and
// deadlines within the process, never for what is shown, stored or sent.
inline absl::Time SteadyNow() {
  static const auto steady_start = std::chrono::steady_clock::now();
  static const absl::Time start = absl::Now();
  return start + absl::FromChrono(std::chrono::steady_clock::now() - steady_start);
}

// A deadline by the wall clock as one of SteadyNow.
inline absl::Time SteadyDeadline(absl::Time wall) { return SteadyNow() + (wall - absl::Now()); }

// Mutex::AwaitWithDeadline with a deadline of SteadyNow; the caller holds `mutex`. A clock that is set forward ends no
// wait early; one that is set back can only delay the end, never what the condition waits for.
inline bool AwaitUntil(absl::Mutex& mutex, const absl::Condition& condition, absl::Time deadline) {
  while (true) {
    const absl::Duration left = deadline - SteadyNow();
    if (left <= absl::ZeroDuration()) return condition.Eval();
    if (mutex.AwaitWithTimeout(condition, std::min(left, absl::Seconds(1)))) return true;
  }
}

}  // namespace sassay

#endif  // SASSAY_COMMON_BASE_STEADY_TIME_H_
