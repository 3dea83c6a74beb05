// Cluster's streams: hints, bundles, artifacts.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/api/ports/cluster/cluster_port.h"
#include "profiler_service/api/ports/managed_stream.h"
#include "profiler_service/store/watch.h"

namespace sassay::api {
namespace {

using grpc::CallbackServerContext;
using sassay::v1::KeepArtifactRequest;
using sassay::v1::KeepArtifactResponse;
using sassay::v1::ReadBundleRequest;
using sassay::v1::ReadBundleResponse;
using sassay::v1::WatchResponse;

// Gathers what has not been written yet into one message: a node that reads slowly is told less often, not later.
class HintStream : public ManagedStream<grpc::ServerWriteReactor<WatchResponse>> {
 public:
  HintStream(PortContext& port, CallbackServerContext& context, const HeldLeases& held)
      : ManagedStream(port, context), held_(held) {}

  void Begin(std::string node) {
    node_ = std::move(node);
    next_.set_everything(true);
    watch_ = port_.store.Observe([weak = weak_from_this()](const store::Changes& changes) {
      if (auto self = weak.lock()) static_cast<HintStream&>(*self).Hear(changes);
    });
    if (Idle()) Pump();
  }
  void Refuse(const absl::Status& status) { Close(status); }

  void OnWriteDone(bool ok) override {
    if (!ok) return Close(absl::CancelledError("the node went away"));
    if (Idle()) Pump();
  }
  // Not left to the destructor: the last reference may be that of an observer's call, which would wait for itself.
  void OnDone() override {
    watch_.reset();
    ManagedStream::OnDone();
  }

 private:
  void Hear(const store::Changes& changes) {
    {
      absl::MutexLock lock(&hints_mutex_);
      next_.set_everything(next_.everything() || changes.everything);
      next_.set_work(next_.work() || changes.work);
      next_.set_holds(next_.holds() || changes.holds);
      next_.set_windows(next_.windows() || changes.exclusions);
      for (std::string& id : held_.Of(node_, changes.cancelling)) AddOnce(std::move(id));
    }
    Pump();
  }

  void AddOnce(std::string id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(hints_mutex_) {
    const auto& ids = next_.cancelling_submission_ids();
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) next_.add_cancelling_submission_ids(std::move(id));
  }

  bool Take() {
    absl::MutexLock lock(&hints_mutex_);
    if (next_.ByteSizeLong() == 0) return false;
    current_ = std::exchange(next_, WatchResponse());
    return true;
  }
  bool SomethingToSay() {
    absl::MutexLock lock(&hints_mutex_);
    return next_.ByteSizeLong() > 0;
  }

  // As EventStream's: whoever finds the stream idle goes on, and every claim is followed by another look.
  void Pump() {
    while (Claim()) {
      if (Take()) {
        StartWrite(&current_);
        return;
      }
      if (!Idle() || !SomethingToSay()) return;
    }
  }

  const HeldLeases& held_;
  std::string node_;
  absl::Mutex hints_mutex_;
  WatchResponse next_ ABSL_GUARDED_BY(hints_mutex_);
  WatchResponse current_;
  std::unique_ptr<store::Watch> watch_;
};

// Whose lease it is, once that is known: the submission.
using FindLease = std::function<absl::StatusOr<store::Submission>()>;

class BundleStream : public ManagedStream<grpc::ServerWriteReactor<ReadBundleResponse>> {
 public:
  BundleStream(PortContext& port, CallbackServerContext& context, IoPool& pool, const ReadBundleRequest& request)
      : ManagedStream(port, context), pool_(pool), request_(request) {}

  void Begin(const FindLease& find) {
    pool_.Post(request_.node().name(), [this, self = shared_from_this(), find] {
      if (const absl::Status found = Find(find); !found.ok()) return Close(found);
      Send();
    });
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Close(absl::CancelledError("the node went away"));
    if (Idle() && Claim()) pool_.Post(request_.node().name(), [this, self = shared_from_this()] { Send(); });
  }

 private:
  absl::Status Find(const FindLease& find) {
    ASSIGN_OR_RETURN(const store::Submission submission, find());
    tenant_ = submission.tenant;
    sha256_ = submission.request.bundle_sha256();
    // A bundle that is about to run must not expire meanwhile.
    return Missing(port_.blobs->Touch(tenant_, sha256_, absl::Now()));
  }

  // NOT_FOUND would say that the node is not registered.
  static absl::Status Missing(const absl::Status& status) {
    if (!absl::IsNotFound(status)) return status;
    return absl::FailedPreconditionError(absl::StrCat("the bundle is not kept any more: ", status.message()));
  }

  void Send() {
    absl::StatusOr<std::string> bytes = port_.blobs->Read(tenant_, sha256_, offset_, kMaxChunkBytes);
    if (!bytes.ok()) return Close(Missing(bytes.status()));
    if (bytes->empty()) return Close(absl::OkStatus());
    offset_ += bytes->size();
    chunk_.set_data(*std::move(bytes));
    StartWrite(&chunk_);
  }

  IoPool& pool_;
  const ReadBundleRequest request_;
  std::string tenant_, sha256_;
  uint64_t offset_ = 0;
  ReadBundleResponse chunk_;
};

class ArtifactStream : public ManagedStream<grpc::ServerReadReactor<KeepArtifactRequest>> {
 public:
  using FindLease = std::function<absl::StatusOr<store::Submission>(const KeepArtifactRequest& first)>;
  ArtifactStream(PortContext& port, CallbackServerContext& context, IoPool& pool)
      : ManagedStream(port, context), pool_(pool) {}

  void Begin(FindLease find) {
    find_ = std::move(find);
    StartRead(&chunk_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return StreamEnded();
    pool_.Post(chunk_.node().name(), [this, self = shared_from_this()] { Take(); });
  }

 private:
  void StreamEnded() {
    if (!Idle() || !Claim()) return;
    Close(absl::InvalidArgumentError("the stream ended before the artifact was whole"));
  }

  absl::Status TakeUp() {
    if (!sha256_.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const store::Submission submission, find_(chunk_));
    tenant_ = submission.tenant;
    sha256_ = chunk_.sha256();
    total_bytes_ = chunk_.total_bytes();
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Keep() {
    RETURN_IF_ERROR(TakeUp());
    if (chunk_.data().size() > kMaxChunkBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("data: expected at most ", kMaxChunkBytes, " bytes, got ", chunk_.data().size()));
    }
    ASSIGN_OR_RETURN(const store::WriteStatus written,
                     port_.blobs->Write(tenant_, sha256_, total_bytes_, chunk_.offset_bytes(), chunk_.data()));
    if (!written.complete) return false;
    RETURN_IF_ERROR(port_.blobs->Touch(tenant_, sha256_, absl::Now()));
    return true;
  }

  void Take() {
    const absl::StatusOr<bool> complete = Keep();
    if (!complete.ok() || *complete) return Close(complete.status());
    if (Idle() && Claim()) StartRead(&chunk_);
  }

  IoPool& pool_;
  FindLease find_;
  std::string tenant_, sha256_;
  uint64_t total_bytes_ = 0;
  KeepArtifactRequest chunk_;
};

}  // namespace

grpc::ServerWriteReactor<WatchResponse>* ClusterPort::Watch(CallbackServerContext* context,
                                                            const sassay::v1::WatchRequest* request) {
  const auto stream = std::make_shared<HintStream>(port_, *context, held_);
  const absl::StatusOr<Caller> caller = CallerOf(port_, *context);
  if (!stream->Open(caller)) return stream.get();
  parts_.pool.Post(request->node().name(), [this, stream, caller = *caller, node = request->node()] {
    const absl::StatusOr<NodeCaller> known = CallerAs(caller, node, Registered::kYes);
    known.ok() ? stream->Begin(known->name) : stream->Refuse(known.status());
  });
  return stream.get();
}

grpc::ServerWriteReactor<ReadBundleResponse>* ClusterPort::ReadBundle(CallbackServerContext* context,
                                                                      const ReadBundleRequest* request) {
  const auto stream = std::make_shared<BundleStream>(port_, *context, parts_.pool, *request);
  const absl::StatusOr<Caller> caller = CallerOf(port_, *context);
  if (stream->Open(caller)) {
    stream->Begin([this, caller, request = *request]() -> absl::StatusOr<store::Submission> {
      ASSIGN_OR_RETURN(const NodeCaller node, CallerAs(caller, request.node(), Registered::kYes));
      return Leased(node, request.lease());
    });
  }
  return stream.get();
}

grpc::ServerReadReactor<KeepArtifactRequest>* ClusterPort::KeepArtifact(CallbackServerContext* context,
                                                                        KeepArtifactResponse*) {
  const auto stream = std::make_shared<ArtifactStream>(port_, *context, parts_.pool);
  const absl::StatusOr<Caller> caller = CallerOf(port_, *context);
  if (stream->Open(caller)) {
    stream->Begin([this, caller](const KeepArtifactRequest& first) -> absl::StatusOr<store::Submission> {
      ASSIGN_OR_RETURN(const NodeCaller node, CallerAs(caller, first.node(), Registered::kYes));
      return Leased(node, first.lease());
    });
  }
  return stream.get();
}

}  // namespace sassay::api
