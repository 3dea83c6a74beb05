// A Control port that answers what a test puts into it and writes down what it was asked; for tests only.
#ifndef SASSAY_MONITOR_TESTING_FAKE_CONTROL_H_
#define SASSAY_MONITOR_TESTING_FAKE_CONTROL_H_

#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/rpc/secure_channel.h"
#include "sassay/v1/control.grpc.pb.h"

namespace sassay::monitor {

// On a free port of this machine while it lives. Public members are set while no call runs.
class FakeControl : public v1::Control::Service {
 public:
  FakeControl();
  ~FakeControl() override;

  const std::string& address() const { return address_; }
  SecureChannel Channel() const;
  // "PauseDispatch GPU holder STATE reason", "ReleaseGpu GPU [force]", …, in the order in which they came.
  std::vector<std::string> calls() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until `count` calls came, or a minute has passed.
  bool AwaitCalls(size_t count) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sends one message to whoever reads telemetry, now or later.
  void Tell(v1::Telemetry message) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the telemetry streams that are open.
  void BreakStreams() ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<v1::ReportHealthRequest> reports() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Also while calls run.
  void ReplaceGpus(v1::ListGpusResponse now) ABSL_LOCKS_EXCLUDED(mutex_);

  v1::ListGpusResponse gpus;
  v1::GetUsageResponse usage;
  v1::SetTenantRequest tenant_set;  // the last one
  v1::ListAuditResponse audit;
  std::vector<v1::Incident> incidents;
  v1::RunCanaryResponse canary;
  grpc::Status canary_status;
  grpc::Status refusal;  // of every call, if it is an error
  bool released = true;

 private:
  using Context = grpc::ServerContext;
  grpc::Status Note(std::string call) ABSL_LOCKS_EXCLUDED(mutex_);
  grpc::Status ListGpus(Context*, const v1::ListGpusRequest*, v1::ListGpusResponse* response) override;
  grpc::Status PauseDispatch(Context*, const v1::PauseDispatchRequest* request, v1::PauseDispatchResponse*) override;
  grpc::Status ResumeDispatch(Context*, const v1::ResumeDispatchRequest* request, v1::ResumeDispatchResponse*) override;
  grpc::Status RestartWorkers(Context*, const v1::RestartWorkersRequest* request, v1::RestartWorkersResponse*) override;
  grpc::Status QuarantineGpu(Context*, const v1::QuarantineGpuRequest* request, v1::QuarantineGpuResponse*) override;
  grpc::Status ReleaseGpu(Context*, const v1::ReleaseGpuRequest* request, v1::ReleaseGpuResponse* response) override;
  grpc::Status ExcludeTurns(Context*, const v1::ExcludeTurnsRequest* request, v1::ExcludeTurnsResponse*) override;
  grpc::Status StreamIncidents(Context* context, const v1::StreamIncidentsRequest* request,
                               grpc::ServerWriter<v1::Incident>* writer) override;
  grpc::Status RecordIncident(Context*, const v1::RecordIncidentRequest* request, v1::RecordIncidentResponse*) override;
  grpc::Status StreamTelemetry(Context* context, const v1::StreamTelemetryRequest*,
                               grpc::ServerWriter<v1::Telemetry>* writer) override;
  grpc::Status ReportHealth(Context*, const v1::ReportHealthRequest* request, v1::ReportHealthResponse*) override;
  grpc::Status RunCanary(Context*, const v1::RunCanaryRequest* request, v1::RunCanaryResponse* response) override;
  grpc::Status GetUsage(Context*, const v1::GetUsageRequest*, v1::GetUsageResponse* response) override;
  grpc::Status SetTenant(Context*, const v1::SetTenantRequest* request, v1::SetTenantResponse*) override;
  grpc::Status ListAudit(Context*, const v1::ListAuditRequest*, v1::ListAuditResponse* response) override;

  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t breaks_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::Telemetry> telemetry_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::ReportHealthRequest> reports_ ABSL_GUARDED_BY(mutex_);
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_TESTING_FAKE_CONTROL_H_
