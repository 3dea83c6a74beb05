#include "common/rpc/grpc_status.h"

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace sassay {

std::string PlainCause(const grpc::Status& status) {
  constexpr absl::string_view kStory = "Failed to connect to remote host: ";
  constexpr absl::string_view kAddresses = "failed to connect to all addresses";
  const std::string message = status.error_message();
  if (message.empty()) return "no reason given";
  const size_t at = message.rfind(kStory.data());
  if (at != std::string::npos) return message.substr(at + kStory.size());
  const size_t colon = message.rfind(": ");
  const bool wrapped = absl::StartsWith(message, kAddresses) && colon != std::string::npos;
  return wrapped ? message.substr(colon + 2) : message;
}

bool WorthRetrying(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::UNAVAILABLE:
    case grpc::UNKNOWN:
    case grpc::ABORTED:
    case grpc::CANCELLED:
      return true;
    case grpc::INTERNAL:
      return absl::StrContains(status.error_message(), "RST_STREAM");
    default:
      return false;
  }
}

}  // namespace sassay
