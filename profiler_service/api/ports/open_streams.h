// The streams that are open: counted per tenant, ended when their token is revoked or the service drains.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_OPEN_STREAMS_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_OPEN_STREAMS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "profiler_service/api/auth/tokens.h"

namespace sassay::api {

// A stream that can be told to end.
class OpenStream {
 public:
  virtual ~OpenStream() = default;
  // Ends the call with `status`, unless it has ended.
  virtual void End(const absl::Status& status) = 0;
};

// Thread-safe.
class OpenStreams {
 public:
  explicit OpenStreams(uint64_t limit_per_tenant) : limit_per_tenant_(limit_per_tenant) {}

  // RESOURCE_EXHAUSTED names the flag; UNAVAILABLE while draining.
  absl::Status Add(const std::shared_ptr<OpenStream>& stream, const Caller& caller) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(const OpenStream* stream) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the streams whose caller is not `valid` any more.
  void EndUnless(const std::function<bool(const Caller&)>& valid) ABSL_LOCKS_EXCLUDED(mutex_);
  // Lets none in any more.
  void RefuseNew() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends all, because the service stops.
  void EndAll() ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t count() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    std::weak_ptr<OpenStream> stream;
    Caller caller;
  };
  std::vector<std::shared_ptr<OpenStream>> Unless(const std::function<bool(const Caller&)>& keep) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  const uint64_t limit_per_tenant_;
  mutable absl::Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  std::unordered_map<const OpenStream*, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::string, uint64_t> per_tenant_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_OPEN_STREAMS_H_
