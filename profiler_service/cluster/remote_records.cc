// RemoteStore: holds, incidents, the audit log, files of leases, and what a node has no use for.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "profiler_service/cluster/convert.h"
#include "profiler_service/cluster/remote_store.h"

namespace sassay::cluster {
namespace {

using sassay::v1::Event;
using Stub = FrontEnds::Stub;

constexpr size_t kChunkBytes = size_t{1} << 20;
// Bundles and artifacts are bounded by the front end's --max-blob-bytes; this is what a node believes of a front end.
constexpr size_t kMostBundleBytes = size_t{1} << 30;
constexpr int kIncidentsAtOnce = 100;

absl::Status NotHere(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat(what, ": this is a node; ask one of its front ends"));
}

}  // namespace

// ---- records ----

absl::Status RemoteStore::PlaceHold(const store::Hold& hold) {
  const sassay::v1::HoldOfGpu converted = ToProto(hold);
  sassay::v1::PlaceHoldRequest request;
  request.set_gpu(converted.gpu());
  *request.mutable_hold() = converted.hold();
  sassay::v1::PlaceHoldResponse response;
  return Ask(&Stub::PlaceHold, request, response);
}

absl::Status RemoteStore::LiftHold(absl::string_view gpu, absl::string_view holder) {
  sassay::v1::LiftHoldRequest request;
  request.set_gpu(std::string(gpu));
  request.set_holder(std::string(holder));
  sassay::v1::LiftHoldResponse response;
  return Ask(&Stub::LiftHold, request, response);
}

absl::StatusOr<std::vector<store::Hold>> RemoteStore::Holds() {
  sassay::v1::ListHoldsResponse response;
  RETURN_IF_ERROR(Ask(&Stub::ListHolds, {}, response));
  std::vector<store::Hold> holds;
  for (const sassay::v1::HoldOfGpu& hold : response.holds()) holds.push_back(FromProto(hold));
  return holds;
}

absl::Status RemoteStore::RecordIncident(const sassay::v1::Incident& incident) {
  sassay::v1::KeepIncidentRequest request;
  *request.mutable_incident() = incident;
  sassay::v1::KeepIncidentResponse response;
  return Ask(&Stub::KeepIncident, request, response);
}

absl::StatusOr<std::vector<store::IncidentRecord>> RemoteStore::IncidentsSince(absl::Time from, uint64_t after,
                                                                               int limit) {
  sassay::v1::ListIncidentsRequest request;
  SetTimestamp(from, *request.mutable_from());
  request.set_after_place(after);
  request.set_limit(static_cast<uint32_t>(std::clamp(limit, 0, kIncidentsAtOnce)));
  sassay::v1::ListIncidentsResponse response;
  RETURN_IF_ERROR(Ask(&Stub::ListIncidents, request, response));
  std::vector<store::IncidentRecord> records;
  for (const sassay::v1::KeptIncident& kept : response.incidents()) records.push_back({kept.place(), kept.incident()});
  return records;
}

absl::StatusOr<uint64_t> RemoteStore::LastIncident() {
  sassay::v1::ListIncidentsResponse response;
  RETURN_IF_ERROR(Ask(&Stub::ListIncidents, {}, response));
  return response.last_place();
}

absl::Status RemoteStore::Audit(const store::AuditRecord& record) {
  sassay::v1::KeepAuditRequest request;
  SetTimestamp(record.at, *request.mutable_at());
  request.set_actor(record.actor);
  request.set_action(record.action);
  request.set_target(record.target);
  request.set_outcome(record.outcome);
  request.set_detail(record.detail);
  sassay::v1::KeepAuditResponse response;
  return Ask(&Stub::KeepAudit, request, response);
}

absl::StatusOr<store::Depths> RemoteStore::CountDepths() {
  sassay::v1::GetDepthsResponse response;
  RETURN_IF_ERROR(Ask(&Stub::GetDepths, {}, response));
  return store::Depths{response.queued(), response.leased()};
}

// ---- files ----

absl::StatusOr<std::string> RemoteStore::ReadBundle(const store::Lease& lease) {
  sassay::v1::ReadBundleRequest request;
  *request.mutable_node() = front_ends_.node();
  *request.mutable_lease() = LeaseIdOf(lease);
  std::string bundle;
  const auto read = [&](Stub& stub, grpc::ClientContext& context, bool) {
    bundle.clear();
    const auto stream = stub.ReadBundle(&context, request);
    sassay::v1::ReadBundleResponse chunk;
    while (bundle.size() < kMostBundleBytes && stream->Read(&chunk)) bundle += chunk.data();
    if (bundle.size() >= kMostBundleBytes) context.TryCancel();
    return stream->Finish();
  };
  RETURN_IF_ERROR(front_ends_.Repeat(SteadyNow() + options_.patience, read));
  if (Sha256Hex(bundle) == lease.submission.request.bundle_sha256()) return bundle;
  return absl::DataLossError(absl::StrCat("the bundle of ", lease.submission.id, " has another SHA-256 (",
                                          bundle.size(),
                                          " bytes came): it was damaged on its way or at the front end"));
}

absl::StatusOr<std::string> RemoteStore::KeepArtifact(const store::Lease& lease, absl::string_view bytes) {
  const std::string sha256 = Sha256Hex(bytes);
  const auto write = [&](Stub& stub, grpc::ClientContext& context, bool) {
    sassay::v1::KeepArtifactResponse response;
    const auto stream = stub.KeepArtifact(&context, &response);
    sassay::v1::KeepArtifactRequest chunk;
    *chunk.mutable_node() = front_ends_.node();
    *chunk.mutable_lease() = LeaseIdOf(lease);
    chunk.set_sha256(sha256);
    chunk.set_total_bytes(bytes.size());
    size_t offset = 0;
    do {
      const absl::string_view part = bytes.substr(offset, kChunkBytes);
      chunk.set_offset_bytes(offset);
      chunk.set_data(std::string(part));
      if (!stream->Write(chunk)) break;
      offset += part.size();
      chunk.Clear();
    } while (offset < bytes.size());
    stream->WritesDone();
    return stream->Finish();
  };
  RETURN_IF_ERROR(front_ends_.Repeat(SteadyNow() + options_.patience, write));
  return sha256;
}

// ---- what a front end looks after ----

absl::StatusOr<std::vector<store::Submission>> RemoteStore::PastQueueDeadline(absl::Time, int) {
  return std::vector<store::Submission>();
}
absl::StatusOr<absl::Time> RemoteStore::NextQueueDeadline() { return absl::InfiniteFuture(); }
absl::StatusOr<std::vector<store::Lease>> RemoteStore::LeasesExpiredBy(absl::Time) {
  return std::vector<store::Lease>();
}
absl::StatusOr<int> RemoteStore::Trim(absl::Time, int) { return 0; }

// ---- what a node has no use for ----

void RemoteStore::Submit(store::NewSubmission, store::Callback<store::Submitted> done) { done(NotHere("Submit")); }
absl::StatusOr<absl::optional<std::string>> RemoteStore::FindEarlier(absl::string_view,
                                                                     const sassay::v1::ProfileRequest&) {
  return NotHere("FindEarlier");
}
void RemoteStore::Cancel(absl::string_view, absl::string_view, sassay::v1::Verdict,
                         store::Callback<store::Cancellation> done) {
  done(NotHere("Cancel"));
}
void RemoteStore::FinishQueued(absl::string_view, sassay::v1::Verdict, store::Callback<Event> done) {
  done(NotHere("FinishQueued"));
}
absl::StatusOr<store::Submission> RemoteStore::Leased(const store::Lease&) { return NotHere("Leased"); }

absl::StatusOr<std::vector<store::Lease>> RemoteStore::LeasesOf(absl::string_view) { return NotHere("LeasesOf"); }

absl::StatusOr<store::Submission> RemoteStore::Get(absl::string_view, absl::string_view) { return NotHere("Get"); }
absl::StatusOr<std::vector<store::ProgressOf>> RemoteStore::Progress(const std::vector<std::string>&) {
  return NotHere("Progress");
}
absl::StatusOr<std::vector<store::ExcludedEvent>> RemoteStore::ExcludedSince(absl::string_view, absl::Time, uint64_t,
                                                                             int) {
  return NotHere("ExcludedSince");
}
absl::StatusOr<uint64_t> RemoteStore::LastExcluded() { return NotHere("LastExcluded"); }
absl::StatusOr<std::vector<store::Attempt>> RemoteStore::AttemptsOn(absl::string_view, absl::Time, absl::Time) {
  return NotHere("AttemptsOn");
}
absl::StatusOr<std::vector<store::Attempt>> RemoteStore::AttemptsOf(absl::string_view) { return NotHere("AttemptsOf"); }
absl::StatusOr<std::vector<sassay::v1::TenantUsage>> RemoteStore::Usage(absl::string_view, absl::Time) {
  return NotHere("Usage");
}
absl::Status RemoteStore::SetWeight(absl::string_view, uint32_t) { return NotHere("SetWeight"); }
absl::Status RemoteStore::PutNode(const store::NodeRecord&) { return NotHere("PutNode"); }
absl::Status RemoteStore::DropNode(absl::string_view, absl::string_view) { return NotHere("DropNode"); }
absl::StatusOr<std::vector<store::NodeRecord>> RemoteStore::Nodes() { return NotHere("Nodes"); }
absl::StatusOr<std::vector<store::AuditRecord>> RemoteStore::AuditLog(uint64_t, int) { return NotHere("AuditLog"); }

}  // namespace sassay::cluster
