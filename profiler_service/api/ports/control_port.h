// The port for operators and the monitor: sassay.v1.Control. Admins only; every change, and every refusal, is in the
// audit log before it is answered. Of a flood of refusals one a second and tenant is written down, with the number of
// those that were not.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_CONTROL_PORT_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_CONTROL_PORT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
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
  // With an empty uuid, or the uuid of the only GPU: no submission is started until ResumeDispatch, restarts or not.
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
  // Reads that succeed are not worth a record.
  enum class Effect { kReads, kChanges };
  struct Action {
    const char* name;  // "Control.PauseDispatch"
    std::string target;
    std::string detail;
    Effect effect;
    std::function<absl::Status(const Caller&)> act;
  };

  // Checks the caller, acts, writes the audit record, answers; off gRPC's threads.
  template <typename Reactor>
  Reactor* Act(Reactor* reactor, grpc::CallbackServerContext& context, Action action);
  grpc::ServerUnaryReactor* NotYet(grpc::CallbackServerContext& context, const char* name, const std::string& target,
                                   const std::string& detail);
  absl::Status Audited(const absl::StatusOr<Caller>& caller, const Action& action) ABSL_LOCKS_EXCLUDED(mutex_);
  // What to add to a refusal's record; nothing if it is not written down, because there were too many.
  absl::optional<std::string> NoteOfRefusal(const std::string& tenant) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status CheckGpu(const std::string& uuid) const;

  PortContext& port_;
  absl::Mutex mutex_;
  // Refusals since the last one that was written down.
  std::unordered_map<std::string, uint64_t> suppressed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_CONTROL_PORT_H_
