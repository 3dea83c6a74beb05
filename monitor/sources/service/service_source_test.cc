#include "common/base/steady_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "monitor/sources/service/source.h"
#include "monitor/testing/fake_control.h"

namespace sassay::monitor {
namespace {

class ServiceSourceTest : public testing::Test {
 protected:
  void Start() { source_ = MakeServiceSource(control_.Channel(), ours_, stakes_, ledger_); }
  v1::Telemetry Heartbeat(const std::string& instance) {
    v1::Telemetry message;
    message.mutable_heartbeat()->set_pid(4711);
    message.mutable_heartbeat()->set_instance(instance);
    message.mutable_heartbeat()->add_gpus()->set_uuid("GPU-a");
    message.mutable_heartbeat()->mutable_gpus(0)->add_runner_pids(4712);
    return message;
  }
  // Reads until a sample satisfies `wanted`.
  template <typename Wanted>
  Sample Await(const Wanted& wanted) {
    const absl::Time deadline = SteadyNow() + absl::Seconds(30);
    while (SteadyNow() < deadline) {
      const auto samples = source_->Read();
      if (!samples.ok()) continue;
      for (const Sample& sample : *samples) {
        if (wanted(sample)) return sample;
      }
    }
    ADD_FAILURE() << "no such sample came";
    return {};
  }
  Sample AwaitSignal(const std::string& signal) {
    return Await([&](const Sample& sample) { return sample.signal == signal; });
  }

  FakeControl control_;
  std::shared_ptr<OurProcesses> ours_ = std::make_shared<OurProcesses>();
  std::shared_ptr<Stakes> stakes_ = std::make_shared<Stakes>();
  std::shared_ptr<HoldLedger> ledger_ = std::make_shared<HoldLedger>();
  std::unique_ptr<Source> source_;
};

TEST_F(ServiceSourceTest, HeartbeatEndsTheSilenceAndNamesOurProcesses) {
  Start();
  control_.Tell(Heartbeat("one"));
  EXPECT_EQ(AwaitSignal("judge.silent_seconds").gpu, "GPU-a");
  EXPECT_LT(AwaitSignal("service.silent_seconds").value, 5);
  EXPECT_EQ(ours_->Judge(4711), OurProcesses::Kind::kOurs);
  EXPECT_EQ(ours_->Judge(4712), OurProcesses::Kind::kOurs);
}

TEST_F(ServiceSourceTest, HeartbeatSaysWhereWorkIsAtStake) {
  Start();
  v1::Telemetry busy = Heartbeat("one");
  busy.mutable_heartbeat()->mutable_gpus(0)->set_running(2);
  control_.Tell(busy);
  const absl::Time began = SteadyNow();
  AwaitSignal("judge.silent_seconds");
  EXPECT_TRUE(stakes_->Any("GPU-a", began + absl::Hours(1))) << "until another heartbeat says otherwise";
  EXPECT_FALSE(stakes_->Any("GPU-b", began));
  control_.Tell(Heartbeat("one"));
  AwaitSignal("judge.silent_seconds");
  EXPECT_TRUE(stakes_->Any("GPU-a", began + Stakes::kLinger)) << "a timing that just ended waits for a reading";
  EXPECT_FALSE(stakes_->Any("GPU-a", SteadyNow() + Stakes::kLinger));
}

TEST_F(ServiceSourceTest, SilenceGrowsWhileNothingComes) {
  Start();
  const double first = AwaitSignal("service.silent_seconds").value;
  EXPECT_GT(AwaitSignal("service.silent_seconds").value, first);
}

TEST_F(ServiceSourceTest, ConnectsAgainAndTellsOfAnotherInstance) {
  Start();
  control_.Tell(Heartbeat("one"));
  AwaitSignal("judge.silent_seconds");
  control_.BreakStreams();
  control_.Tell(Heartbeat("two"));
  EXPECT_EQ(AwaitSignal("service.started").text, "two");
}

TEST_F(ServiceSourceTest, LostMessagesAreCounted) {
  Start();
  v1::Telemetry message = Heartbeat("one");
  message.set_sequence(5);
  control_.Tell(message);
  message.set_sequence(9);
  control_.Tell(message);
  EXPECT_EQ(AwaitSignal("service.telemetry_gap").value, 3);
}

TEST_F(ServiceSourceTest, ServiceThatWantsNoMonitorIsAnErrorAndNoSilence) {
  control_.refusal = grpc::Status(grpc::PERMISSION_DENIED, "tenants stay out");
  Start();
  const absl::Time deadline = SteadyNow() + absl::Seconds(30);
  absl::Status status;
  while (status.ok() && SteadyNow() < deadline) status = source_->Read().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("tenants stay out"));
}

TEST_F(ServiceSourceTest, HoldThatEndsWithoutUsWasReleasedBySomebody) {
  v1::Gpu& gpu = *control_.gpus.add_gpus();
  gpu.set_uuid("GPU-a");
  gpu.set_model("NVIDIA H200");
  gpu.add_holds()->set_holder("monitor");
  Start();
  control_.Tell(Heartbeat("one"));
  EXPECT_EQ(AwaitSignal("gpu.model").text, "NVIDIA H200");
  v1::ListGpusResponse free = control_.gpus;
  free.mutable_gpus(0)->clear_holds();
  control_.ReplaceGpus(free);
  const Sample released = Await([this](const Sample& sample) {
    control_.Tell(Heartbeat("one"));
    return sample.signal == "gpu.released";
  });
  EXPECT_EQ(released.gpu, "GPU-a");
}

}  // namespace
}  // namespace sassay::monitor
