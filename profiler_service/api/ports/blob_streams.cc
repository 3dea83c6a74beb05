#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler_service/api/ports/managed_stream.h"
#include "profiler_service/api/ports/streams.h"

namespace sassay::api {
namespace {

using sassay::v1::ReadBlobRequest;
using sassay::v1::ReadBlobResponse;
using sassay::v1::WriteBlobRequest;
using sassay::v1::WriteBlobResponse;

class Upload : public ManagedStream<grpc::ServerReadReactor<WriteBlobRequest>> {
 public:
  Upload(PortContext& port, grpc::CallbackServerContext& context, WriteBlobResponse& response)
      : ManagedStream(port, context), response_(response) {}

  void Begin(const Caller& caller) {
    tenant_ = caller.tenant;
    StartRead(&chunk_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return StreamEnded();
    port_.pool.Post(tenant_, [this, self = shared_from_this()] { Take(); });
  }

 private:
  void StreamEnded() {
    if (!Idle() || !Claim()) return;
    Close(absl::InvalidArgumentError(absl::StrCat("the stream ended with ", status_.committed_bytes, " of ",
                                                  total_bytes_, " bytes; ask QueryWriteStatus and go on from there")));
  }

  absl::Status Identify() {
    if (sha256_.empty()) {
      sha256_ = chunk_.sha256();
      total_bytes_ = chunk_.total_bytes();
    }
    if (!chunk_.sha256().empty() && chunk_.sha256() != sha256_) {
      return absl::InvalidArgumentError(absl::StrCat("sha256: one stream carries one blob; expected ", sha256_,
                                                     " or nothing, got ", chunk_.sha256()));
    }
    if (chunk_.data().size() <= kMaxChunkBytes) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("data: expected at most ", kMaxChunkBytes,
                                                   " bytes (GetCapabilities.max_chunk_bytes), got ",
                                                   chunk_.data().size()));
  }

  void Take() {
    if (absl::Status status = Identify(); !status.ok()) return Close(status);
    auto written = port_.blobs->Write(tenant_, sha256_, total_bytes_, chunk_.offset_bytes(), chunk_.data());
    if (!written.ok()) return Close(written.status());
    status_ = *written;
    if (status_.complete) {
      response_.set_committed_bytes(status_.committed_bytes);
      return Close(absl::OkStatus());
    }
    if (Idle() && Claim()) StartRead(&chunk_);
  }

  WriteBlobResponse& response_;
  std::string tenant_, sha256_;
  uint64_t total_bytes_ = 0;
  store::WriteStatus status_;
  WriteBlobRequest chunk_;
};

class Download : public ManagedStream<grpc::ServerWriteReactor<ReadBlobResponse>> {
 public:
  Download(PortContext& port, grpc::CallbackServerContext& context, const ReadBlobRequest& request)
      : ManagedStream(port, context), sha256_(request.sha256()), offset_(request.offset_bytes()) {}

  void Begin(const Caller& caller) {
    tenant_ = caller.tenant;
    port_.pool.Post(tenant_, [this, self = shared_from_this()] { Send(); });
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Close(absl::CancelledError("the client went away"));
    if (Idle() && Claim()) port_.pool.Post(tenant_, [this, self = shared_from_this()] { Send(); });
  }

 private:
  void Send() {
    absl::StatusOr<std::string> bytes = port_.blobs->Read(tenant_, sha256_, offset_, kMaxChunkBytes);
    if (!bytes.ok()) return Close(bytes.status());
    if (bytes->empty()) return Close(absl::OkStatus());
    offset_ += bytes->size();
    chunk_.set_data(*std::move(bytes));
    StartWrite(&chunk_);
  }

  const std::string sha256_;
  uint64_t offset_;
  std::string tenant_;
  ReadBlobResponse chunk_;
};

}  // namespace

grpc::ServerReadReactor<WriteBlobRequest>* ServeWriteBlob(PortContext& port, grpc::CallbackServerContext& context,
                                                          WriteBlobResponse& response) {
  const auto stream = std::make_shared<Upload>(port, context, response);
  const absl::StatusOr<Caller> caller = CallerOf(port, context);
  if (stream->Open(caller)) stream->Begin(*caller);
  return stream.get();
}

grpc::ServerWriteReactor<ReadBlobResponse>* ServeReadBlob(PortContext& port, grpc::CallbackServerContext& context,
                                                          const ReadBlobRequest& request) {
  const auto stream = std::make_shared<Download>(port, context, request);
  const absl::StatusOr<Caller> caller = CallerOf(port, context);
  if (stream->Open(caller)) stream->Begin(*caller);
  return stream.get();
}

}  // namespace sassay::api
