#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "monitor/admin/commands.h"
#include "nlohmann/json.hpp"

namespace sassay::monitor {
namespace {

// Shorter than what a kubelet or a compose file gives a probe.
constexpr absl::Duration kTimeout = absl::Seconds(4);
constexpr char kCheck[] = "/grpc.health.v1.Health/Check";
constexpr uint64_t kServing = 1;

using WireFormat = google::protobuf::internal::WireFormatLite;

std::string Bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

// HealthCheckResponse.status, its only field: 0 where it is not there, as in every enum.
uint64_t ServingStatus(const std::string& response) {
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(response.data()),
                                               static_cast<int>(response.size()));
  uint64_t status = 0;
  const uint32_t expected = WireFormat::MakeTag(1, WireFormat::WIRETYPE_VARINT);
  return input.ReadTag() == expected && input.ReadVarint64(&status) ? status : 0;
}

// The standard service has no generated code in grpc++; an empty request asks for the server as a whole.
absl::StatusOr<std::string> Check(const SecureChannel& channel) {
  grpc::GenericStub stub(channel.channel());
  grpc::CompletionQueue queue;
  const std::unique_ptr<grpc::ClientContext> context = channel.NewContext(kTimeout);
  const grpc::ByteBuffer request(nullptr, 0);
  auto call = stub.PrepareUnaryCall(context.get(), kCheck, request, &queue);
  grpc::ByteBuffer response;
  grpc::Status status;
  void* tag = nullptr;
  bool ok = false;
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  queue.Next(&tag, &ok);
  RETURN_IF_ERROR(FromGrpc(status, "ask for its health", channel.service()));
  return Bytes(response);
}

absl::Status Health(AdminSession& session) {
  const SecureChannel& channel = session.client.channel();
  ASSIGN_OR_RETURN(const std::string response, Check(channel));
  if (ServingStatus(response) != kServing) {
    return absl::UnavailableError(
        absl::StrCat(channel.service(), " does not serve: it is ending, and takes no new submissions"));
  }
  session.out << (session.json ? nlohmann::json{{"status", "SERVING"}}.dump(2) : "serves") << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddHealthCommand(CLI::App& root, AdminInvocation& invocation) {
  root.add_subcommand("health", "Whether the service takes submissions (grpc.health.v1); wants no token")
      ->callback([&invocation] { invocation.action = Health; });
}

}  // namespace sassay::monitor
