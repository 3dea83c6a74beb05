// A whole service in the test's process, on a free port, with a runner that the test scripts; and a client for it.
#ifndef SASSAY_PROFILER_SERVICE_API_SERVICE_SERVER_TESTING_H_
#define SASSAY_PROFILER_SERVICE_API_SERVICE_SERVER_TESTING_H_

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/files.h"
#include "profiler_service/api/service/server.h"
#include "profiler_service/pipeline/testing/fake_gpus.h"
#include "profiler_service/queue/queue_testing.h"
#include "profiler_service/telemetry/hub.h"
#include "sassay/v1/control.grpc.pb.h"
#include "sassay/v1/profiler.grpc.pb.h"

namespace sassay::api {

// What a call answered.
template <typename Response>
struct Answer {
  grpc::Status status;
  Response response;
};

// One caller. Thread-compatible.
class TestClient {
 public:
  TestClient(const std::string& address, const std::string& token,
             std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials());

  // A context with the token and a deadline that only a hanging test meets.
  std::unique_ptr<grpc::ClientContext> Context() const;

  grpc::Status Upload(const std::string& bytes);
  // Sends chunks [from, to) and leaves the stream: half-closed, or broken if `cancel`.
  grpc::Status UploadPart(const std::string& bytes, size_t from, size_t to, bool cancel);
  Answer<std::string> Download(const std::string& sha256, uint64_t offset = 0);
  Answer<sassay::v1::QueryWriteStatusResponse> WriteStatus(const std::string& sha256);
  Answer<sassay::v1::FindMissingBlobsResponse> FindMissing(const std::vector<std::string>& digests);
  // All events until the stream ends.
  Answer<std::vector<sassay::v1::Event>> Profile(const sassay::v1::ProfileRequest& request);
  Answer<std::vector<sassay::v1::Event>> Attach(const std::string& id, uint64_t after = 0);
  Answer<sassay::v1::CancelResponse> Cancel(const std::string& id);

  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<sassay::v1::Profiler::Stub> profiler;
  const std::unique_ptr<sassay::v1::Control::Stub> control;

 private:
  const std::string token_;
};

// Fixture.
class ServerTest : public testing::Test {
 protected:
  explicit ServerTest(std::vector<std::string> gpus = {"emulated:sm_90a#0"});
  void Start();
  void Restart();
  absl::StatusOr<std::unique_ptr<Server>> TryStart(const ServiceOptions& options);
  TestClient Client(const std::string& token = "") const { return TestClient(server_->address(), token); }
  // A request for bundle_, which has been uploaded by `client`.
  sassay::v1::ProfileRequest Uploaded(TestClient& client, const std::string& request_id);

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("server_test");
  ServiceOptions options_;
  sassay::v1::GetCapabilitiesResponse capabilities_;
  std::string settings_sha256_;
  queue::FakeRunner runner_{4};
  pipeline::FakeGpus gpus_;
  pipeline::Gpus* acts_on_ = &gpus_;
  telemetry::Hub telemetry_;
  std::unique_ptr<Server> server_;
  const std::string bundle_ = "a bundle, as far as the wire is concerned";
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_SERVICE_SERVER_TESTING_H_
