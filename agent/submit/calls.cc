#include "agent/submit/calls.h"

#include <openssl/rand.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "agent/submit/rpc_error.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle.h"
#include "common/toolchain/bundle_target.h"
#include "common/toolchain/cuda_drivers.h"

namespace sassay::agent {
namespace {

// Understands ProfileRequest.max_age. What .fresh asks for every older one does anyway, which reuses nothing.
constexpr uint32_t kReuseProtocol = 2;

}  // namespace

absl::StatusOr<v1::GetCapabilitiesResponse> GetCapabilities(Connection& connection, absl::Duration timeout,
                                                            Stopper* stopper) {
  v1::GetCapabilitiesResponse response;
  const auto context = connection.NewContext(timeout);
  std::optional<Stopper::Scope> scope;
  if (stopper != nullptr) scope.emplace(*stopper, *context);
  const grpc::Status status = connection.stub().GetCapabilities(context.get(), {}, &response);
  RETURN_IF_ERROR(FromGrpc(status, "ask for capabilities", connection.service()));
  return response;
}

Peer PeerOf(const v1::GetCapabilitiesResponse& capabilities) {
  return {std::max(1u, capabilities.protocol()), capabilities.sassay_version()};
}

absl::StatusOr<v1::GetCapabilitiesResponse> GetCapabilitiesFor(Connection& connection,
                                                               const v1::ProfileRequest& request, Stopper* stopper) {
  ASSIGN_OR_RETURN(v1::GetCapabilitiesResponse capabilities, GetCapabilities(connection, kCallTimeout, stopper));
  const Peer service = PeerOf(capabilities);
  RETURN_IF_ERROR(CheckService(service, kOldestService, "mini-ptx-agent"));
  if (request.has_max_age()) RETURN_IF_ERROR(CheckService(service, kReuseProtocol, "--max-age"));
  return capabilities;
}

absl::Status CheckDriversFor(absl::string_view bundle_bytes, const v1::ProfileRequest& request,
                             const google::protobuf::RepeatedPtrField<v1::DeviceCapability>& devices) {
  const absl::StatusOr<BundleTarget> target = PeekTarget(bundle_bytes);
  if (!target.ok()) return absl::OkStatus();
  return CheckDrivers(target->toolkit_version, target->arch, request.gpu_model(), devices);
}

absl::StatusOr<v1::ListWorkloadsResponse> ListWorkloads(Connection& connection) {
  v1::ListWorkloadsResponse response;
  const grpc::Status status = connection.stub().ListWorkloads(connection.NewContext(kCallTimeout).get(), {}, &response);
  RETURN_IF_ERROR(FromGrpc(status, "list workloads", connection.service()));
  return response;
}

absl::StatusOr<v1::Workload> GetWorkload(Connection& connection, const std::string& name) {
  v1::GetWorkloadRequest request;
  request.set_name(name);
  v1::GetWorkloadResponse response;
  const grpc::Status status =
      connection.stub().GetWorkload(connection.NewContext(kCallTimeout).get(), request, &response);
  RETURN_IF_ERROR(FromGrpc(status, absl::StrCat("read workload ", name), connection.service()));
  return std::move(*response.mutable_workload());
}

absl::StatusOr<bool> CancelSubmission(Connection& connection, const std::string& submission_id, Stopper& stopper) {
  v1::CancelRequest request;
  request.set_submission_id(submission_id);
  v1::CancelResponse response;
  const auto context = connection.NewContext(kCallTimeout);
  const Stopper::Scope scope(stopper, *context);
  const grpc::Status status = connection.stub().Cancel(context.get(), request, &response);
  RETURN_IF_ERROR(FromGrpc(status, absl::StrCat("cancel ", submission_id), connection.service()));
  return response.cancelling();
}

std::string NewRequestId() {
  std::string bytes(16, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) != 1) {
    std::fprintf(stderr, "the system's random generator failed\n");
    std::abort();
  }
  return absl::StrCat("agent-", absl::BytesToHexString(bytes));
}

}  // namespace sassay::agent
