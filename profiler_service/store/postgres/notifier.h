// LISTEN and NOTIFY: what this process has changed is told to the others, and what they have changed is heard.
#ifndef SASSAY_PROFILER_SERVICE_STORE_POSTGRES_NOTIFIER_H_
#define SASSAY_PROFILER_SERVICE_STORE_POSTGRES_NOTIFIER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/fd.h"
#include "profiler_service/store/postgres/connection.h"
#include "profiler_service/store/sql/sql_store.h"

namespace sassay::store::postgres {

// One notification; what does not fit into PostgreSQL's 8,000 bytes becomes `everything`.
std::string EncodeChanges(const Changes& changes);
// What cannot be read means that anything may have changed.
Changes DecodeChanges(absl::string_view payload);

// One session and one thread. NOTIFY takes a lock of the whole server until its transaction has ended, so it never
// stands in a transaction that waits for the disk: what was committed is gathered for a few milliseconds and told in a
// transaction of its own. If that is lost with the process, the others look within five seconds all the same.
//
// Life cycle: starts with or without a server, looks for one until destroyed. Watches end before it. Thread-safe.
class Notifier final : public sql::Announcer {
 public:
  struct Times {
    absl::Duration gather = absl::Milliseconds(3);
    absl::Duration look_anyway = absl::Seconds(5);
    absl::Duration between_tries = absl::Milliseconds(500);
  };

  Notifier(std::string uri, const Times& times);
  ~Notifier() override;

  void Announce(const Changes& changes) override ABSL_LOCKS_EXCLUDED(mutex_);
  std::unique_ptr<Watch> Observe(Observer observer) override ABSL_LOCKS_EXCLUDED(observers_mutex_);

 private:
  class Registration;

  void Loop();
  void TryToListen();
  void WaitForSomething(absl::Time until);
  void SendWhatIsDue() ABSL_LOCKS_EXCLUDED(mutex_);
  void HearWhatHasCome();
  void LookAnyway();
  void Tell(const Changes& changes) ABSL_LOCKS_EXCLUDED(observers_mutex_);
  absl::Time NextDue() const ABSL_LOCKS_EXCLUDED(mutex_);
  void WakeUp();
  bool stopping() const ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string uri_;
  const Times times_;
  const UniqueFd wake_;

  // Of the thread alone.
  std::unique_ptr<Connection> connection_;
  absl::Time next_try_ = absl::InfinitePast();
  absl::Time look_at_ = absl::InfinitePast();
  absl::Time last_sent_ = absl::InfinitePast();

  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Changes pending_ ABSL_GUARDED_BY(mutex_);
  absl::Mutex observers_mutex_;  // held while observers are told
  std::map<uint64_t, Observer> observers_ ABSL_GUARDED_BY(observers_mutex_);
  uint64_t next_observer_ ABSL_GUARDED_BY(observers_mutex_) = 0;
  std::atomic<bool> newcomer_ = false;
  std::thread thread_;
};

}  // namespace sassay::store::postgres

#endif  // SASSAY_PROFILER_SERVICE_STORE_POSTGRES_NOTIFIER_H_
