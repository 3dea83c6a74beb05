#include "profiler_service/wire/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "profiler_service/wire/worker.pb.h"

namespace sassay::wire {
namespace {

absl::Time Soon() { return absl::Now() + absl::Seconds(20); }

struct Ends {
  Ends() {
    auto pair = Channel::CreatePair();
    EXPECT_TRUE(pair.ok()) << pair.status();
    a = std::move(pair->first);
    b = std::move(pair->second);
  }
  Channel a{UniqueFd()};
  Channel b{UniqueFd()};
};

worker::RunnerReply Reply(std::string message) {
  worker::RunnerReply reply;
  reply.set_message(std::move(message));
  return reply;
}

UniqueFd MemoryWith(absl::string_view content) {
  UniqueFd fd(memfd_create("channel_test", MFD_CLOEXEC));
  EXPECT_EQ(write(fd.get(), content.data(), content.size()), static_cast<ssize_t>(content.size()));
  return fd;
}

std::string ContentOf(int fd) {
  char buffer[64];
  const ssize_t size = pread(fd, buffer, sizeof(buffer), 0);
  return std::string(buffer, size < 0 ? 0 : static_cast<size_t>(size));
}

TEST(Channel, MessageArrivesWithItsDescriptorsInOrder) {
  Ends ends;
  const UniqueFd first = MemoryWith("first"), second = MemoryWith("second");
  ASSERT_TRUE(ends.a.Send(Reply("hello"), {first.get(), second.get()}, Soon()).ok());
  worker::RunnerReply reply;
  const auto descriptors = ends.b.Receive(reply, Soon());
  ASSERT_TRUE(descriptors.ok()) << descriptors.status();
  EXPECT_EQ(reply.message(), "hello");
  ASSERT_EQ(descriptors->size(), 2u);
  EXPECT_EQ(ContentOf((*descriptors)[0].get()), "first");
  EXPECT_EQ(ContentOf((*descriptors)[1].get()), "second");
  EXPECT_NE(fcntl((*descriptors)[0].get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Channel, DescriptorsOfTwoMessagesSentTogetherAreNotMixed) {
  Ends ends;
  const UniqueFd first = MemoryWith("first"), second = MemoryWith("second");
  ASSERT_TRUE(ends.a.Send(Reply("1"), {first.get()}, Soon()).ok());
  ASSERT_TRUE(ends.a.Send(Reply("2"), {second.get()}, Soon()).ok());
  worker::RunnerReply reply;
  auto descriptors = ends.b.Receive(reply, Soon());
  ASSERT_TRUE(descriptors.ok()) << descriptors.status();
  ASSERT_EQ(descriptors->size(), 1u);
  EXPECT_EQ(ContentOf((*descriptors)[0].get()), "first");
  descriptors = ends.b.Receive(reply, Soon());
  ASSERT_TRUE(descriptors.ok()) << descriptors.status();
  EXPECT_EQ(ContentOf((*descriptors)[0].get()), "second");
}

TEST(Channel, SixtyFourMebibytesPassWhileTheOtherSideReads) {
  Ends ends;
  const std::string large(64 << 20, 'x');
  std::thread sender([&] { EXPECT_TRUE(ends.a.Send(Reply(large), {}, Soon()).ok()); });
  worker::RunnerReply reply;
  EXPECT_TRUE(ends.b.Receive(reply, Soon()).ok());
  sender.join();
  EXPECT_EQ(reply.message().size(), large.size());
}

TEST(Channel, TooLargeAMessageIsRefusedBeforeAnythingIsSentAndTheChannelLives) {
  Ends ends;
  const auto status = ends.a.Send(Reply(std::string(kMaxMessageBytes, 'x')), {}, Soon());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(ends.a.Send(Reply("small"), {}, Soon()).ok());
}

TEST(Channel, ReceiverThatExpectsLittleTakesLittle) {
  Ends ends;
  ends.a.LimitReceived(1000);
  worker::RunnerReply reply;
  ASSERT_TRUE(ends.b.Send(Reply(std::string(900, 'x')), {}, Soon()).ok());
  EXPECT_TRUE(ends.a.Receive(reply, Soon()).ok());
  ASSERT_TRUE(ends.b.Send(Reply(std::string(1100, 'x')), {}, Soon()).ok());
  EXPECT_EQ(ends.a.Receive(reply, Soon()).status().code(), absl::StatusCode::kDataLoss);
}

TEST(Channel, SilentPeerIsLateAndThenTheChannelIsClosed) {
  Ends ends;
  worker::RunnerReply reply;
  EXPECT_EQ(ends.a.Receive(reply, absl::Now() + absl::Milliseconds(5)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ends.a.Receive(reply, Soon()).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Channel, PeerThatDoesNotReadMakesTheSenderLate) {
  Ends ends;
  EXPECT_EQ(ends.a.Send(Reply(std::string(8 << 20, 'x')), {}, absl::Now() + absl::Milliseconds(5)).code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(Channel, ClosedPeerIsUnavailableInBothDirections) {
  Ends ends;
  { const Channel gone = std::move(ends.b); }
  worker::RunnerReply reply;
  EXPECT_EQ(ends.a.Receive(reply, Soon()).status().code(), absl::StatusCode::kUnavailable);
  Ends others;
  { const Channel gone = std::move(others.b); }
  EXPECT_EQ(others.a.Send(Reply("x"), {}, Soon()).code(), absl::StatusCode::kUnavailable);
}

absl::StatusCode AfterHostileBytes(absl::string_view bytes) {
  Ends ends;
  EXPECT_EQ(write(ends.b.fd(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  { const Channel gone = std::move(ends.b); }
  worker::RunnerReply reply;
  return ends.a.Receive(reply, Soon()).status().code();
}

std::string Header(uint32_t magic, uint32_t bytes, uint32_t descriptors) {
  const uint32_t words[3] = {magic, bytes, descriptors};
  return std::string(reinterpret_cast<const char*>(words), sizeof(words));
}

TEST(Channel, HostileBytesAreDataLossAndNeverAllocateWhatTheyAnnounce) {
  constexpr uint32_t kMagic = 0x31594153;
  EXPECT_EQ(AfterHostileBytes("this is no frame at all"), absl::StatusCode::kDataLoss);
  EXPECT_EQ(AfterHostileBytes(Header(kMagic, 0xFFFFFFFF, 0)), absl::StatusCode::kDataLoss);
  EXPECT_EQ(AfterHostileBytes(Header(kMagic, 0, 1000)), absl::StatusCode::kDataLoss);
  EXPECT_EQ(AfterHostileBytes(Header(kMagic, 0, 1)), absl::StatusCode::kDataLoss);
  EXPECT_EQ(AfterHostileBytes(Header(kMagic, 4, 0) + "\xff\xff\xff\xff"), absl::StatusCode::kDataLoss);
  EXPECT_EQ(AfterHostileBytes(Header(kMagic, 40, 0) + "short"), absl::StatusCode::kUnavailable);
  EXPECT_EQ(AfterHostileBytes("SA"), absl::StatusCode::kUnavailable);
}

TEST(Channel, UnannouncedDescriptorsAreDataLossAndAreClosed) {
  Ends ends;
  const UniqueFd memory = MemoryWith("x");
  const std::string frame = Header(0x31594153, 0, 0);
  iovec part{const_cast<char*>(frame.data()), frame.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  cmsghdr* entry = CMSG_FIRSTHDR(&header);
  entry->cmsg_level = SOL_SOCKET;
  entry->cmsg_type = SCM_RIGHTS;
  entry->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = memory.get();
  std::memcpy(CMSG_DATA(entry), &fd, sizeof(fd));
  ASSERT_EQ(sendmsg(ends.b.fd(), &header, 0), static_cast<ssize_t>(frame.size()));
  const int next_free = dup(memory.get());
  close(next_free);
  worker::RunnerReply reply;
  EXPECT_EQ(ends.a.Receive(reply, Soon()).status().code(), absl::StatusCode::kDataLoss);
  // The lowest free descriptor is unchanged or lower: nothing of what came has stayed open.
  const int now_free = dup(memory.get());
  close(now_free);
  EXPECT_LE(now_free, next_free);
}

TEST(Channel, WorkerThatComputesEndsWhenItsPeerHasGone) {
  Ends ends;
  const pid_t child = fork();
  if (child == 0) {
    ends.a.Release().reset();
    ExitWhenPeerIsGone(ends.b.fd(), absl::ZeroDuration());
    for (volatile bool busy = true; busy;) {
    }
  }
  ends.b.Release().reset();
  ends.a.Release().reset();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace sassay::wire
