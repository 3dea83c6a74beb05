// What ThreadSanitizer must be told about absl's locks, and what its Status counts. Only in the tsan preset.
//
// Debian's absl is not instrumented, so ThreadSanitizer sees neither locks nor what they order, and would report every
// guarded member as a race. These functions come before absl's own (the program's symbols precede a library's); each
// call from our code is told and passed on, calls between libraries are only passed on. Nothing is suppressed: a member
// that is touched without its lock is reported as ever.
//
// Waiting for a condition is done here, by asking again: absl evaluates conditions in whatever thread unlocks, inside
// the library, where ThreadSanitizer could not see that the lock is held.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "spdlog/spdlog.h"

// A member function of absl as a free function: ours in its place, and Real…, absl's own.
#define SASSAY_PRECEDE(result, name, symbol, ...)                                                 \
  __attribute__((visibility("default"))) result name(__VA_ARGS__) asm(symbol);                    \
  const auto Real##name = [] {                                                                    \
    static const auto real = reinterpret_cast<result (*)(__VA_ARGS__)>(dlsym(RTLD_NEXT, symbol)); \
    return real;                                                                                  \
  };                                                                                              \
  static_assert(true)

// In a function of this file: whether our code called it, rather than a library's.
#define SASSAY_CALLED_BY_US                                                  \
  (static_cast<char*>(__builtin_return_address(0)) >= &__executable_start && \
   static_cast<char*>(__builtin_return_address(0)) < &etext)

extern "C" char __executable_start;
extern "C" char etext;

namespace sassay::tsan {

using absl::Condition;
using absl::CondVar;
using absl::Duration;
using absl::Mutex;
using absl::Notification;
using absl::Time;

SASSAY_PRECEDE(void, Lock, "_ZN4absl7debian35Mutex4LockEv", Mutex*);
SASSAY_PRECEDE(void, Unlock, "_ZN4absl7debian35Mutex6UnlockEv", Mutex*);
SASSAY_PRECEDE(void, Destroy, "_ZN4absl7debian35MutexD1Ev", Mutex*);
SASSAY_PRECEDE(void, LockWhen, "_ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE", Mutex*, const Condition&);
SASSAY_PRECEDE(void, Await, "_ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE", Mutex*, const Condition&);
SASSAY_PRECEDE(bool, AwaitWithTimeout, "_ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE",
               Mutex*, const Condition&, Duration);
SASSAY_PRECEDE(bool, AwaitWithDeadline, "_ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE", Mutex*,
               const Condition&, Time);
SASSAY_PRECEDE(void, Wait, "_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE", CondVar*, Mutex*);
SASSAY_PRECEDE(bool, WaitWithTimeout, "_ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE", CondVar*,
               Mutex*, Duration);
SASSAY_PRECEDE(bool, WaitWithDeadline, "_ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE", CondVar*,
               Mutex*, Time);
SASSAY_PRECEDE(void, Notify, "_ZN4absl7debian312Notification6NotifyEv", Notification*);
SASSAY_PRECEDE(void, WaitForNotification, "_ZNK4absl7debian312Notification19WaitForNotificationEv",
               const Notification*);
SASSAY_PRECEDE(bool, WaitForNotificationWithTimeout,
               "_ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE", const Notification*,
               Duration);
// A static member: the only argument is the shared part's address, with a bit set.
SASSAY_PRECEDE(void, Unref, "_ZN4absl7debian36Status15UnrefNonInlinedEm", uintptr_t);

namespace {

// What this thread holds and ThreadSanitizer knows of. A library's tail call looks like one of ours, so what gives a
// lock up asks here and not who called.
thread_local Mutex* held[64];
thread_local int held_count = 0;

bool IsHeld(Mutex* mutex) { return std::find(held, held + held_count, mutex) != held + held_count; }

void Took(Mutex* mutex) {
  __tsan_mutex_post_lock(mutex, 0, 0);
  if (held_count == static_cast<int>(std::size(held))) std::abort();
  held[held_count++] = mutex;
}

void GivesUp(Mutex* mutex) {
  std::swap(*std::find(held, held + held_count, mutex), held[held_count - 1]);
  --held_count;
  __tsan_mutex_pre_unlock(mutex, 0);
}

void ToldLock(Mutex* mutex) {
  __tsan_mutex_pre_lock(mutex, 0);
  RealLock()(mutex);
  Took(mutex);
}

void ToldUnlock(Mutex* mutex) {
  GivesUp(mutex);
  RealUnlock()(mutex);
  __tsan_mutex_post_unlock(mutex, 0);
}

// absl gives the lock up and takes it again inside.
class Released {
 public:
  explicit Released(Mutex* mutex) : mutex_(mutex) {
    GivesUp(mutex_);
    __tsan_mutex_post_unlock(mutex_, 0);
  }
  ~Released() {
    __tsan_mutex_pre_lock(mutex_, 0);
    Took(mutex_);
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  Mutex* mutex_;
};

bool AskUntil(Mutex* mutex, const Condition& condition, Time deadline) {
  constexpr timespec kPause{0, 200'000};
  while (!condition.Eval()) {
    if (absl::Now() >= deadline) return false;
    ToldUnlock(mutex);
    nanosleep(&kPause, nullptr);
    ToldLock(mutex);
  }
  return true;
}

// Where HasBeenNotified, which is inline and so instrumented, looks: behind the Mutex.
void* Flag(const Notification* notification) {
  return const_cast<char*>(reinterpret_cast<const char*>(notification)) + sizeof(Mutex);
}

}  // namespace

void Lock(Mutex* mutex) { SASSAY_CALLED_BY_US ? ToldLock(mutex) : RealLock()(mutex); }

void Unlock(Mutex* mutex) { IsHeld(mutex) ? ToldUnlock(mutex) : RealUnlock()(mutex); }

void Destroy(Mutex* mutex) {
  if (SASSAY_CALLED_BY_US) __tsan_mutex_destroy(mutex, 0);
  RealDestroy()(mutex);
}

void LockWhen(Mutex* mutex, const Condition& condition) {
  if (!SASSAY_CALLED_BY_US) return RealLockWhen()(mutex, condition);
  ToldLock(mutex);
  AskUntil(mutex, condition, absl::InfiniteFuture());
}

void Await(Mutex* mutex, const Condition& condition) {
  if (!IsHeld(mutex)) return RealAwait()(mutex, condition);
  AskUntil(mutex, condition, absl::InfiniteFuture());
}

bool AwaitWithTimeout(Mutex* mutex, const Condition& condition, Duration timeout) {
  if (!IsHeld(mutex)) return RealAwaitWithTimeout()(mutex, condition, timeout);
  return AskUntil(mutex, condition, absl::Now() + timeout);
}

bool AwaitWithDeadline(Mutex* mutex, const Condition& condition, Time deadline) {
  if (!IsHeld(mutex)) return RealAwaitWithDeadline()(mutex, condition, deadline);
  return AskUntil(mutex, condition, deadline);
}

void Wait(CondVar* changed, Mutex* mutex) {
  if (!IsHeld(mutex)) return RealWait()(changed, mutex);
  const Released released(mutex);
  RealWait()(changed, mutex);
}

bool WaitWithTimeout(CondVar* changed, Mutex* mutex, Duration timeout) {
  if (!IsHeld(mutex)) return RealWaitWithTimeout()(changed, mutex, timeout);
  const Released released(mutex);
  return RealWaitWithTimeout()(changed, mutex, timeout);
}

bool WaitWithDeadline(CondVar* changed, Mutex* mutex, Time deadline) {
  if (!IsHeld(mutex)) return RealWaitWithDeadline()(changed, mutex, deadline);
  const Released released(mutex);
  return RealWaitWithDeadline()(changed, mutex, deadline);
}

void Notify(Notification* notification) {
  __tsan_release(Flag(notification));
  RealNotify()(notification);
}

void WaitForNotification(const Notification* notification) {
  RealWaitForNotification()(notification);
  __tsan_acquire(Flag(notification));
}

bool WaitForNotificationWithTimeout(const Notification* notification, Duration timeout) {
  const bool notified = RealWaitForNotificationWithTimeout()(notification, timeout);
  if (notified) __tsan_acquire(Flag(notification));
  return notified;
}

// The count falls inside the library, by an atomic that acquires and releases: the last to let go deletes after all
// others.
void Unref(uintptr_t shared) {
  __tsan_release(reinterpret_cast<void*>(shared));
  __tsan_acquire(reinterpret_cast<void*>(shared));
  RealUnref()(shared);
}

}  // namespace sassay::tsan

// Tests fork while threads run and go on in the child: to start more threads there is what they are about.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() { return "die_after_fork=0"; }

// Nor is spdlog instrumented: its registry is made here, before there are threads that could meet while it is made.
[[maybe_unused]] const auto kFirstUseOfSpdlog = spdlog::default_logger();
