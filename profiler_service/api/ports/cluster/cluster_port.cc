#include "profiler_service/api/ports/cluster/cluster_port.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "profiler_service/api/auth/node_certificate.h"
#include "profiler_service/cluster/convert.h"

namespace sassay::api {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using sassay::v1::NodeId;

constexpr size_t kMaxNameBytes = 64;
constexpr size_t kInstanceDigits = 32;
// What a submission's id may have; ours have 25.
constexpr size_t kMaxIdBytes = 64;
// Clocks that are kept by NTP differ by milliseconds. Attempts, windows and what is kept until when are told in times.
constexpr absl::Duration kMostClockDifference = absl::Minutes(1);

absl::Status CheckNodeId(const NodeId& node) {
  RETURN_IF_ERROR(cluster::CheckNodeName("node.name", node.name()));
  const bool hex = std::all_of(node.instance().begin(), node.instance().end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f');
  });
  if (node.instance().size() == kInstanceDigits && hex) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("node.instance: expected ", kInstanceDigits, " lower-case hex digits"));
}

// Where the service asks for no token, whoever is on this machine may be a node, too.
absl::Status NodesOnly(const Caller& caller) {
  const bool trusted_machine = caller.token_sha256.empty() && caller.role == Role::kAdmin;
  if (caller.role == Role::kNode || trusted_machine) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("Cluster is for nodes; the token of '", caller.tenant,
                                                  "' has the role ", RoleName(caller.role),
                                                  " (profiler-service token add NAME --role node)"));
}

}  // namespace

store::Lease NodeCaller::LeaseOf(const sassay::v1::LeaseId& id) const {
  store::Lease lease;
  lease.submission.id = id.submission_id().substr(0, kMaxIdBytes);
  lease.epoch = id.epoch();
  lease.owner = absl::StrCat(owner, id.number());
  return lease;
}

absl::Status NodeCaller::CheckGpu(absl::string_view field, absl::string_view gpu) const {
  if (node->Has(gpu)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(field, ": '", absl::CEscape(gpu.substr(0, kMaxIdBytes)),
                                                  "' is no GPU that node ", name, " has registered"));
}

absl::StatusOr<NodeCaller> ClusterPort::CallerAs(const absl::StatusOr<Caller>& caller, const NodeId& id,
                                                 Registered registered) {
  RETURN_IF_ERROR(caller.status());
  RETURN_IF_ERROR(NodesOnly(*caller));
  RETURN_IF_ERROR(CheckNodeId(id));
  if (caller->certificate_names.has_value()) {
    RETURN_IF_ERROR(CheckNodeCertificate(*caller->certificate_names, id.name()));
  }
  NodeCaller node;
  node.name = absl::StrCat(caller->tenant, "/", id.name());
  node.owner = absl::StrCat(node.name, "/", id.instance(), "/");
  if (registered == Registered::kYes) {
    ASSIGN_OR_RETURN(node.node, parts_.nodes.Find(node.name, id.instance()));
  }
  return node;
}

ServerUnaryReactor* ClusterPort::Serve(CallbackServerContext& context, const NodeId& id,
                                       std::function<void(const NodeCaller&, Reply)> act, Registered registered) {
  ServerUnaryReactor* reactor = context.DefaultReactor();
  const Reply reply = [this, reactor](const absl::Status& status) { reactor->Finish(ToGrpc(port_, status)); };
  absl::StatusOr<Caller> caller = CallerOf(port_, context);
  if (!caller.ok()) {
    reply(caller.status());
    return reactor;
  }
  parts_.pool.Post(absl::StrCat(caller->tenant, "/", id.name().substr(0, kMaxNameBytes)),
                   [this, caller = *std::move(caller), &id, act = std::move(act), reply, registered] {
                     const absl::StatusOr<NodeCaller> node = CallerAs(caller, id, registered);
                     if (!node.ok()) return reply(node.status());
                     act(*node, reply);
                   });
  return reactor;
}

ServerUnaryReactor* ClusterPort::Answer(CallbackServerContext& context, const NodeId& id,
                                        std::function<absl::Status(const NodeCaller&)> act, Registered registered) {
  return Serve(
      context, id, [act = std::move(act)](const NodeCaller& node, const Reply& reply) { reply(act(node)); },
      registered);
}

absl::Status ClusterPort::CheckTime(absl::string_view field, absl::Time time) const {
  const absl::Duration ahead = time - parts_.now();
  if (absl::AbsDuration(ahead) <= absl::Hours(1)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": expected a time of now, got one ",
                                                 absl::FormatDuration(absl::AbsDuration(ahead)),
                                                 ahead > absl::ZeroDuration() ? " ahead" : " ago"));
}

absl::Status ClusterPort::CheckClock(absl::Time of_node) const {
  const absl::Duration ahead = of_node - parts_.now();
  if (absl::AbsDuration(ahead) <= kMostClockDifference) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the node's clock and the front end's differ by ", absl::FormatDuration(ahead), ", at most ",
                   absl::FormatDuration(kMostClockDifference), " are allowed: set them (NTP)"));
}

ServerUnaryReactor* ClusterPort::Greet(CallbackServerContext* context, const sassay::v1::GreetRequest* request,
                                       sassay::v1::GreetResponse* response) {
  const auto act = [this, request, response](const NodeCaller& caller) -> absl::Status {
    RETURN_IF_ERROR(CheckClock(TimeOf(request->now())));
    response->set_sassay_version(SASSAY_VERSION);
    for (const cluster::NodeRegistry::NodePtr& node : parts_.nodes.Living()) {
      if (node->name == caller.name) response->set_name_taken(true);
    }
    return absl::OkStatus();
  };
  return Answer(*context, request->node(), act, Registered::kNotYet);
}

ServerUnaryReactor* ClusterPort::Register(CallbackServerContext* context, const sassay::v1::RegisterRequest* request,
                                          sassay::v1::RegisterResponse* response) {
  const auto act = [this, request, response](const NodeCaller& caller) -> absl::Status {
    RETURN_IF_ERROR(CheckClock(TimeOf(request->now())));
    RETURN_IF_ERROR(parts_.nodes.Register(caller.name, request->node().instance(), request->facts()));
    RETURN_IF_ERROR(TakeBackOfPredecessor(caller, request->predecessor()));
    response->set_beat_interval_ns(static_cast<uint64_t>(absl::ToInt64Nanoseconds(cluster::NodeRegistry::kBeat)));
    response->set_sassay_version(SASSAY_VERSION);
    return absl::OkStatus();
  };
  return Answer(*context, request->node(), act, Registered::kNotYet);
}

ServerUnaryReactor* ClusterPort::Beat(CallbackServerContext* context, const sassay::v1::BeatRequest* request,
                                      sassay::v1::BeatResponse*) {
  return Answer(*context, request->node(), [this, request](const NodeCaller& caller) {
    RETURN_IF_ERROR(parts_.nodes.Beat(caller.name, request->node().instance(), request->draining()));
    return request->has_held() ? TakeBackUnheard(caller, request->held()) : absl::OkStatus();
  });
}

ServerUnaryReactor* ClusterPort::Leave(CallbackServerContext* context, const sassay::v1::LeaveRequest* request,
                                       sassay::v1::LeaveResponse*) {
  const auto act = [this, request](const NodeCaller& caller) {
    held_.RemoveAll(caller.name);
    return parts_.nodes.Leave(caller.name, request->node().instance());
  };
  return Answer(*context, request->node(), act, Registered::kNotYet);
}

}  // namespace sassay::api
