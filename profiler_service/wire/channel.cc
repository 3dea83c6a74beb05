#include "profiler_service/wire/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"

namespace sassay::wire {
namespace {

constexpr uint32_t kFrameMagic = 0x31594153;  // "SAY1"
constexpr size_t kReadStep = size_t{1} << 20;

struct FrameHeader {
  uint32_t magic = kFrameMagic;
  uint32_t message_bytes = 0;
  uint32_t descriptors = 0;
};

struct alignas(cmsghdr) ControlBuffer : std::array<char, CMSG_SPACE(sizeof(int) * kMaxDescriptors)> {};

absl::Status ErrnoStatus(absl::string_view doing) {
  const int error = errno;
  if (error == EPIPE || error == ECONNRESET) return absl::UnavailableError("the peer has closed the channel");
  return absl::InternalError(absl::StrCat(doing, " on the worker channel: ", std::strerror(error)));
}

int MillisecondsUntil(absl::Time deadline) {
  if (deadline == absl::InfiniteFuture()) return -1;
  const int64_t left = absl::ToInt64Milliseconds(absl::Ceil(deadline - SteadyNow(), absl::Milliseconds(1)));
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
}

absl::Status WaitFor(int fd, short events, absl::Time deadline) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int ready = poll(&entry, 1, MillisecondsUntil(deadline));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return ErrnoStatus("poll");
    if (SteadyNow() >= deadline) return absl::DeadlineExceededError("no answer on the worker channel in time");
  }
}

bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK; }

void AttachDescriptors(msghdr& header, ControlBuffer& control, absl::Span<const int> descriptors) {
  if (descriptors.empty()) return;
  control.fill(0);
  header.msg_control = control.data();
  header.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
  cmsghdr* entry = CMSG_FIRSTHDR(&header);
  entry->cmsg_level = SOL_SOCKET;
  entry->cmsg_type = SCM_RIGHTS;
  entry->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
  std::memcpy(CMSG_DATA(entry), descriptors.data(), sizeof(int) * descriptors.size());
}

// Descriptors travel with the first byte that is sent.
absl::Status SendAll(int fd, absl::string_view bytes, absl::Span<const int> descriptors, absl::Time deadline) {
  while (!bytes.empty()) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    ControlBuffer control;
    AttachDescriptors(header, control, descriptors);
    const ssize_t sent = sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && WouldBlock()) {
      RETURN_IF_ERROR(WaitFor(fd, POLLOUT, deadline));
      continue;
    }
    if (sent < 0) return ErrnoStatus("sendmsg");
    bytes.remove_prefix(static_cast<size_t>(sent));
    descriptors = {};
  }
  return absl::OkStatus();
}

void TakeDescriptors(msghdr& header, std::vector<UniqueFd>& descriptors) {
  for (cmsghdr* entry = CMSG_FIRSTHDR(&header); entry != nullptr; entry = CMSG_NXTHDR(&header, entry)) {
    if (entry->cmsg_level != SOL_SOCKET || entry->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (entry->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(entry) + i * sizeof(int), sizeof(int));
      descriptors.emplace_back(fd);
    }
  }
}

absl::Status ReceiveAll(int fd, char* bytes, size_t size, std::vector<UniqueFd>& descriptors, absl::Time deadline) {
  while (size > 0) {
    iovec part{bytes, size};
    ControlBuffer control;
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t received = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && WouldBlock()) {
      RETURN_IF_ERROR(WaitFor(fd, POLLIN, deadline));
      continue;
    }
    if (received < 0) return ErrnoStatus("recvmsg");
    TakeDescriptors(header, descriptors);
    if (received == 0) return absl::UnavailableError("the peer has closed the channel");
    if ((header.msg_flags & MSG_CTRUNC) != 0 || descriptors.size() > kMaxDescriptors) {
      return absl::DataLossError(absl::StrCat("a message came with more than ", kMaxDescriptors, " descriptors"));
    }
    bytes += received;
    size -= static_cast<size_t>(received);
  }
  return absl::OkStatus();
}

absl::Status CheckHeader(const FrameHeader& header, uint32_t most_bytes) {
  if (header.magic != kFrameMagic) {
    return absl::DataLossError(absl::StrCat("expected a frame, got bytes that begin with 0x", absl::Hex(header.magic)));
  }
  if (header.message_bytes > most_bytes || header.descriptors > kMaxDescriptors) {
    return absl::DataLossError(absl::StrCat("a frame announces ", header.message_bytes, " bytes and ",
                                            header.descriptors, " descriptors; at most ", most_bytes, " and ",
                                            kMaxDescriptors, " are allowed"));
  }
  return absl::OkStatus();
}

// Memory grows with what has really come, not with what was announced.
absl::Status ReceiveBody(int fd, size_t size, std::string& body, std::vector<UniqueFd>& descriptors,
                         absl::Time deadline) {
  while (body.size() < size) {
    const size_t have = body.size();
    body.resize(std::min(size, have + kReadStep));
    RETURN_IF_ERROR(ReceiveAll(fd, body.data() + have, body.size() - have, descriptors, deadline));
  }
  return absl::OkStatus();
}

absl::Status SendFrame(int fd, const google::protobuf::MessageLite& message, absl::Span<const int> descriptors,
                       absl::Time deadline) {
  FrameHeader header;
  header.message_bytes = static_cast<uint32_t>(message.ByteSizeLong());
  header.descriptors = static_cast<uint32_t>(descriptors.size());
  std::string frame(reinterpret_cast<const char*>(&header), sizeof(header));
  if (!message.AppendToString(&frame)) return absl::InternalError("the message could not be serialised");
  return SendAll(fd, frame, descriptors, deadline);
}

absl::StatusOr<std::vector<UniqueFd>> ReceiveFrame(int fd, google::protobuf::MessageLite& message, uint32_t most_bytes,
                                                   absl::Time deadline) {
  std::vector<UniqueFd> descriptors;
  FrameHeader header;
  RETURN_IF_ERROR(ReceiveAll(fd, reinterpret_cast<char*>(&header), sizeof(header), descriptors, deadline));
  RETURN_IF_ERROR(CheckHeader(header, most_bytes));
  std::string body;
  RETURN_IF_ERROR(ReceiveBody(fd, header.message_bytes, body, descriptors, deadline));
  if (descriptors.size() != header.descriptors) {
    return absl::DataLossError(
        absl::StrCat("a frame announced ", header.descriptors, " descriptors and came with ", descriptors.size()));
  }
  if (!message.ParseFromString(body)) {
    return absl::DataLossError(
        absl::StrCat("expected a ", message.GetTypeName(), ", got ", body.size(), " bytes that do not parse as one"));
  }
  return descriptors;
}

}  // namespace

Channel::Channel(UniqueFd socket) : socket_(std::move(socket)) {}

absl::StatusOr<std::pair<Channel, Channel>> Channel::CreatePair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus("socketpair");
  return std::make_pair(Channel(UniqueFd(ends[0])), Channel(UniqueFd(ends[1])));
}

absl::Status Channel::Send(const google::protobuf::MessageLite& message, absl::Span<const int> descriptors,
                           absl::Time deadline) {
  if (!socket_.valid()) return absl::FailedPreconditionError("the worker channel is closed after an earlier error");
  if (message.ByteSizeLong() > kMaxMessageBytes || descriptors.size() > kMaxDescriptors) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a ", message.GetTypeName(), " of ", message.ByteSizeLong(), " bytes with ", descriptors.size(),
        " descriptors does not fit the worker channel (", kMaxMessageBytes, " bytes, ", kMaxDescriptors, ")"));
  }
  absl::Status status = SendFrame(socket_.get(), message, descriptors, deadline);
  if (!status.ok()) socket_.reset();
  return status;
}

absl::StatusOr<std::vector<UniqueFd>> Channel::Receive(google::protobuf::MessageLite& message, absl::Time deadline) {
  if (!socket_.valid()) return absl::FailedPreconditionError("the worker channel is closed after an earlier error");
  absl::StatusOr<std::vector<UniqueFd>> descriptors = ReceiveFrame(socket_.get(), message, most_received_, deadline);
  if (!descriptors.ok()) socket_.reset();
  return descriptors;
}

void ExitWhenPeerIsGone(int channel_fd, absl::Duration grace) {
  std::thread([channel_fd, grace] {
    for (bool gone = false; !gone;) {
      pollfd entry{channel_fd, POLLRDHUP, 0};
      gone = poll(&entry, 1, -1) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
    }
    absl::SleepFor(grace);
    _exit(0);
  }).detach();
}

}  // namespace sassay::wire
