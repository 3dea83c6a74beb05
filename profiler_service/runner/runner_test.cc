#include "profiler_service/runner/runner.h"

#include <gtest/gtest.h>

#include <thread>

#include "absl/time/clock.h"
#include "google/protobuf/text_format.h"
#include "profiler_service/device/fake_device.h"

namespace sassay::runner {
namespace {

using device::Execution;
using device::FakeDevice;

worker::RunnerRequest Request(const std::string& text) {
  worker::RunnerRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
  return request;
}

worker::RunnerRequest LoadRequest(const std::string& mode) {
  return Request("load { mode: " + mode +
                 " bundle { plans { steady { launch { kernel: 'k' grid { x: 1 y: 1 z: 1 } block { x: 1 y: 1 z: 1 } } }"
                 " } } }");
}

class RunnerTest : public testing::Test {
 protected:
  worker::RunnerReply RunOnce(worker::RunMode mode, const std::string& steady) {
    Runner runner(device_, mode, [] { return "printed"; });
    for (const auto& request :
         {LoadRequest(worker::RunMode_Name(mode)), Request("bind {}"), Request("setup { deadline_ns: 1000000000 }")}) {
      const auto reply = runner.Answer(request, {});
      EXPECT_EQ(reply.outcome(), worker::RUN_OUTCOME_OK) << reply.message();
    }
    return runner.Answer(Request(steady), {});
  }

  void KernelEnds(Execution execution) {
    device_.kernels["k"] = [execution](const device::Launch&, FakeDevice&) { return execution; };
  }

  FakeDevice device_;
};

TEST_F(RunnerTest, ADeviceThatWritesWhatItIsToldToIsAlive) {
  Runner runner(device_, worker::RUN_MODE_PLAIN, [] { return ""; });
  EXPECT_EQ(runner.Answer(Request("prove_alive { seed: 7 }"), {}).outcome(), worker::RUN_OUTCOME_OK);
  EXPECT_EQ(runner.Answer(LoadRequest("RUN_MODE_PLAIN"), {}).outcome(), worker::RUN_OUTCOME_OK);
  EXPECT_EQ(runner.Answer(Request("prove_alive { seed: 7 }"), {}).outcome(), worker::RUN_OUTCOME_INFRA)
      << "a candidate has this runner";
}

TEST_F(RunnerTest, ADeviceThatFailsOrWritesSomethingElseIsNotAlive) {
  struct Forgetful : FakeDevice {
    absl::Status Poison(device::DeviceAddress address, uint64_t size_bytes, uint64_t seed) override {
      return FakeDevice::Poison(address, size_bytes / 2, seed);
    }
  };
  Forgetful forgetful;
  Runner runner(forgetful, worker::RUN_MODE_PLAIN, [] { return ""; });
  const auto reply = runner.Answer(Request("prove_alive { seed: 7 }"), {});
  EXPECT_EQ(reply.outcome(), worker::RUN_OUTCOME_INFRA);
  EXPECT_EQ(reply.code(), v1::VERDICT_CODE_DEVICE_LOST);
  device_.trouble = [](absl::string_view) { return absl::UnavailableError("gone"); };
  Runner another(device_, worker::RUN_MODE_PLAIN, [] { return ""; });
  EXPECT_EQ(another.Answer(Request("prove_alive { seed: 7 }"), {}).outcome(), worker::RUN_OUTCOME_INFRA);
}

TEST_F(RunnerTest, GoodCallIsOkAndCarriesWhatWasPrinted) {
  KernelEnds({});
  const auto reply = RunOnce(worker::RUN_MODE_PLAIN, "steady { deadline_ns: 1000000000 }");
  EXPECT_EQ(reply.outcome(), worker::RUN_OUTCOME_OK);
  EXPECT_EQ(reply.device_output(), "printed");
}

TEST_F(RunnerTest, FaultComesWithCodeMessageAndBoundedFindings) {
  Execution fault;
  fault.outcome = worker::RUN_OUTCOME_FAULT;
  fault.code = v1::VERDICT_CODE_ILLEGAL_ADDRESS;
  fault.message = "k: out of bounds";
  fault.findings.resize(1000);
  KernelEnds(fault);
  const auto reply = RunOnce(worker::RUN_MODE_PLAIN, "steady { deadline_ns: 1000000000 }");
  EXPECT_EQ(reply.outcome(), worker::RUN_OUTCOME_FAULT);
  EXPECT_EQ(reply.code(), v1::VERDICT_CODE_ILLEGAL_ADDRESS);
  EXPECT_EQ(reply.message(), "k: out of bounds");
  EXPECT_EQ(reply.findings_size(), 64);
}

TEST_F(RunnerTest, CountedCallBringsEvidenceAndTimedCallSamples) {
  KernelEnds({});
  EXPECT_EQ(RunOnce(worker::RUN_MODE_COUNTED, "steady { deadline_ns: 1000000000 }").evidence().thread_instructions(),
            1u);
  const auto timed =
      RunOnce(worker::RUN_MODE_TIMED, "block { deadline_ns: 10000000000 sets: 0 sets: 0 sets: 0 }").block();
  EXPECT_EQ(timed.samples_ns_size(), 3);
  EXPECT_EQ(timed.clock_mhz(), 1900);
  EXPECT_TRUE(timed.held());
  EXPECT_FALSE(timed.late());
  const auto warm =
      RunOnce(worker::RUN_MODE_TIMED, "warm_up { deadline_ns: 10000000000 calls: 5 at_most_ns: 1000000000 }").block();
  EXPECT_GE(warm.calls(), 5u);
  EXPECT_EQ(warm.samples_ns_size(), 0);
}

TEST_F(RunnerTest, DeviceThatRunsSassTellsTheCrcOnceItIsLoadedAndTheCountsAfterTheCall) {
  device_.runs_sass = true;
  KernelEnds({});
  Runner runner(device_, worker::RUN_MODE_COUNTED, [] { return ""; });
  const auto loaded = runner.Answer(LoadRequest("RUN_MODE_COUNTED"), {});
  EXPECT_EQ(loaded.sass_counts().cubin_crc(), 1u);
  for (const char* request : {"bind {}", "setup { deadline_ns: 1000000000 }"}) runner.Answer(Request(request), {});
  const auto called = runner.Answer(Request("steady { deadline_ns: 1000000000 }"), {});
  EXPECT_EQ(called.sass_counts().launches(0).launches(), 1u);
  EXPECT_FALSE(called.has_evidence());
}

TEST_F(RunnerTest, DeviceThatRefusesTheModuleIsARefusalAndNotOurTrouble) {
  device_.load_status = absl::InvalidArgumentError("no kernel image for this GPU");
  Runner runner(device_, worker::RUN_MODE_PLAIN, [] { return ""; });
  const auto reply = runner.Answer(LoadRequest("RUN_MODE_PLAIN"), {});
  EXPECT_EQ(reply.outcome(), worker::RUN_OUTCOME_REFUSED);
  EXPECT_EQ(reply.code(), v1::VERDICT_CODE_LAUNCH_REFUSED);
}

TEST_F(RunnerTest, InstructionThatTheEmulatorLacksIsOurTrouble) {
  device_.load_status = absl::UnimplementedError("emulator lacks wgmma.mma_async");
  Runner runner(device_, worker::RUN_MODE_PLAIN, [] { return ""; });
  const auto reply = runner.Answer(LoadRequest("RUN_MODE_PLAIN"), {});
  EXPECT_EQ(reply.outcome(), worker::RUN_OUTCOME_INFRA);
  EXPECT_EQ(reply.code(), v1::VERDICT_CODE_EMULATOR_LACKS);
  EXPECT_EQ(reply.message(), "emulator lacks wgmma.mma_async");
}

TEST_F(RunnerTest, CandidateForAnotherModeIsRefused) {
  Runner runner(device_, worker::RUN_MODE_PLAIN, [] { return ""; });
  EXPECT_EQ(runner.Answer(LoadRequest("RUN_MODE_CHECKED"), {}).outcome(), worker::RUN_OUTCOME_INFRA);
  EXPECT_EQ(runner.Answer(Request(""), {}).outcome(), worker::RUN_OUTCOME_INFRA);
}

TEST_F(RunnerTest, ServesUntilThePeerCloses) {
  KernelEnds({});
  auto ends = wire::Channel::CreatePair();
  ASSERT_TRUE(ends.ok());
  absl::Status served = absl::UnknownError("");
  std::thread server([&, channel = std::move(ends->second)]() mutable {
    Runner runner(device_, worker::RUN_MODE_PLAIN, [] { return ""; });
    served = Serve(channel, runner);
  });
  const absl::Time soon = absl::Now() + absl::Seconds(20);
  worker::RunnerReply reply;
  EXPECT_TRUE(ends->first.Send(LoadRequest("RUN_MODE_PLAIN"), {}, soon).ok());
  EXPECT_TRUE(ends->first.Receive(reply, soon).ok());
  EXPECT_EQ(reply.outcome(), worker::RUN_OUTCOME_OK);
  ends->first.Release().reset();
  server.join();
  EXPECT_TRUE(served.ok()) << served;
}

}  // namespace
}  // namespace sassay::runner
