// A server stream that owns itself, ends once, and can be ended by others.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_MANAGED_STREAM_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_MANAGED_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "profiler_service/api/ports/open_streams.h"
#include "profiler_service/api/ports/port_context.h"

namespace sassay::api {

// Base of our stream reactors. gRPC wants at most one operation under way and exactly one Finish; both are kept here.
//
// Life cycle: made as a shared_ptr, Open registers it and makes it own itself until gRPC says OnDone. Threads:
// callbacks come from gRPC, the queue and the pool at once; `busy` means that one operation (a read, a write, or work
// on the pool) is under way, and only its completion goes on.
template <typename Reactor>
class ManagedStream : public Reactor, public OpenStream, public std::enable_shared_from_this<ManagedStream<Reactor>> {
 public:
  ManagedStream(PortContext& port, grpc::CallbackServerContext& context) : port_(port), context_(context) {}

  // Begins, busy. False if the stream was refused; it then ends by itself.
  bool Open(const absl::StatusOr<Caller>& caller) {
    self_ = this->shared_from_this();
    absl::Status admitted = caller.status();
    if (admitted.ok()) admitted = port_.streams.Add(self_, *caller);
    if (admitted.ok()) return true;
    Close(admitted);
    return false;
  }

  void End(const absl::Status& status) override {
    {
      absl::MutexLock lock(&mutex_);
      if (finished_) return;
      if (busy_) {
        if (!end_.has_value()) end_ = status;
        // Cancelling would hide from the client why the stream ends. A service that stops can wait for the operation,
        // its shutdown ends what still hangs; a revoked token cannot.
        if (!absl::IsUnavailable(status)) context_.TryCancel();
        return;
      }
      finished_ = true;
    }
    Leave(status);
  }

  void OnCancel() override { End(absl::CancelledError("the client went away")); }
  void OnDone() override {
    port_.streams.Remove(this);
    self_.reset();
  }

 protected:
  // The operation under way has ended. False: the stream has been ended meanwhile, nothing may follow.
  bool Idle() {
    absl::Status end;
    {
      absl::MutexLock lock(&mutex_);
      busy_ = false;
      if (finished_) return false;
      if (!end_.has_value()) return true;
      finished_ = true;
      end = *end_;
    }
    Leave(end);
    return false;
  }
  // Claims the right to one operation. False: one is under way, or the stream has ended.
  bool Claim() {
    absl::MutexLock lock(&mutex_);
    if (busy_ || finished_) return false;
    busy_ = true;
    return true;
  }
  // Ends the stream from the operation under way.
  void Close(const absl::Status& status) {
    {
      absl::MutexLock lock(&mutex_);
      busy_ = false;
      if (finished_) return;
      finished_ = true;
    }
    Leave(status);
  }
  PortContext& port_;
  grpc::CallbackServerContext& context_;

 private:
  // The place is free before the client hears of the end, so that its next stream finds it.
  void Leave(const absl::Status& status) {
    port_.streams.Remove(this);
    this->Finish(ToGrpc(port_, status));
  }

  absl::Mutex mutex_;
  bool busy_ ABSL_GUARDED_BY(mutex_) = true;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<ManagedStream> self_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_MANAGED_STREAM_H_
