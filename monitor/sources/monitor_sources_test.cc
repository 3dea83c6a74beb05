// The host, the kernel log and replayed traces as sources.
#include <fstream>

#include "common/base/files.h"
#include "common/base/steady_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "monitor/sources/host_source.h"
#include "monitor/sources/kernel_log/source.h"
#include "monitor/sources/replay_source.h"
#include "monitor/sources/service/telemetry.h"

namespace sassay::monitor {
namespace {

using ::testing::HasSubstr;

double ValueOf(const std::vector<Sample>& samples, const std::string& signal) {
  for (const Sample& sample : samples) {
    if (sample.signal == signal) return sample.value;
  }
  ADD_FAILURE() << "no " << signal;
  return -1;
}

TEST(HostSource, ReadsDiskMemoryAndLoad) {
  const TemporaryDirectory proc = *TemporaryDirectory::Create("proc");
  std::ofstream(proc.path() / "meminfo") << "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  250 kB\n";
  std::ofstream(proc.path() / "loadavg") << "0.00 1.0 2.0 1/100 42\n";
  const auto source = MakeHostSource({{proc.path(), "/does/not/exist"}, proc.path()});
  const auto samples = *source->Read();
  EXPECT_DOUBLE_EQ(ValueOf(samples, "host.memory_available_ratio"), 0.25);
  EXPECT_DOUBLE_EQ(ValueOf(samples, "host.load_per_cpu"), 0);
  const double free = ValueOf(samples, "host.disk_free_ratio");
  EXPECT_GT(free, 0);
  EXPECT_LE(free, 1);
}

TEST(HostSource, LeavesOutWhatItCannotRead) { EXPECT_TRUE(MakeHostSource({{}, "/does/not/exist"})->Read()->empty()); }

// A file stands for /dev/kmsg; one read gives all of it, so it holds one record at a time.
class KernelLogTest : public testing::Test {
 protected:
  std::unique_ptr<Source> Make(const std::string& record) {
    std::ofstream(directory_.path() / "kmsg") << record;
    KernelLogOptions options;
    options.device = directory_.path() / "kmsg";
    options.position_file = directory_.path() / "position";
    options.boot_id_file = directory_.path() / "boot";
    return MakeKernelLogSource(options, gpus_, filter_);
  }
  void RememberPosition(const std::string& text) {
    std::ofstream(directory_.path() / "boot") << "b00t\n";
    std::ofstream(directory_.path() / "position") << text;
  }

  const TemporaryDirectory directory_ = *TemporaryDirectory::Create("kernel_log");
  std::shared_ptr<nvml::Directory> gpus_ = std::make_shared<nvml::Directory>();
  std::shared_ptr<XidFilter> filter_ = std::make_shared<XidFilter>();
};

constexpr char kXid[] = "3,70,95003512,-;NVRM: Xid (PCI:0000:18:00): 79, pid=7, name=x, GPU has fallen off the bus.\n";

TEST_F(KernelLogTest, XidSinceTheLastOneIsToldWithItsGpuAndLine) {
  RememberPosition("b00t 69\n");
  gpus_->Learn("0000:18:00", "GPU-a");
  const auto source = Make(kXid);
  const auto samples = *source->Read();
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].gpu, "GPU-a");
  EXPECT_EQ(samples[0].value, 79);
  EXPECT_THAT(samples[0].text, HasSubstr("fallen off the bus"));
  EXPECT_EQ(*ReadFile(directory_.path() / "position"), "b00t 70\n");
}

TEST_F(KernelLogTest, XidThatWasToldBeforeIsNotToldAgain) {
  RememberPosition("b00t 70\n");
  gpus_->Learn("0000:18:00", "GPU-a");
  EXPECT_TRUE(Make(kXid)->Read()->empty());
}

TEST_F(KernelLogTest, FirstStartReadsFromTheEnd) {
  gpus_->Learn("0000:18:00", "GPU-a");
  EXPECT_TRUE(Make(kXid)->Read()->empty());
}

TEST_F(KernelLogTest, XidWaitsUntilNvmlKnowsTheGpu) {
  RememberPosition("b00t 1\n");
  const auto source = Make(kXid);
  EXPECT_TRUE(source->Read()->empty());
  gpus_->Learn("0000:18:00", "GPU-a");
  EXPECT_EQ(source->Read()->size(), 1u);
}

TEST_F(KernelLogTest, WhatAProcessWroteIsNoXid) {
  RememberPosition("b00t 1\n");
  gpus_->Learn("0000:18:00", "GPU-a");
  EXPECT_TRUE(Make("12,70,95003512,-;NVRM: Xid (PCI:0000:18:00): 79, x\n")->Read()->empty());
}

TEST_F(KernelLogTest, LogThatMayNotBeReadIsUnavailable) {
  KernelLogOptions options;
  options.device = directory_.path() / "none";
  EXPECT_TRUE(absl::IsUnavailable(MakeKernelLogSource(options, gpus_, filter_)->Read().status()));
}

TEST(Trace, IsReadAndWrittenLineByLine) {
  const auto trace = ParseTrace("# hot\n0 GPU-a gpu.temperature_celsius 61\n\n1.5 - host.load_per_cpu 0.5 four CPUs\n");
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->size(), 2u);
  EXPECT_EQ((*trace)[1].gpu, "");
  EXPECT_EQ((*trace)[1].text, "four CPUs");
  EXPECT_EQ((*trace)[1].at, absl::UnixEpoch() + absl::Seconds(1.5));
  EXPECT_EQ(TraceLine((*trace)[1], absl::UnixEpoch()), "1.5 - host.load_per_cpu 0.5 four CPUs");
}

TEST(Trace, NamesTheLineThatIsWrong) {
  EXPECT_THAT(std::string(ParseTrace("0 a b 1\nx a b 1\n").status().message()), HasSubstr("line 2: SECONDS"));
  EXPECT_THAT(std::string(ParseTrace("0 a b\n").status().message()), HasSubstr("expected SECONDS GPU"));
  EXPECT_THAT(std::string(ParseTrace("0 a b c\n").status().message()), HasSubstr("VALUE"));
  EXPECT_THAT(std::string(ParseTrace("2 a b 1\n1 a b 1\n").status().message()), HasSubstr("earlier"));
}

TEST(ReplaySource, GivesEachSampleWhenItsTimeHasCome) {
  const auto source = MakeReplaySource("nvml", *ParseTrace("0 g s 1\n3600 g s 2\n"));
  const auto first = *source->Read();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].value, 1);
  EXPECT_LE(first[0].at, SteadyNow());
  EXPECT_TRUE(source->Read()->empty());
}

TEST(Telemetry, HeartbeatIsThePulseOfEachGpu) {
  v1::Telemetry message;
  v1::GpuPulse& gpu = *message.mutable_heartbeat()->add_gpus();
  gpu.set_uuid("g");
  gpu.set_judge_silent_ns(1'500'000'000);
  gpu.set_runner_overdue_ns(250'000'000);
  const auto samples = SamplesOf(message, absl::UnixEpoch());
  EXPECT_EQ(ValueOf(samples, "judge.silent_seconds"), 1.5);
  EXPECT_EQ(ValueOf(samples, "runner.overdue_seconds"), 0.25);
}

TEST(Telemetry, FaultIsTheCandidatesOnlyIfItWasProven) {
  v1::Telemetry message;
  message.mutable_fault()->set_uuid("g");
  EXPECT_EQ(SamplesOf(message, absl::UnixEpoch())[0].signal, "fault.unblamed");
  message.mutable_fault()->set_blamed(true);
  EXPECT_EQ(SamplesOf(message, absl::UnixEpoch())[0].signal, "fault.blamed");
}

TEST(Telemetry, WorkersThatEndAsToldAreNoNews) {
  v1::Telemetry message;
  v1::WorkerObserved& worker = *message.mutable_worker();
  worker.set_kind("judge");
  worker.set_happening(v1::WorkerObserved::ENDED);
  EXPECT_TRUE(SamplesOf(message, absl::UnixEpoch()).empty());
  worker.set_happening(v1::WorkerObserved::KILLED_SILENT);
  EXPECT_EQ(SamplesOf(message, absl::UnixEpoch())[0].signal, "judge.died");
  worker.set_kind("runner");
  EXPECT_EQ(SamplesOf(message, absl::UnixEpoch())[0].signal, "runner.killed");
  worker.set_happening(v1::WorkerObserved::DIED);
  EXPECT_EQ(SamplesOf(message, absl::UnixEpoch())[0].signal, "runner.died");
}

TEST(Telemetry, TimingWithoutBlocksOrHistorySaysNothing) {
  v1::Telemetry message;
  v1::TimingObserved& timing = *message.mutable_timing();
  EXPECT_TRUE(SamplesOf(message, absl::UnixEpoch()).empty());
  timing.set_blocks(10);
  timing.set_void_blocks(2);
  timing.set_baseline_over_history(1.04);
  const auto samples = SamplesOf(message, absl::UnixEpoch());
  EXPECT_EQ(ValueOf(samples, "timing.void_ratio"), 0.2);
  EXPECT_EQ(ValueOf(samples, "timing.baseline_ratio"), 1.04);
}

TEST(Telemetry, TimeIsTheServicesUnlessItsClockIsElsewhere) {
  const absl::Time wall = absl::FromUnixSeconds(1'000'000), steady = absl::FromUnixSeconds(500);
  v1::Telemetry message;
  EXPECT_EQ(SteadyTimeOf(message, wall, steady), steady);
  message.mutable_at()->set_seconds(999'998);
  EXPECT_EQ(SteadyTimeOf(message, wall, steady), steady - absl::Seconds(2));
  message.mutable_at()->set_seconds(1'000'005);
  EXPECT_EQ(SteadyTimeOf(message, wall, steady), steady);
  message.mutable_at()->set_seconds(5);
  EXPECT_EQ(SteadyTimeOf(message, wall, steady), steady);
}

}  // namespace
}  // namespace sassay::monitor
