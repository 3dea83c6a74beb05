#include "common/rpc/stopper.h"

#include <grpcpp/client_context.h>

#include <utility>

#include "common/base/steady_time.h"

namespace sassay {

void Stopper::Stop() {
  absl::MutexLock lock(&mutex_);
  if (stopped_) return;
  stopped_ = true;
  for (grpc::ClientContext* context : contexts_) context->TryCancel();
  for (Callback* callback : callbacks_) callback->on_stop_();
}

bool Stopper::stopped() const {
  absl::MutexLock lock(&mutex_);
  return stopped_;
}

bool Stopper::Sleep(absl::Duration duration) const {
  absl::MutexLock lock(&mutex_);
  return !AwaitUntil(mutex_, absl::Condition(&stopped_), SteadyNow() + duration);
}

Stopper::Scope::Scope(Stopper& stopper, grpc::ClientContext& context) : stopper_(stopper), context_(context) {
  absl::MutexLock lock(&stopper_.mutex_);
  stopper_.contexts_.insert(&context_);
  if (stopper_.stopped_) context_.TryCancel();
}

Stopper::Scope::~Scope() {
  absl::MutexLock lock(&stopper_.mutex_);
  stopper_.contexts_.erase(&context_);
}

Stopper::Callback::Callback(Stopper& stopper, std::function<void()> on_stop)
    : stopper_(stopper), on_stop_(std::move(on_stop)) {
  absl::MutexLock lock(&stopper_.mutex_);
  stopper_.callbacks_.insert(this);
  if (stopper_.stopped_) on_stop_();
}

Stopper::Callback::~Callback() {
  absl::MutexLock lock(&stopper_.mutex_);
  stopper_.callbacks_.erase(this);
}

}  // namespace sassay
