// One call of Builder.Build, from its first part to its end.
#ifndef SASSAY_PROFILER_SERVICE_API_BUILDER_BUILD_STREAM_H_
#define SASSAY_PROFILER_SERVICE_API_BUILDER_BUILD_STREAM_H_

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "profiler_service/api/builder/builder_port.h"
#include "sassay/v1/builder.pb.h"

namespace sassay::api {

// Life cycle: made as a shared_ptr; Open admits the caller and reads; owns itself until gRPC says OnDone. Reads parts,
// then runs the job in its place, then writes the outcome. Whatever ends it early (the client left, a revoked token,
// the builder stops) ends the build, too; the call itself ends when nothing works for it any more. Threads: callbacks
// come from gRPC, places and who ends streams, at once.
class BuildStream final : public grpc::ServerBidiReactor<sassay::v1::BuildRequest, sassay::v1::BuildResponse>,
                          public OpenStream,
                          public std::enable_shared_from_this<BuildStream> {
 public:
  BuildStream(BuilderParts& parts, grpc::CallbackServerContext& context)
      : parts_(parts), context_(context), job_(parts.limits) {}

  void Open(const absl::StatusOr<Caller>& caller);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { End(absl::CancelledError("the client went away")); }
  void OnDone() override;
  void End(const absl::Status& status) override;

 private:
  enum class Phase { kReading, kWaiting, kBuilding, kAnswering };

  absl::Status Admit(const absl::StatusOr<Caller>& caller);
  // Ends the call unless the alarm is cancelled before.
  void ExpireWith(grpc::Alarm& alarm, absl::Duration after, const char* why);
  void CancelWrite() ABSL_LOCKS_EXCLUDED(mutex_);
  // All parts are there.
  void Queue();
  // In its place.
  void Run();
  // Whether it may begin; takes the job.
  bool Begin(sassay::v1::BuildJob& job) ABSL_LOCKS_EXCLUDED(mutex_);
  void Answer(absl::StatusOr<sassay::v1::BuildJobOutcome> outcome);
  void Say(sassay::v1::BuildProgress::State state);

  // The next write, or the end, if it is time for one.
  void Advance() ABSL_LOCKS_EXCLUDED(mutex_);
  // Everything that others know of this call is gone before its client hears of the end, so that the next one finds
  // room.
  void Leave(const absl::Status& end, Phase phase, uint64_t ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  bool NextMessage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  BuilderParts& parts_;
  grpc::CallbackServerContext& context_;
  std::shared_ptr<BuildStream> self_;
  std::string tenant_;
  bool admitted_ = false;
  grpc::Alarm upload_alarm_, answer_alarm_;
  sassay::v1::BuildRequest part_;
  builder::IncomingJob job_;
  std::atomic<bool> stop_ = false;

  absl::Mutex mutex_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kReading;
  sassay::v1::BuildJob ready_ ABSL_GUARDED_BY(mutex_);  // kWaiting
  uint64_t ticket_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<sassay::v1::BuildResponse> messages_ ABSL_GUARDED_BY(mutex_);
  std::string bundle_ ABSL_GUARDED_BY(mutex_);
  size_t bundle_sent_ ABSL_GUARDED_BY(mutex_) = 0;
  sassay::v1::BuildResponse writing_ ABSL_GUARDED_BY(mutex_);
  bool write_pending_ ABSL_GUARDED_BY(mutex_) = false;
  absl::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_BUILDER_BUILD_STREAM_H_
