// The port for operators and the monitor: sassay.v1.Control. Admins only; every change, and every refusal, is in the
// audit log before it is answered. Of a flood of refusals one a second and tenant is written down, with the number of
// those that were not.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_CONTROL_PORT_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_CONTROL_PORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "profiler_service/api/ports/gpu_holds.h"
#include "profiler_service/api/ports/port_context.h"
#include "profiler_service/pipeline/lanes/gpus.h"
#include "profiler_service/queue/bell.h"
#include "profiler_service/telemetry/hub.h"
#include "sassay/v1/control.grpc.pb.h"

namespace sassay::api {

// What Control acts on besides the port's context. Not owned; outlives the port.
struct ControlParts {
  pipeline::Gpus& gpus;
  GpuHolds& holds;
  telemetry::Hub& telemetry;
  IoPool& slow_pool;  // for what waits for a GPU: it must not hold up PauseDispatch
};

// Thread-safe. `port` outlives it. Handlers are in control_gpus.cc (what is done with a GPU), control_records.cc (what
// is written down and read) and control_streams.cc.
class ControlPort : public sassay::v1::Control::CallbackService {
 public:
  ControlPort(PortContext& port, ControlParts parts) : port_(port), parts_(parts) {}

  grpc::ServerUnaryReactor* ListGpus(grpc::CallbackServerContext* context, const sassay::v1::ListGpusRequest* request,
                                     sassay::v1::ListGpusResponse* response) override;
  grpc::ServerUnaryReactor* PauseDispatch(grpc::CallbackServerContext* context,
                                          const sassay::v1::PauseDispatchRequest* request,
                                          sassay::v1::PauseDispatchResponse* response) override;
  grpc::ServerUnaryReactor* ResumeDispatch(grpc::CallbackServerContext* context,
                                           const sassay::v1::ResumeDispatchRequest* request,
                                           sassay::v1::ResumeDispatchResponse* response) override;
  grpc::ServerUnaryReactor* RestartWorkers(grpc::CallbackServerContext* context,
                                           const sassay::v1::RestartWorkersRequest* request,
                                           sassay::v1::RestartWorkersResponse* response) override;
  grpc::ServerUnaryReactor* QuarantineGpu(grpc::CallbackServerContext* context,
                                          const sassay::v1::QuarantineGpuRequest* request,
                                          sassay::v1::QuarantineGpuResponse* response) override;
  // Forced, or where no monitor watches: ends everybody's holds of the GPU and the windows that still exclude there.
  grpc::ServerUnaryReactor* ReleaseGpu(grpc::CallbackServerContext* context,
                                       const sassay::v1::ReleaseGpuRequest* request,
                                       sassay::v1::ReleaseGpuResponse* response) override;
  grpc::ServerUnaryReactor* RunCanary(grpc::CallbackServerContext* context, const sassay::v1::RunCanaryRequest* request,
                                      sassay::v1::RunCanaryResponse* response) override;

  grpc::ServerUnaryReactor* ExcludeTurns(grpc::CallbackServerContext* context,
                                         const sassay::v1::ExcludeTurnsRequest* request,
                                         sassay::v1::ExcludeTurnsResponse* response) override;
  grpc::ServerUnaryReactor* ReportHealth(grpc::CallbackServerContext* context,
                                         const sassay::v1::ReportHealthRequest* request,
                                         sassay::v1::ReportHealthResponse* response) override;
  grpc::ServerUnaryReactor* RecordIncident(grpc::CallbackServerContext* context,
                                           const sassay::v1::RecordIncidentRequest* request,
                                           sassay::v1::RecordIncidentResponse* response) override;
  grpc::ServerUnaryReactor* GetUsage(grpc::CallbackServerContext* context, const sassay::v1::GetUsageRequest* request,
                                     sassay::v1::GetUsageResponse* response) override;
  grpc::ServerUnaryReactor* SetTenant(grpc::CallbackServerContext* context, const sassay::v1::SetTenantRequest* request,
                                      sassay::v1::SetTenantResponse* response) override;
  grpc::ServerUnaryReactor* ListAudit(grpc::CallbackServerContext* context, const sassay::v1::ListAuditRequest* request,
                                      sassay::v1::ListAuditResponse* response) override;

  grpc::ServerWriteReactor<sassay::v1::Incident>* StreamIncidents(
      grpc::CallbackServerContext* context, const sassay::v1::StreamIncidentsRequest* request) override;
  grpc::ServerWriteReactor<sassay::v1::Telemetry>* StreamTelemetry(
      grpc::CallbackServerContext* context, const sassay::v1::StreamTelemetryRequest* request) override;

 private:
  // Reads that succeed are not worth a record.
  enum class Effect { kReads, kChanges };
  struct Action {
    const char* name;  // "Control.PauseDispatch"
    std::string target;
    std::string detail;
    Effect effect;
    std::function<absl::Status(const Caller&)> act;
  };

  // Checks the caller, acts, writes the audit record, answers; on a pool, off gRPC's threads.
  grpc::ServerUnaryReactor* Act(grpc::CallbackServerContext& context, Action action);
  grpc::ServerUnaryReactor* ActOn(IoPool& pool, grpc::CallbackServerContext& context, Action action);
  // The same for a stream: opens it, checks the caller, and calls `begin` or refuses.
  template <typename Stream>
  auto OpenFor(grpc::CallbackServerContext& context, const char* name, std::function<void(Stream&)> begin);
  absl::Status Audited(const absl::StatusOr<Caller>& caller, const Action& action) ABSL_LOCKS_EXCLUDED(mutex_);
  // What to add to a refusal's record; nothing if it is not written down, because there were too many.
  absl::optional<std::string> NoteOfRefusal(const std::string& tenant) ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes down which operators' quarantines have ended since the GPUs were as in `before`. Tells how many.
  absl::StatusOr<size_t> NoteEndedQuarantines(const std::vector<sassay::v1::Gpu>& before, const std::string& actor,
                                              const std::string& reason);
  // A GPU that must be named.
  absl::Status CheckOneGpu(const std::string& uuid) const;

  PortContext& port_;
  const ControlParts parts_;
  absl::Mutex mutex_;
  // Refusals since the last one that was written down.
  std::unordered_map<std::string, uint64_t> suppressed_ ABSL_GUARDED_BY(mutex_);
};

// What callers wrote is kept for ever: valid UTF-8 of at most 1,000 bytes.
std::string ShortText(const std::string& text);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_CONTROL_PORT_H_
