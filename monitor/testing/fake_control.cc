#include "monitor/testing/fake_control.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_json.h"

namespace sassay::monitor {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(10);

}  // namespace

FakeControl::FakeControl() {
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  address_ = absl::StrCat("127.0.0.1:", port);
}

FakeControl::~FakeControl() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  server_->Shutdown();
}

SecureChannel FakeControl::Channel() const {
  ConnectionOptions options;
  options.service = address_;
  return *SecureChannel::Open(options);
}

std::vector<std::string> FakeControl::calls() const {
  absl::MutexLock lock(&mutex_);
  return calls_;
}

bool FakeControl::AwaitCalls(size_t count) {
  absl::MutexLock lock(&mutex_);
  const auto enough = [this, count]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return calls_.size() >= count; };
  return mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Minutes(1));
}

void FakeControl::Tell(v1::Telemetry message) {
  absl::MutexLock lock(&mutex_);
  telemetry_.push_back(std::move(message));
}

void FakeControl::BreakStreams() {
  absl::MutexLock lock(&mutex_);
  ++breaks_;
}

void FakeControl::ReplaceGpus(v1::ListGpusResponse now) {
  absl::MutexLock lock(&mutex_);
  gpus = std::move(now);
}

std::vector<v1::ReportHealthRequest> FakeControl::reports() const {
  absl::MutexLock lock(&mutex_);
  return reports_;
}

grpc::Status FakeControl::Note(std::string call) {
  absl::MutexLock lock(&mutex_);
  if (refusal.ok()) calls_.push_back(std::move(call));
  return refusal;
}

grpc::Status FakeControl::ListGpus(Context*, const v1::ListGpusRequest*, v1::ListGpusResponse* response) {
  absl::MutexLock lock(&mutex_);
  *response = gpus;
  return refusal;
}

grpc::Status FakeControl::PauseDispatch(Context*, const v1::PauseDispatchRequest* request, v1::PauseDispatchResponse*) {
  return Note(absl::StrCat("PauseDispatch ", request->uuid(), " ", request->holder(), " ", EnumName(request->state()),
                           " ", request->reason()));
}

grpc::Status FakeControl::ResumeDispatch(Context*, const v1::ResumeDispatchRequest* request,
                                         v1::ResumeDispatchResponse*) {
  return Note(absl::StrCat("ResumeDispatch ", request->uuid(), " ", request->holder()));
}

grpc::Status FakeControl::RestartWorkers(Context*, const v1::RestartWorkersRequest* request,
                                         v1::RestartWorkersResponse*) {
  return Note(absl::StrCat("RestartWorkers ", request->uuid()));
}

grpc::Status FakeControl::QuarantineGpu(Context*, const v1::QuarantineGpuRequest* request, v1::QuarantineGpuResponse*) {
  return Note(absl::StrCat("QuarantineGpu ", request->uuid(), " ", request->holder(), " ", request->reason()));
}

grpc::Status FakeControl::ReleaseGpu(Context*, const v1::ReleaseGpuRequest* request, v1::ReleaseGpuResponse* response) {
  response->set_released(released);
  return Note(absl::StrCat("ReleaseGpu ", request->uuid(), request->force() ? " force" : ""));
}

grpc::Status FakeControl::ExcludeTurns(Context*, const v1::ExcludeTurnsRequest* request, v1::ExcludeTurnsResponse*) {
  return Note(absl::StrCat("ExcludeTurns ", request->uuid(), " ", request->incident_id(), " ",
                           request->has_to() ? "closed" : "open"));
}

grpc::Status FakeControl::StreamIncidents(Context* context, const v1::StreamIncidentsRequest* request,
                                          grpc::ServerWriter<v1::Incident>* writer) {
  for (const v1::Incident& incident : incidents) writer->Write(incident);
  if (request->only_kept()) return grpc::Status::OK;
  absl::MutexLock lock(&mutex_);
  while (!stopping_ && !context->IsCancelled()) mutex_.AwaitWithTimeout(absl::Condition(&stopping_), kTick);
  return grpc::Status::OK;
}

grpc::Status FakeControl::RecordIncident(Context*, const v1::RecordIncidentRequest* request,
                                         v1::RecordIncidentResponse*) {
  return Note(absl::StrCat("RecordIncident ", request->incident().id(), " ", request->incident().revision()));
}

grpc::Status FakeControl::StreamTelemetry(Context* context, const v1::StreamTelemetryRequest*,
                                          grpc::ServerWriter<v1::Telemetry>* writer) {
  if (!refusal.ok()) return refusal;
  absl::MutexLock lock(&mutex_);
  const uint64_t breaks = breaks_;
  uint64_t sequence = 0;
  const auto news = [this, breaks]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return stopping_ || breaks_ != breaks || !telemetry_.empty();
  };
  while (!stopping_ && breaks_ == breaks && !context->IsCancelled()) {
    if (!mutex_.AwaitWithTimeout(absl::Condition(&news), kTick) || telemetry_.empty()) continue;
    v1::Telemetry message = std::move(telemetry_.front());
    telemetry_.pop_front();
    sequence = message.sequence() != 0 ? message.sequence() : sequence + 1;
    message.set_sequence(sequence);
    writer->Write(message);
  }
  return grpc::Status::OK;
}

grpc::Status FakeControl::ReportHealth(Context*, const v1::ReportHealthRequest* request, v1::ReportHealthResponse*) {
  absl::MutexLock lock(&mutex_);
  reports_.push_back(*request);
  return refusal;
}

grpc::Status FakeControl::RunCanary(Context*, const v1::RunCanaryRequest* request, v1::RunCanaryResponse* response) {
  *response = canary;
  const grpc::Status noted = Note(absl::StrCat("RunCanary ", request->uuid()));
  return noted.ok() ? canary_status : noted;
}

grpc::Status FakeControl::GetUsage(Context*, const v1::GetUsageRequest*, v1::GetUsageResponse* response) {
  *response = usage;
  return refusal;
}

grpc::Status FakeControl::SetTenant(Context*, const v1::SetTenantRequest* request, v1::SetTenantResponse*) {
  tenant_set = *request;
  return refusal;
}

grpc::Status FakeControl::ListAudit(Context*, const v1::ListAuditRequest*, v1::ListAuditResponse* response) {
  *response = audit;
  return refusal;
}

}  // namespace sassay::monitor
