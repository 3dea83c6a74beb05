#include "profiler_service/device/sampler.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/base/steady_time.h"
#include "profiler_service/device/fake_device.h"

namespace sassay::device {
namespace {

class SamplerTest : public testing::Test {
 protected:
  SamplerTest() {
    device_.kernels["good"] = [](const Launch&, FakeDevice&) { return Execution(); };
    device_.kernels["fails"] = [](const Launch&, FakeDevice&) {
      Execution execution;
      execution.outcome = worker::RUN_OUTCOME_FAULT;
      return execution;
    };
  }

  absl::StatusOr<Execution> Enqueue(const std::string& kernel) {
    Launch launch;
    launch.kernel = kernel;
    if (absl::Status status = device_.Enqueue(launch); !status.ok()) return status;
    return Execution();
  }

  absl::StatusOr<SampledBlock> Sample(int samples, bool hold, const std::string& kernel = "good") {
    return SampleBlock(
        device_, samples, hold, absl::InfiniteFuture(),
        [this](int i) {
          device_.log.push_back(absl::StrCat("prepare ", i));
          return Execution();
        },
        [&](int) { return Enqueue(kernel); });
  }

  FakeDevice device_;
};

TEST_F(SamplerTest, EachCallIsPreparedFlushedHeldMarkedAndLetGo) {
  const auto block = Sample(2, true);
  ASSERT_TRUE(block.ok()) << block.status();
  EXPECT_EQ(absl::StrJoin(device_.log, ","),
            "forget,probe,prepare 0,flush,hold,mark 0,launch good,mark 1,release,wait,"
            "probe,prepare 1,flush,hold,mark 2,launch good,mark 3,release,wait,probe,wait");
  EXPECT_EQ(block->samples_ns, (std::vector<double>{1000, 1000}));
  EXPECT_EQ(block->clock_mhz, 1900);
  EXPECT_FALSE(block->late);
}

TEST_F(SamplerTest, WhatIsHeldIsLetGoWhateverGoesWrong) {
  device_.trouble = [](absl::string_view operation) {
    return operation == "mark" ? absl::InternalError("no event") : absl::OkStatus();
  };
  EXPECT_FALSE(Sample(1, true).ok());
  EXPECT_EQ(device_.log.back(), "release");
}

TEST_F(SamplerTest, CallThatWaitsBehindItsHoldIsLate) {
  const auto block = SampleBlock(
      device_, 1, true, absl::InfiniteFuture(), [](int) { return Execution(); },
      [this](int) { return device_.Synchronize(absl::InfiniteFuture()); });
  ASSERT_TRUE(block.ok()) << block.status();
  EXPECT_TRUE(block->late);
}

TEST_F(SamplerTest, FaultIsAnExecutionWithoutSamples) {
  const auto block = Sample(3, true, "fails");
  ASSERT_TRUE(block.ok()) << block.status();
  EXPECT_EQ(block->execution.outcome, worker::RUN_OUTCOME_FAULT);
  EXPECT_TRUE(block->samples_ns.empty());
}

TEST_F(SamplerTest, StretchSaysWhatItsHostTookToLaunchASmallKernel) {
  const absl::Duration host = absl::Microseconds(300);
  device_.trouble = [&](absl::string_view operation) {
    if (operation == "probe") absl::SleepFor(host);
    return absl::OkStatus();
  };
  const absl::Time begin = SteadyNow();
  const auto stretch = RunStretch(device_, {9, absl::ZeroDuration(), absl::Hours(1), 4}, absl::InfiniteFuture(),
                                  [&](int) { return Enqueue("good"); });
  ASSERT_TRUE(stretch.ok()) << stretch.status();
  EXPECT_GE(stretch->enqueue_ns, absl::ToDoubleNanoseconds(host));
  EXPECT_LE(stretch->enqueue_ns, absl::ToDoubleNanoseconds(SteadyNow() - begin));
}

TEST_F(SamplerTest, StretchMakesTheCallsThatWereAskedForAndFewerIfTheyTakeTooLong) {
  const auto call = [this](int) { return Enqueue("good"); };
  const auto stretch = RunStretch(device_, {10, absl::ZeroDuration(), absl::Hours(1), 4}, absl::InfiniteFuture(), call);
  ASSERT_TRUE(stretch.ok()) << stretch.status();
  EXPECT_EQ(stretch->calls, 10);
  EXPECT_EQ(stretch->clock_mhz, 1900);
  const auto slow = RunStretch(device_, {10, absl::Hours(1), absl::ZeroDuration(), 4}, absl::InfiniteFuture(), call);
  ASSERT_TRUE(slow.ok()) << slow.status();
  EXPECT_EQ(slow->calls, 1);
}

}  // namespace
}  // namespace sassay::device
