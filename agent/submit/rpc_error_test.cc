#include "agent/submit/rpc_error.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;

absl::Status Map(grpc::StatusCode code, const char* message) {
  return FromGrpc(grpc::Status(code, message), "upload the bundle", "host:1");
}

TEST(RpcErrorTest, KeepsCodeAndSaysWhatWasDoneWhereAndWhy) {
  const absl::Status status = Map(grpc::RESOURCE_EXHAUSTED, "quota in-flight (--max-in-flight) is 4");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("could not upload the bundle at host:1"),
                                                   HasSubstr("--max-in-flight"), HasSubstr("Wait")));
}

TEST(RpcErrorTest, TellsTlsTroubleFromAServiceThatIsNotThere) {
  EXPECT_THAT(std::string(Map(grpc::UNAVAILABLE, "Socket closed").message()), HasSubstr("If the service speaks TLS"));
  EXPECT_THAT(std::string(Map(grpc::UNAVAILABLE, "Ssl handshake failed: SSL_ERROR").message()), HasSubstr("--ca-file"));
  EXPECT_THAT(std::string(Map(grpc::UNAVAILABLE, "Connection refused").message()), HasSubstr("Is it running"));
}

TEST(RpcErrorTest, LeavesOutHowGrpcTriedToConnect) {
  const absl::Status status =
      Map(grpc::UNAVAILABLE,
          "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Failed to "
          "connect to remote host: Connection refused");
  EXPECT_THAT(std::string(status.message()), HasSubstr("at host:1: Connection refused. Is it running"));
}

TEST(RpcErrorTest, ExitStatusTellsUsageFromInfrastructure) {
  EXPECT_EQ(ExitStatusOf(absl::OkStatus()), kExitCorrect);
  EXPECT_EQ(ExitStatusOf(Map(grpc::NOT_FOUND, "")), kExitUsage);
  EXPECT_EQ(ExitStatusOf(Map(grpc::UNAUTHENTICATED, "")), kExitUsage);
  EXPECT_EQ(ExitStatusOf(Map(grpc::INVALID_ARGUMENT, "")), kExitUsage);
  EXPECT_EQ(ExitStatusOf(Map(grpc::RESOURCE_EXHAUSTED, "")), kExitInfrastructure);
  EXPECT_EQ(ExitStatusOf(Map(grpc::UNAVAILABLE, "")), kExitInfrastructure);
  EXPECT_EQ(ExitStatusOf(Map(grpc::INTERNAL, "")), kExitInfrastructure);
}

TEST(RpcErrorTest, RetriesBrokenConnectionsButNotRefusals) {
  EXPECT_TRUE(WorthRetrying(grpc::Status(grpc::UNAVAILABLE, "")));
  EXPECT_TRUE(WorthRetrying(grpc::Status(grpc::INTERNAL, "Received RST_STREAM with error code 2")));
  EXPECT_FALSE(WorthRetrying(grpc::Status(grpc::INTERNAL, "bug")));
  EXPECT_FALSE(WorthRetrying(grpc::Status(grpc::RESOURCE_EXHAUSTED, "")));
  EXPECT_FALSE(WorthRetrying(grpc::Status(grpc::NOT_FOUND, "")));
}

}  // namespace
}  // namespace sassay::agent
