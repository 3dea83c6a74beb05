// The port for operators and the monitor: sassay.v1.Control. Admins only; every change, and every refusal, is in the
// audit log before it is answered.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_CONTROL_PORT_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_CONTROL_PORT_H_

#include <functional>
#include <string>

#include "profiler_service/api/ports/port_context.h"
#include "sassay/v1/control.grpc.pb.h"

namespace sassay::api {

// Thread-safe. `port` outlives it. Acting on single GPUs, exclusions and incidents belong to the reliability monitor
// and answer UNIMPLEMENTED in this version, after the check of the role.
class ControlPort : public sassay::v1::Control::CallbackService {
 public:
  explicit ControlPort(PortContext& port) : port_(port) {}

  grpc::ServerUnaryReactor* ListGpus(grpc::CallbackServerContext* context, const sassay::v1::ListGpusRequest* request,
                                     sassay::v1::ListGpusResponse* response) override;
  // With an empty uuid, or the uuid of the only GPU: no submission is started until ResumeDispatch or a restart.
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
  grpc::ServerUnaryReactor* ReleaseGpu(grpc::CallbackServerContext* context,
                                       const sassay::v1::ReleaseGpuRequest* request,
                                       sassay::v1::ReleaseGpuResponse* response) override;
  grpc::ServerUnaryReactor* ExcludeTurns(grpc::CallbackServerContext* context,
                                         const sassay::v1::ExcludeTurnsRequest* request,
                                         sassay::v1::ExcludeTurnsResponse* response) override;
  grpc::ServerWriteReactor<sassay::v1::Incident>* StreamIncidents(
      grpc::CallbackServerContext* context, const sassay::v1::StreamIncidentsRequest* request) override;

 private:
  // Checks the caller, runs `act`, writes the audit record, answers; off gRPC's threads.
  grpc::ServerUnaryReactor* Act(grpc::CallbackServerContext& context, const char* action, const std::string& target,
                                const std::string& detail, std::function<absl::Status()> act);
  absl::Status Audited(const absl::StatusOr<Caller>& caller, const char* action, const std::string& target,
                       const std::string& detail, const std::function<absl::Status()>& act);
  absl::Status CheckGpu(const std::string& uuid) const;

  PortContext& port_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_CONTROL_PORT_H_
