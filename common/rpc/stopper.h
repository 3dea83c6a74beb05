// Ends calls in flight from another thread: Ctrl-C must not wait for a stream that says nothing.
#ifndef SASSAY_COMMON_RPC_STOPPER_H_
#define SASSAY_COMMON_RPC_STOPPER_H_

#include <functional>
#include <set>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace grpc {
class ClientContext;
}

namespace sassay {

// Once stopped, every registered context is cancelled, every registered callback called, every wait ends, and what is
// registered later is cancelled or called at once. There is no way back. Thread-safe.
class Stopper {
 public:
  void Stop();
  bool stopped() const;
  // Returns false if it was stopped before `duration` was over.
  bool Sleep(absl::Duration duration) const;

  // Registers a context for as long as it lives.
  class Scope {
   public:
    Scope(Stopper& stopper, grpc::ClientContext& context);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Stopper& stopper_;
    grpc::ClientContext& context_;
  };

  // Registers a function for as long as it lives: for waits that are no gRPC call. It is called once, with the stopper
  // locked: it must not block, nor call the stopper. After destruction it is not running and will not be called.
  class Callback {
   public:
    Callback(Stopper& stopper, std::function<void()> on_stop);
    ~Callback();
    Callback(const Callback&) = delete;
    Callback& operator=(const Callback&) = delete;

   private:
    friend class Stopper;
    Stopper& stopper_;
    const std::function<void()> on_stop_;
  };

 private:
  mutable absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<Callback*> callbacks_ ABSL_GUARDED_BY(mutex_);
  std::set<grpc::ClientContext*> contexts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay

#endif  // SASSAY_COMMON_RPC_STOPPER_H_
