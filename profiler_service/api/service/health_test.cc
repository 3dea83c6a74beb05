// The standard services beside ours: grpc.health.v1 and reflection, called by their wire format so that no generated
// code of theirs is needed.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "profiler_service/api/service/server_testing.h"

namespace sassay::api {
namespace {

grpc::ByteBuffer Buffer(const std::string& bytes) {
  grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string Text(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

// One message there, one message back.
std::string Exchange(const TestClient& client, const std::string& method, const std::string& request) {
  grpc::GenericStub stub(client.channel);
  grpc::CompletionQueue queue;
  const auto context = client.Context();
  const auto call = stub.PrepareCall(context.get(), method, &queue);
  void* tag;
  bool ok = false;
  call->StartCall(nullptr);
  queue.Next(&tag, &ok);
  call->WriteLast(Buffer(request), grpc::WriteOptions(), nullptr);
  queue.Next(&tag, &ok);
  grpc::ByteBuffer response;
  call->Read(&response, nullptr);
  queue.Next(&tag, &ok);
  grpc::Status status;
  call->Finish(&status, nullptr);
  queue.Next(&tag, &ok);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return Text(response);
}

TEST_F(ServerTest, HealthSaysServing) {
  Start();
  EXPECT_EQ(Exchange(Client(), "/grpc.health.v1.Health/Check", ""), std::string("\x08\x01"));
}

TEST_F(ServerTest, ReflectionListsOurServices) {
  Start();
  // ServerReflectionRequest{list_services: ""}.
  const std::string answer =
      Exchange(Client(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", std::string("\x3a\x00", 2));
  EXPECT_THAT(answer, testing::HasSubstr("sassay.v1.Profiler"));
  EXPECT_THAT(answer, testing::HasSubstr("sassay.v1.Control"));
}

}  // namespace
}  // namespace sassay::api
