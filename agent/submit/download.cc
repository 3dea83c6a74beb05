#include "agent/submit/download.h"

#include "absl/strings/str_cat.h"
#include "agent/submit/rpc_error.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

// Appends what one stream brings. Ends early at `limit`.
grpc::Status ReadStream(Connection& connection, const v1::Artifact& artifact, Stopper& stopper, uint64_t limit,
                        std::string& bytes) {
  v1::ReadBlobRequest request;
  request.set_sha256(artifact.sha256());
  request.set_offset_bytes(bytes.size());
  const auto context = connection.NewContext(absl::InfiniteDuration());
  const Stopper::Scope scope(stopper, *context);
  const auto reader = connection.stub().ReadBlob(context.get(), request);
  for (v1::ReadBlobResponse chunk; reader->Read(&chunk);) {
    bytes += chunk.data();
    if (bytes.size() > limit) context->TryCancel();
  }
  return reader->Finish();
}

absl::Status TooLarge(const v1::Artifact& artifact) {
  return absl::ResourceExhaustedError(absl::StrCat(artifact.name(), " is larger than ", kMaxArtifactBytes, " bytes."));
}

}  // namespace

absl::StatusOr<std::string> Download(Connection& connection, const v1::Artifact& artifact, const RetryPolicy& policy,
                                     Stopper& stopper) {
  if (artifact.size_bytes() > kMaxArtifactBytes) return TooLarge(artifact);
  Backoff backoff(policy, stopper);
  std::string bytes;
  for (;;) {
    const size_t before = bytes.size();
    const grpc::Status status = ReadStream(connection, artifact, stopper, kMaxArtifactBytes, bytes);
    if (bytes.size() > kMaxArtifactBytes) return TooLarge(artifact);
    if (status.ok()) break;
    if (bytes.size() > before) backoff.Reset();
    if (!WorthRetrying(status) || !backoff.Wait()) {
      return FromGrpc(status, absl::StrCat("fetch ", artifact.name()), connection.service());
    }
  }
  if (Sha256Hex(bytes) == artifact.sha256()) return bytes;
  return absl::DataLossError(absl::StrCat("the bytes of ", artifact.name(), " do not have the digest ",
                                          artifact.sha256(), " that the verdict gives."));
}

}  // namespace sassay::agent
