#include "profiler_service/judge/serve.h"

#include "common/base/status_macros.h"

namespace sassay::judge {
namespace {

constexpr absl::Duration kSendTimeout = absl::Seconds(30);

absl::Status Send(wire::Channel& channel, const sassay::worker::JudgeReply& reply, absl::Span<const int> descriptors) {
  return channel.Send(reply, descriptors, absl::Now() + kSendTimeout);
}

}  // namespace

absl::Status Serve(Judge& judge, wire::Channel channel) {
  RETURN_IF_ERROR(Send(channel, judge.Ready(), {}));
  while (true) {
    sassay::worker::JudgeRequest request;
    const auto received = channel.Receive(request, absl::InfiniteFuture());
    if (absl::IsUnavailable(received.status())) return absl::OkStatus();
    RETURN_IF_ERROR(received.status());
    std::vector<int> descriptors;
    const sassay::worker::JudgeReply reply = judge.Handle(request, descriptors);
    RETURN_IF_ERROR(Send(channel, reply, descriptors));
  }
}

absl::Status Refuse(const absl::Status& why, wire::Channel channel) {
  sassay::worker::JudgeReply reply;
  reply.set_ready(true);
  reply.set_error(std::string(why.message()));
  reply.set_error_code(static_cast<int>(why.code()));
  return Send(channel, reply, {});
}

}  // namespace sassay::judge
