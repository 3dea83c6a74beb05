#include "agent/submit/fake_profiler.h"

#include <grpcpp/server_builder.h>

#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"

namespace sassay::agent {
namespace {

v1::Event Finished(v1::Stage stage) {
  v1::Event event;
  event.mutable_stage_finished()->mutable_report()->set_stage(stage);
  event.mutable_stage_finished()->mutable_report()->set_outcome(v1::StageReport::PASSED);
  return event;
}

}  // namespace

std::vector<v1::Event> UsualScript(v1::VerdictStatus status) {
  std::vector<v1::Event> script(4);
  script[0].mutable_accepted()->set_queue_position(0);
  script[1] = Finished(v1::STAGE_ADMISSION);
  script[2] = Finished(v1::STAGE_EVALUATE);
  script[3].mutable_verdict()->set_status(status);
  return script;
}

FakeProfiler::FakeProfiler(std::shared_ptr<grpc::ServerCredentials> credentials)
    : script(UsualScript(v1::VERDICT_STATUS_CORRECT)) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", std::move(credentials), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

FakeProfiler::~FakeProfiler() { server_->Shutdown(std::chrono::system_clock::now()); }

std::string FakeProfiler::address() const { return absl::StrCat("127.0.0.1:", port_); }

ConnectionOptions FakeProfiler::Options() const {
  ConnectionOptions options;
  options.service = address();
  return options;
}

grpc::Status FakeProfiler::Authenticate(grpc::ServerContext* context) const {
  if (token.empty()) return grpc::Status::OK;
  const auto found = context->client_metadata().find("authorization");
  const bool right =
      found != context->client_metadata().end() && found->second == grpc::string_ref(absl::StrCat("Bearer ", token));
  return right ? grpc::Status::OK : grpc::Status(grpc::UNAUTHENTICATED, "unknown token");
}

grpc::Status FakeProfiler::GetCapabilities(grpc::ServerContext* context, const v1::GetCapabilitiesRequest*,
                                           v1::GetCapabilitiesResponse* response) {
  if (const grpc::Status status = Authenticate(context); !status.ok()) return status;
  response->set_sassay_version("fake");
  response->set_rules_version("fake");
  response->set_protocol(protocol);
  v1::DeviceCapability& device = *response->add_devices();
  device.set_kind("emulated");
  device.set_model("emulated sm_90a");
  device.add_archs("sm_90a");
  return grpc::Status::OK;
}

grpc::Status FakeProfiler::FindMissingBlobs(grpc::ServerContext* context, const v1::FindMissingBlobsRequest* request,
                                            v1::FindMissingBlobsResponse* response) {
  if (const grpc::Status status = Authenticate(context); !status.ok()) return status;
  absl::MutexLock lock(&mutex_);
  for (const std::string& sha256 : request->sha256()) {
    if (blobs.count(sha256) == 0) response->add_missing_sha256(sha256);
  }
  return grpc::Status::OK;
}

grpc::Status FakeProfiler::WriteBlob(grpc::ServerContext* context, grpc::ServerReader<v1::WriteBlobRequest>* reader,
                                     v1::WriteBlobResponse* response) {
  v1::WriteBlobRequest request;
  std::string sha256;
  for (bool first = true; reader->Read(&request); first = false) {
    absl::MutexLock lock(&mutex_);
    if (first) sha256 = request.sha256();
    if (first) write_offsets.push_back(request.offset_bytes());
    std::string& partial = partial_[sha256];
    if (request.offset_bytes() != partial.size()) return {grpc::INVALID_ARGUMENT, "offset_bytes leaves a gap"};
    partial += request.data();
    if (stall_write_after_bytes > 0 && partial.size() >= stall_write_after_bytes) {
      stall_write_after_bytes = 0;
      const auto never = [] { return false; };
      while (!context->IsCancelled()) mutex_.AwaitWithTimeout(absl::Condition(&never), absl::Milliseconds(5));
      return grpc::Status::CANCELLED;
    }
    if (break_write_after_bytes > 0 && partial.size() >= break_write_after_bytes) {
      break_write_after_bytes = 0;
      return {grpc::UNAVAILABLE, "broken on purpose"};
    }
  }
  absl::MutexLock lock(&mutex_);
  if (Sha256Hex(partial_[sha256]) != sha256) return {grpc::INVALID_ARGUMENT, "the bytes do not hash to the digest"};
  blobs[sha256] = partial_[sha256];
  response->set_committed_bytes(blobs[sha256].size());
  return grpc::Status::OK;
}

grpc::Status FakeProfiler::QueryWriteStatus(grpc::ServerContext*, const v1::QueryWriteStatusRequest* request,
                                            v1::QueryWriteStatusResponse* response) {
  absl::MutexLock lock(&mutex_);
  const auto found = partial_.find(request->sha256());
  if (found == partial_.end()) return {grpc::NOT_FOUND, "nothing has arrived"};
  response->set_committed_bytes(found->second.size());
  response->set_complete(blobs.count(request->sha256()) > 0);
  return grpc::Status::OK;
}

bool FakeProfiler::BreaksBefore(size_t index) {
  absl::MutexLock lock(&mutex_);
  if (break_before_event.empty() || break_before_event.front() != index) return false;
  break_before_event.erase(break_before_event.begin());
  return true;
}

grpc::Status FakeProfiler::Stream(grpc::ServerContext* context, const std::string& id, size_t from,
                                  grpc::ServerWriter<v1::Event>* writer) {
  for (size_t i = from; i < script.size(); ++i) {
    if (BreaksBefore(i)) return {grpc::UNAVAILABLE, "broken on purpose"};
    v1::Event event = script[i];
    event.set_submission_id(id);
    event.set_sequence(i < sequences.size() ? sequences[i] : i + 1);
    const bool ends = event.has_verdict() || event.has_timing_settled() || event.has_excluded();
    event.set_last(ends && i + 1 == script.size());
    if (event.has_verdict() && hold_until_cancelled) {
      absl::MutexLock lock(&mutex_);
      const auto released = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return cancelled_; };
      while (!mutex_.AwaitWithTimeout(absl::Condition(&released), absl::Milliseconds(20))) {
        if (context->IsCancelled()) return grpc::Status::CANCELLED;
      }
      event.mutable_verdict()->set_status(v1::VERDICT_STATUS_CANCELLED);
    }
    if (!writer->Write(event)) return grpc::Status::CANCELLED;
  }
  return grpc::Status::OK;
}

grpc::Status FakeProfiler::ReadBlob(grpc::ServerContext* context, const v1::ReadBlobRequest* request,
                                    grpc::ServerWriter<v1::ReadBlobResponse>* writer) {
  if (grpc::Status status = Authenticate(context); !status.ok()) return status;
  absl::MutexLock lock(&mutex_);
  read_offsets.push_back(request->offset_bytes());
  const auto found = blobs.find(request->sha256());
  if (found == blobs.end()) return {grpc::NOT_FOUND, "no such blob"};
  constexpr size_t kChunk = 1000;
  uint64_t sent = 0;
  for (size_t at = request->offset_bytes(); at < found->second.size(); at += kChunk) {
    if (break_read_after_bytes > 0 && sent >= break_read_after_bytes) {
      break_read_after_bytes = 0;
      return {grpc::UNAVAILABLE, "broken on purpose"};
    }
    v1::ReadBlobResponse chunk;
    chunk.set_data(found->second.substr(at, kChunk));
    sent += chunk.data().size();
    writer->Write(chunk);
  }
  return grpc::Status::OK;
}

grpc::Status FakeProfiler::Profile(grpc::ServerContext* context, const v1::ProfileRequest* request,
                                   grpc::ServerWriter<v1::Event>* writer) {
  if (const grpc::Status status = Authenticate(context); !status.ok()) return status;
  std::string id;
  {
    absl::MutexLock lock(&mutex_);
    profile_request_ids.push_back(request->request_id());
    last_request = *request;
    if (request->workload() == "unknown") return {grpc::NOT_FOUND, "no workload \"unknown\""};
    std::string& known = id_of_request_[request->request_id()];
    if (known.empty()) known = absl::StrCat("sub-", ++submissions);
    id = known;
  }
  if (before_first_event) before_first_event();
  return Stream(context, id, 0, writer);
}

grpc::Status FakeProfiler::Attach(grpc::ServerContext* context, const v1::AttachRequest* request,
                                  grpc::ServerWriter<v1::Event>* writer) {
  {
    absl::MutexLock lock(&mutex_);
    attach_after.push_back(request->after_sequence());
  }
  if (request->submission_id() == "nobody") return {grpc::NOT_FOUND, "no such submission"};
  return Stream(context, request->submission_id(), request->after_sequence(), writer);
}

grpc::Status FakeProfiler::Cancel(grpc::ServerContext*, const v1::CancelRequest* request,
                                  v1::CancelResponse* response) {
  if (request->submission_id() == "nobody") return {grpc::NOT_FOUND, "no such submission"};
  absl::MutexLock lock(&mutex_);
  response->set_cancelling(!cancelled_);
  cancelled_ = true;
  return grpc::Status::OK;
}

grpc::Status FakeProfiler::ListWorkloads(grpc::ServerContext*, const v1::ListWorkloadsRequest*,
                                         v1::ListWorkloadsResponse* response) {
  response->add_workloads()->set_name("fake_gemm/M=16");
  return grpc::Status::OK;
}

grpc::Status FakeProfiler::GetWorkload(grpc::ServerContext*, const v1::GetWorkloadRequest* request,
                                       v1::GetWorkloadResponse* response) {
  if (request->name() != "fake_gemm/M=16") return {grpc::NOT_FOUND, absl::StrCat("no workload ", request->name())};
  response->mutable_workload()->set_name(request->name());
  return grpc::Status::OK;
}

}  // namespace sassay::agent
