#include "common/rpc/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sassay {
namespace {

using ::testing::HasSubstr;

TEST(ProtocolTest, WhoTellsNothingSpeaksTheFirst) {
  const absl::StatusOr<Peer> peer = PeerOf({{"user-agent", "grpc"}});
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(peer->protocol, 1u);
  EXPECT_EQ(peer->version, "");
}

TEST(ProtocolTest, WhatACallerTellsIsRead) {
  const absl::StatusOr<Peer> peer = PeerOf({{"sassay-protocol", "7"}, {"sassay-version", "1.2.3"}});
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(Describe(*peer), "Sassay 1.2.3, protocol 7");
}

TEST(ProtocolTest, WhatIsNoProtocolIsRefusedAndNoVersionDoesHarm) {
  for (const char* bad : {"", "two", "-1", "0", "4294967296", "2 or so"}) {
    EXPECT_EQ(PeerOf({{"sassay-protocol", bad}}).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  const std::string long_one(10'000, '\x1b');
  const absl::StatusOr<Peer> peer = PeerOf({{"sassay-version", grpc::string_ref(long_one.data(), long_one.size())}});
  ASSERT_TRUE(peer.ok());
  EXPECT_LT(peer->version.size(), 200u);
  EXPECT_EQ(peer->version.find('\x1b'), std::string::npos);
}

TEST(ProtocolTest, ARefusalNamesBothVersionsAndWhatToDo) {
  EXPECT_TRUE(CheckClient({2, "0.9.9"}, 2).ok());
  const absl::Status refused = CheckClient({1, "0.9.9"}, 2);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  for (const char* said : {"Sassay 0.9.9, protocol 1", "Sassay " SASSAY_VERSION, "protocol 2 and newer", "Install"})
    EXPECT_THAT(refused.message(), HasSubstr(said));
}

TEST(ProtocolTest, AnOlderServiceIsAskedForNothingThatItWouldPassOver) {
  EXPECT_TRUE(CheckService({2, "1.0.0"}, 2, "--fresh").ok());
  const absl::Status refused = CheckService({1, ""}, 2, "--fresh");
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  for (const char* said : {"--fresh needs protocol 2", "protocol 1", "Sassay " SASSAY_VERSION, "Update the service"})
    EXPECT_THAT(refused.message(), HasSubstr(said));
}

// What this build promises: one version back.
TEST(ProtocolTest, TheVersionBeforeIsServed) {
  EXPECT_LE(kOldestClient + 1, kProtocol);
  EXPECT_LE(kOldestService + 1, kProtocol);
}

}  // namespace
}  // namespace sassay
