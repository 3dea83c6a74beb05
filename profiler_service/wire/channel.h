// How the service and its worker processes speak: protobuf messages with file descriptors beside them, over a unix
// socket pair that the service made.
//
// Why not gRPC: a runner must start in milliseconds, has exactly one peer that is its parent, must receive descriptors
// of GPU memory, and its answers are hostile bytes (candidate device code runs in its process), so that everything here
// is bounded: the length of a message, the number of descriptors, and the time.
#ifndef SASSAY_PROFILER_SERVICE_WIRE_CHANNEL_H_
#define SASSAY_PROFILER_SERVICE_WIRE_CHANNEL_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/fd.h"
#include "google/protobuf/message_lite.h"

namespace sassay::wire {

// The number under which a worker finds its end of the channel.
inline constexpr int kWorkerChannelFd = 3;

// Largest message. A bundle may have 64 MiB; the rest is room for what travels with it.
inline constexpr uint32_t kMaxMessageBytes = (64u << 20) + (1u << 20);

// Largest answer of a worker that has much to tell: the judge, a runner that counts. Parsing one takes a hundred times
// its size where a peer means harm.
inline constexpr uint32_t kMaxReplyBytes = 16u << 20;

// Largest answer of any other runner.
inline constexpr uint32_t kMaxShortReplyBytes = 1u << 20;

// Most descriptors beside one message (the kernel's own limit is 253).
inline constexpr uint32_t kMaxDescriptors = 64;

// One end of a stream of framed messages. Deadlines are SteadyNow's.
//
// Life cycle: after any error the position in the stream is unknown, so the channel is closed and every later call
// gives FAILED_PRECONDITION. Threads: one thread sends and receives at a time. Ownership: owns its socket; descriptors
// handed to Send stay the caller's, those that Receive returns are the caller's (close-on-exec).
//
// Failure: UNAVAILABLE the peer has gone; DEADLINE_EXCEEDED; DATA_LOSS what came is not a frame of ours, is larger than
// allowed, or does not parse; INVALID_ARGUMENT the message to send is too large.
class Channel {
 public:
  // Two connected ends.
  static absl::StatusOr<std::pair<Channel, Channel>> CreatePair();

  // Takes over a connected stream socket (a worker: Channel(UniqueFd(kWorkerChannelFd))).
  explicit Channel(UniqueFd socket);
  Channel(Channel&&) noexcept = default;
  Channel& operator=(Channel&&) noexcept = default;

  int fd() const { return socket_.get(); }
  // Gives up the socket, for handing it to a child.
  UniqueFd Release() { return std::move(socket_); }

  // From now on larger messages than this are DATA_LOSS on receiving.
  void LimitReceived(uint32_t bytes) { most_received_ = bytes; }

  absl::Status Send(const google::protobuf::MessageLite& message, absl::Span<const int> descriptors,
                    absl::Time deadline);
  // Replaces `message`. The descriptors are in the order in which they were sent.
  absl::StatusOr<std::vector<UniqueFd>> Receive(google::protobuf::MessageLite& message, absl::Time deadline);

 private:
  UniqueFd socket_;
  uint32_t most_received_ = kMaxMessageBytes;
};

// Starts a detached thread that ends this process when the peer of `channel_fd` has gone, whatever the process is
// doing: a worker that computes does not look at its channel. A worker that waits in Receive sees the same end and has
// `grace` to return from main in order (compute-sanitizer writes its report then). Call once, early in a worker's main.
void ExitWhenPeerIsGone(int channel_fd, absl::Duration grace = absl::Milliseconds(500));

}  // namespace sassay::wire

#endif  // SASSAY_PROFILER_SERVICE_WIRE_CHANNEL_H_
