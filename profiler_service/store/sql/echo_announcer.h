// What one process changes in the store, told to the parts of that same process.
//
// Why: a front end's nodes write through it. Its queue then has to hear of their events, and its nodes of what its
// queue accepts, as if each were a process of its own.
#ifndef SASSAY_PROFILER_SERVICE_STORE_SQL_ECHO_ANNOUNCER_H_
#define SASSAY_PROFILER_SERVICE_STORE_SQL_ECHO_ANNOUNCER_H_

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "profiler_service/store/sql/sql_store.h"

namespace sassay::store::sql {

// Gathers what is announced while the observers are being called. Thread-safe.
class EchoAnnouncer : public Announcer {
 public:
  // `others` tells other processes, and of them; null if there are none.
  explicit EchoAnnouncer(std::unique_ptr<Announcer> others);
  ~EchoAnnouncer() override;

  void Announce(const Changes& changes) override ABSL_LOCKS_EXCLUDED(mutex_);
  std::unique_ptr<Watch> Observe(Observer observer) override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Listener;
  class Listening;

  void Tell() ABSL_LOCKS_EXCLUDED(mutex_);
  bool SomethingToDo() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !pending_.empty(); }

  const std::unique_ptr<Announcer> others_;
  absl::Mutex mutex_;
  Changes pending_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Listener>> listeners_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sassay::store::sql

#endif  // SASSAY_PROFILER_SERVICE_STORE_SQL_ECHO_ANNOUNCER_H_
