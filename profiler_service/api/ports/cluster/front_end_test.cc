// What clients and operators see of a cluster at one of its front ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/base/sha256.h"
#include "common/base/steady_time.h"
#include "common/bundle/bundle.h"
#include "profiler_service/api/ports/cluster/testing/front_end_fixture.h"
#include "profiler_service/cluster/remote_store.h"
#include "profiler_service/pipeline/testing/fake_gpus.h"
#include "profiler_service/store/sqlite/sqlite_store.h"

namespace sassay::api {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class FrontEndTest : public testing::Test {
 protected:
  FrontEndTest() {
    cluster::FrontEndOptions options = NodeOptions({front_end_.address()}, "n1", {"GPU-1"});
    options.facts.set_sassay_version("0.9");
    sassay::v1::DeviceCapability& device = *options.facts.mutable_gpus(0)->mutable_device();
    device.set_model("NVIDIA H200");
    device.add_archs("sm_90a");
    front_ends_ = *cluster::FrontEnds::Open(std::move(options));
    EXPECT_TRUE(front_ends_->Register(SteadyNow() + absl::Seconds(30)).ok());
    node_ = std::make_unique<cluster::RemoteStore>(*front_ends_);
  }

  template <typename Stub, typename Request, typename Response>
  grpc::Status Call(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const std::string& token, const Request& request, Response& response) {
    const auto context = Context(token);
    return (stub.*method)(context.get(), request, &response);
  }
  static std::unique_ptr<grpc::ClientContext> Context(const std::string& token) {
    auto context = std::make_unique<grpc::ClientContext>();
    context->AddMetadata("authorization", "Bearer token-of-" + token);
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    return context;
  }
  // What Profile says of a bundle for `arch`: OK as soon as it is accepted.
  grpc::Status Submit(const std::string& arch, const std::string& model = "") {
    sassay::v1::Bundle bundle;
    bundle.mutable_compilation()->set_arch(arch);
    bundle.set_cubin(arch + model);
    const std::string bytes = *SerializeBundle(bundle);
    sassay::v1::ProfileRequest request;
    request.set_request_id(arch + model);
    request.set_bundle_sha256(Sha256Hex(bytes));
    request.set_workload("gemm_n256_k256/M=256");
    request.set_gpu_model(model);
    EXPECT_TRUE(front_end_.blobs().Write("ann", request.bundle_sha256(), bytes.size(), 0, bytes).ok());
    const auto context = Context("ann");
    const auto stream = profiler_->Profile(context.get(), request);
    sassay::v1::Event event;
    if (stream->Read(&event)) {
      context->TryCancel();
      return grpc::Status::OK;
    }
    return stream->Finish();
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("front_end_test");
  const std::unique_ptr<store::Store> store_ =
      *store::OpenSqliteStore(directory_.path() / "db", store::Hears::kEverybody);
  FrontEndFixture front_end_{directory_.path(), *store_, *store_};
  const std::shared_ptr<grpc::Channel> channel_ =
      grpc::CreateChannel(front_end_.address(), grpc::InsecureChannelCredentials());
  const std::unique_ptr<sassay::v1::Profiler::Stub> profiler_ = sassay::v1::Profiler::NewStub(channel_);
  const std::unique_ptr<sassay::v1::Control::Stub> control_ = sassay::v1::Control::NewStub(channel_);
  std::unique_ptr<cluster::FrontEnds> front_ends_;
  std::unique_ptr<cluster::RemoteStore> node_;
};

TEST_F(FrontEndTest, TellsOfItsNodesDevices) {
  sassay::v1::GetCapabilitiesResponse capabilities;
  ASSERT_TRUE(Call(*profiler_, &sassay::v1::Profiler::Stub::GetCapabilities, "ann", {}, capabilities).ok());
  ASSERT_EQ(capabilities.devices_size(), 1);
  EXPECT_EQ(capabilities.devices(0).node(), "pool/n1");
  EXPECT_EQ(capabilities.devices(0).model(), "NVIDIA H200");
}

TEST_F(FrontEndTest, TakesWhatANodeRunsIntoItsPoolAndRefusesTheRestAtOnce) {
  EXPECT_TRUE(Submit("sm_90a").ok());
  EXPECT_TRUE(Submit("sm_90a", "NVIDIA H200").ok());
  const grpc::Status arch = Submit("sm_100a");
  EXPECT_EQ(arch.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(arch.error_message(), AllOf(HasSubstr("sm_100a"), HasSubstr("1 × NVIDIA H200 (sm_90a) on pool/n1")));
  EXPECT_EQ(Submit("sm_90a", "NVIDIA B200").error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(store_->CountDepths()->queued, 2u);
  const auto lease =
      store::Await<absl::optional<store::Lease>>([&](store::Callback<absl::optional<store::Lease>> done) {
        node_->Acquire("node", kClusterTestNow, kClusterTestNow + absl::Seconds(30), std::move(done));
      });
  EXPECT_TRUE(lease.ok() && lease->has_value()) << "the node looks into the pool of its architecture";
}

TEST_F(FrontEndTest, AHoldThatAnOperatorPlacesHereClosesTheGpuAtItsNode) {
  pipeline::FakeGpus gpus({"GPU-1"});
  GpuHolds holds(*node_, gpus);
  queue::Queue queue(*node_, {});
  ASSERT_TRUE(holds.Start().ok());
  absl::Mutex mutex;
  int looked = 0;
  const auto ear = queue.OnHolds([&] {
    EXPECT_TRUE(holds.Refresh().ok());
    absl::MutexLock lock(&mutex);
    ++looked;
  });
  ASSERT_TRUE(queue.Start().ok());
  const auto wait_until = [&](const std::function<bool()>& met) {
    absl::MutexLock lock(&mutex);
    return mutex.AwaitWithTimeout(absl::Condition(&met), absl::Seconds(30));
  };
  sassay::v1::QuarantineGpuRequest quarantine;
  quarantine.set_uuid("GPU-1");
  quarantine.set_reason("new cable");
  sassay::v1::QuarantineGpuResponse quarantined;
  ASSERT_TRUE(Call(*control_, &sassay::v1::Control::Stub::QuarantineGpu, "root", quarantine, quarantined).ok());
  EXPECT_TRUE(wait_until([&] { return !gpus.closed("GPU-1").empty(); }));
  EXPECT_THAT(gpus.closed("GPU-1"), HasSubstr("new cable"));

  sassay::v1::ListGpusResponse listed;
  ASSERT_TRUE(Call(*control_, &sassay::v1::Control::Stub::ListGpus, "root", {}, listed).ok());
  ASSERT_EQ(listed.gpus_size(), 1);
  EXPECT_EQ(listed.gpus(0).node(), "pool/n1");
  EXPECT_EQ(listed.gpus(0).sassay_version(), "0.9");
  EXPECT_EQ(listed.gpus(0).state(), sassay::v1::GPU_STATE_QUARANTINED);

  sassay::v1::ReleaseGpuRequest release;
  release.set_uuid("GPU-1");
  release.set_force(true);
  sassay::v1::ReleaseGpuResponse released;
  ASSERT_TRUE(Call(*control_, &sassay::v1::Control::Stub::ReleaseGpu, "root", release, released).ok());
  EXPECT_TRUE(wait_until([&] { return gpus.closed("GPU-1").empty(); }));

  sassay::v1::RunCanaryRequest canary;
  canary.set_uuid("GPU-1");
  sassay::v1::RunCanaryResponse ran;
  EXPECT_EQ(Call(*control_, &sassay::v1::Control::Stub::RunCanary, "root", canary, ran).error_code(),
            grpc::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace sassay::api
