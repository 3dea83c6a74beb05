// Where builds run, and how many there may be: each holds its sources in memory from its first byte on.
#ifndef SASSAY_PROFILER_SERVICE_API_BUILDER_PLACES_H_
#define SASSAY_PROFILER_SERVICE_API_BUILDER_PLACES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "profiler_service/api/ports/tenant_turns.h"

namespace sassay::api {

struct PlaceLimits {
  uint32_t places = 1;
  // That upload, wait or run: of all, and of one tenant, so that it does not keep the others out.
  uint64_t builds = 32;
  uint64_t builds_of_tenant = 16;
};

// Runs builds on `places` threads: tenants in turn, of one tenant first come first served. Unlike an IoPool it forgets
// what nobody waits for any more. Destruction waits for what runs and drops what waits. Thread-safe.
class Places {
 public:
  explicit Places(PlaceLimits limits);
  ~Places();

  // RESOURCE_EXHAUSTED names the limit. Who was admitted leaves again, once.
  absl::Status Admit(const std::string& tenant) ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave(const std::string& tenant) ABSL_LOCKS_EXCLUDED(mutex_);

  // What waits is called here and now, and must see by itself that it may not begin; nothing begins any more. Waits
  // until what runs has ended, or `deadline`.
  void Drain(absl::Time deadline) ABSL_LOCKS_EXCLUDED(mutex_);

  // Answers a ticket for Forget.
  uint64_t Post(const std::string& tenant, std::function<void()> build) ABSL_LOCKS_EXCLUDED(mutex_);
  // If it has not begun, it will not. Must not be called from within a build's own destructor.
  void Forget(const std::string& tenant, uint64_t ticket) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiting {
    uint64_t ticket;
    std::function<void()> build;
  };

  void Loop();
  bool SomethingToDo() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || (!draining_ && !waiting_.empty());
  }
  bool Quiet() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return running_ == 0; }

  const PlaceLimits limits_;
  absl::Mutex mutex_;
  uint64_t admitted_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, uint64_t> admitted_of_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
  TenantTurns<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  uint32_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_BUILDER_PLACES_H_
