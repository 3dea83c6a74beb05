#include "common/rpc/stopper.h"

#include <grpcpp/client_context.h>

namespace sassay {

void Stopper::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  for (grpc::ClientContext* context : contexts_) context->TryCancel();
}

bool Stopper::stopped() const {
  absl::MutexLock lock(&mutex_);
  return stopped_;
}

bool Stopper::Sleep(absl::Duration duration) const {
  absl::MutexLock lock(&mutex_);
  return !mutex_.AwaitWithTimeout(absl::Condition(&stopped_), duration);
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

}  // namespace sassay
