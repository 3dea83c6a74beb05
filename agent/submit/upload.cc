#include "agent/submit/upload.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/submit/calls.h"
#include "agent/submit/rpc_error.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

// Small enough for every service's default, large enough not to matter.
constexpr size_t kChunkBytes = 256 << 10;

absl::StatusOr<bool> IsMissing(Connection& connection, const std::string& sha256, Stopper& stopper) {
  v1::FindMissingBlobsRequest request;
  request.add_sha256(sha256);
  v1::FindMissingBlobsResponse response;
  const auto context = connection.NewContext(kCallTimeout);
  const Stopper::Scope scope(stopper, *context);
  const grpc::Status status = connection.stub().FindMissingBlobs(context.get(), request, &response);
  RETURN_IF_ERROR(FromGrpc(status, "ask for missing blobs", connection.service()));
  return response.missing_sha256_size() > 0;
}

// Asks how much has arrived, then sends the rest.
class Attempt {
 public:
  Attempt(Connection& connection, absl::string_view bytes, const std::string& sha256, absl::Duration write_timeout,
          Stopper& stopper)
      : connection_(connection), bytes_(bytes), sha256_(sha256), write_timeout_(write_timeout), stopper_(stopper) {}

  grpc::Status Run() {
    v1::QueryWriteStatusResponse state;
    if (const grpc::Status status = Query(state); !status.ok()) return status;
    offset_ = std::min<uint64_t>(state.committed_bytes(), bytes_.size());
    return state.complete() ? grpc::Status::OK : SendRest();
  }
  uint64_t sent_bytes() const { return sent_bytes_; }
  uint64_t offset() const { return offset_; }

 private:
  grpc::Status Query(v1::QueryWriteStatusResponse& state) {
    v1::QueryWriteStatusRequest request;
    request.set_sha256(sha256_);
    const auto context = connection_.NewContext(kCallTimeout);
    const Stopper::Scope scope(stopper_, *context);
    const grpc::Status status = connection_.stub().QueryWriteStatus(context.get(), request, &state);
    return status.error_code() == grpc::NOT_FOUND ? grpc::Status::OK : status;
  }

  grpc::Status SendRest() {
    v1::WriteBlobResponse response;
    const auto context = connection_.NewContext(write_timeout_);
    const Stopper::Scope scope(stopper_, *context);
    const auto writer = connection_.stub().WriteBlob(context.get(), &response);
    uint64_t at = offset_;
    do {
      const absl::string_view chunk = bytes_.substr(at, kChunkBytes);
      if (!writer->Write(Chunk(at, chunk))) break;
      at += chunk.size();
      sent_bytes_ += chunk.size();
    } while (at < bytes_.size());
    writer->WritesDone();
    return writer->Finish();
  }

  v1::WriteBlobRequest Chunk(uint64_t at, absl::string_view chunk) const {
    v1::WriteBlobRequest request;
    request.set_sha256(sha256_);
    request.set_total_bytes(bytes_.size());
    request.set_offset_bytes(at);
    request.set_data(chunk.data(), chunk.size());
    return request;
  }

  Connection& connection_;
  const absl::string_view bytes_;
  const std::string& sha256_;
  const absl::Duration write_timeout_;
  Stopper& stopper_;
  uint64_t offset_ = 0;
  uint64_t sent_bytes_ = 0;
};

}  // namespace

absl::StatusOr<UploadOutcome> Upload(Connection& connection, absl::string_view bytes, const std::string& sha256,
                                     const RetryPolicy& policy, Stopper& stopper) {
  UploadOutcome outcome;
  ASSIGN_OR_RETURN(const bool missing, IsMissing(connection, sha256, stopper));
  outcome.already_known = !missing;
  if (!missing) return outcome;
  Backoff backoff(policy, stopper);
  for (uint64_t committed = 0;;) {
    Attempt attempt(connection, bytes, sha256, policy.write_timeout, stopper);
    const grpc::Status status = attempt.Run();
    outcome.sent_bytes += attempt.sent_bytes();
    if (status.ok()) return outcome;
    if (stopper.stopped()) return absl::CancelledError("the upload was stopped");
    // A slow line is no broken one.
    const bool slow = status.error_code() == grpc::DEADLINE_EXCEEDED && attempt.sent_bytes() > 0;
    if (attempt.offset() > committed || slow) backoff.Reset();
    committed = std::max(committed, attempt.offset());
    if (!(slow || WorthRetrying(status)) || !backoff.Wait())
      return FromGrpc(status, "upload the bundle", connection.service());
    ++outcome.resumed;
  }
}

}  // namespace sassay::agent
