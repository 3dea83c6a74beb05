// The port for nodes: sassay.v1.Cluster, in the shape of its proto. Says who is calling, refuses what is not the
// node's, bounds what it says, and hands over to the store, whose transactions decide.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_CLUSTER_CLUSTER_PORT_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_CLUSTER_CLUSTER_PORT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "profiler_service/api/ports/cluster/held_leases.h"
#include "profiler_service/api/ports/port_context.h"
#include "profiler_service/cluster/node_registry.h"
#include "sassay/v1/cluster.grpc.pb.h"

namespace sassay::api {

// What Cluster acts on besides the port's context. Not owned; outlives the port.
struct ClusterParts {
  cluster::NodeRegistry& nodes;
  IoPool& pool;  // nodes in turn; a call waits there for the store at most
  std::function<absl::Time()> now;
};

// Who is calling, once that is known.
struct NodeCaller {
  std::string name;   // with its token's: "pool/gpu-7"
  std::string owner;  // what the owners of its leases begin with; holds the instance, which nobody else knows
  cluster::NodeRegistry::NodePtr node;

  store::Lease LeaseOf(const sassay::v1::LeaseId& id) const;
  // PERMISSION_DENIED unless it is one of the node's.
  absl::Status CheckGpu(absl::string_view field, absl::string_view gpu) const;
};

// Thread-safe. `port` and `parts` outlive it. Handlers are in cluster_leases.cc, cluster_records.cc and
// cluster_streams.cc.
class ClusterPort : public sassay::v1::Cluster::CallbackService {
 public:
  ClusterPort(PortContext& port, ClusterParts parts) : port_(port), parts_(parts) {}

#define SASSAY_CLUSTER_UNARY(Method)                                                                                 \
  grpc::ServerUnaryReactor* Method(grpc::CallbackServerContext* context, const sassay::v1::Method##Request* request, \
                                   sassay::v1::Method##Response* response) override
  SASSAY_CLUSTER_UNARY(Greet);
  SASSAY_CLUSTER_UNARY(Register);
  SASSAY_CLUSTER_UNARY(Beat);
  SASSAY_CLUSTER_UNARY(Leave);
  SASSAY_CLUSTER_UNARY(Acquire);
  SASSAY_CLUSTER_UNARY(Append);
  SASSAY_CLUSTER_UNARY(Finish);
  SASSAY_CLUSTER_UNARY(Return);
  SASSAY_CLUSTER_UNARY(Renew);
  SASSAY_CLUSTER_UNARY(ListEvents);
  SASSAY_CLUSTER_UNARY(Exclude);
  SASSAY_CLUSTER_UNARY(ListWindows);
  SASSAY_CLUSTER_UNARY(CloseWindows);
  SASSAY_CLUSTER_UNARY(ListProvisionals);
  SASSAY_CLUSTER_UNARY(SettleTiming);
  SASSAY_CLUSTER_UNARY(PlaceHold);
  SASSAY_CLUSTER_UNARY(LiftHold);
  SASSAY_CLUSTER_UNARY(ListHolds);
  SASSAY_CLUSTER_UNARY(KeepIncident);
  SASSAY_CLUSTER_UNARY(ListIncidents);
  SASSAY_CLUSTER_UNARY(KeepAudit);
  SASSAY_CLUSTER_UNARY(GetDepths);
#undef SASSAY_CLUSTER_UNARY
  grpc::ServerWriteReactor<sassay::v1::WatchResponse>* Watch(grpc::CallbackServerContext* context,
                                                             const sassay::v1::WatchRequest* request) override;
  grpc::ServerWriteReactor<sassay::v1::ReadBundleResponse>* ReadBundle(
      grpc::CallbackServerContext* context, const sassay::v1::ReadBundleRequest* request) override;
  grpc::ServerReadReactor<sassay::v1::KeepArtifactRequest>* KeepArtifact(
      grpc::CallbackServerContext* context, sassay::v1::KeepArtifactResponse* response) override;

 private:
  using Reply = std::function<void(const absl::Status&)>;
  // Who calls as `node`: the token's role, the certificate's names if there is one, and, if it must be, that this
  // process is registered.
  enum class Registered { kYes, kNotYet };
  absl::StatusOr<NodeCaller> CallerAs(const absl::StatusOr<Caller>& caller, const sassay::v1::NodeId& node,
                                      Registered registered);
  // Runs `act` on the pool for whoever calls; it replies once, from any thread.
  grpc::ServerUnaryReactor* Serve(grpc::CallbackServerContext& context, const sassay::v1::NodeId& node,
                                  std::function<void(const NodeCaller&, Reply)> act,
                                  Registered registered = Registered::kYes);
  // The same for what answers at once.
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext& context, const sassay::v1::NodeId& node,
                                   std::function<absl::Status(const NodeCaller&)> act,
                                   Registered registered = Registered::kYes);

  // The submission that a lease of the node's holds. ABORTED: it is lost.
  absl::StatusOr<store::Submission> Leased(const NodeCaller& caller, const sassay::v1::LeaseId& lease);
  store::Asker AskerOf(const NodeCaller& caller, const sassay::v1::AcquireRequest& request);
  absl::StatusOr<absl::optional<store::Lease>> TakenBefore(const std::string& owner, absl::Time expires_at);
  // Gives back what an earlier process of the node ran, where this one knows how that ended.
  absl::Status TakeBackOfPredecessor(const NodeCaller& caller, sassay::v1::Predecessor predecessor);
  // Gives back what the node was leased and does not know of.
  absl::Status TakeBackUnheard(const NodeCaller& caller, const sassay::v1::HeldLeases& held);
  absl::Status CheckClock(absl::Time of_node) const;
  absl::Status CheckTime(absl::string_view field, absl::Time time) const;
  absl::Status CheckEnding(const NodeCaller& caller, const sassay::v1::EndingFacts& ending) const;

  PortContext& port_;
  const ClusterParts parts_;
  HeldLeases held_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_CLUSTER_CLUSTER_PORT_H_
