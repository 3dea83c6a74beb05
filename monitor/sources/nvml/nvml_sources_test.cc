// The NVML sources against a library that does what a file says (tests/injected/scripted_nvml.cc), which is found by
// LD_LIBRARY_PATH as the driver's is.
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "common/base/files.h"
#include "common/base/steady_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "monitor/sources/nvml/sources.h"

namespace sassay::monitor::nvml {
namespace {

using Values = std::map<std::string, double>;

class NvmlTest : public testing::Test {
 protected:
  NvmlTest() { setenv("SASSAY_SCRIPTED_NVML", Path().c_str(), 1); }
  std::string Path() const { return (directory_.path() / "script").string(); }
  void Script(const std::string& text) { ASSERT_TRUE(WriteFileAtomically(Path(), text).ok()); }

  static Values Read(Source& source, const std::string& gpu) {
    Values values;
    const auto samples = source.Read();
    EXPECT_TRUE(samples.ok()) << samples.status();
    if (!samples.ok()) return values;
    for (const Sample& sample : *samples) {
      if (sample.gpu == gpu) values[sample.signal] = sample.value;
    }
    return values;
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("nvml_test");
  std::shared_ptr<Directory> gpus_ = std::make_shared<Directory>();
};

TEST_F(NvmlTest, ReadsWhatEachGpuSays) {
  Script("gpu GPU-a temperature=61 margin=26 clock=1755 reasons=0x4 power=650\ngpu GPU-b temperature=30\n");
  const auto source = MakeClockSource(gpus_);
  Values a = Read(*source, "GPU-a");
  EXPECT_EQ(a["gpu.temperature_celsius"], 61);
  EXPECT_EQ(a["gpu.thermal_margin_celsius"], 26);
  EXPECT_EQ(a["gpu.sm_clock_mhz"], 1755);
  EXPECT_EQ(a["gpu.clock_reasons"], 4);
  EXPECT_EQ(a["gpu.power_watts"], 650);
  EXPECT_EQ(a["gpu.lost"], 0);
  EXPECT_EQ(a.count("gpu.power_cap_ratio"), 0u) << "a share of the time needs two readings";
  EXPECT_EQ(gpus_->UuidAt("0000:11:00"), "GPU-b");
  EXPECT_EQ(Read(*MakeClockSource(gpus_), "GPU-b")["gpu.temperature_celsius"], 30);
}

TEST_F(NvmlTest, CountersAreReadNowAndThenUnlessSomethingSlowsTheGpuDown) {
  Script("gpu GPU-a reasons=0x4\n");
  const auto source = MakeClockSource(gpus_);
  EXPECT_EQ(Read(*source, "GPU-a").count("gpu.power_cap_seconds_total"), 1u);
  EXPECT_EQ(Read(*source, "GPU-a").count("gpu.power_cap_seconds_total"), 0u);
  Script("gpu GPU-a reasons=0x20\n");
  Values slowed = Read(*source, "GPU-a");
  EXPECT_EQ(slowed.count("gpu.thermal_slowdown_ratio"), 1u);
  EXPECT_GT(slowed["gpu.power_cap_ratio"], 0) << "the share is of the whole time since the reading before";
  Script("gpu GPU-a\n");
  EXPECT_GT(Read(*source, "GPU-a")["gpu.thermal_slowdown_ratio"], 0) << "what ended since the reading before";
  EXPECT_EQ(Read(*source, "GPU-a").count("gpu.thermal_slowdown_ratio"), 0u);
}

TEST_F(NvmlTest, HeatInHardwareIsBothThermalAndHardware) {
  Script("gpu GPU-a reasons=0x40\n");
  const auto source = MakeClockSource(gpus_);
  Read(*source, "GPU-a");
  Values values = Read(*source, "GPU-a");
  EXPECT_GT(values["gpu.thermal_slowdown_ratio"], 0.9);
  EXPECT_GT(values["gpu.hw_slowdown_ratio"], 0.9);
  EXPECT_EQ(values["gpu.power_cap_ratio"], 0);
}

TEST_F(NvmlTest, LostGpuIsLostAndTheOthersGoOn) {
  Script("gpu GPU-a\ngpu GPU-b temperature=33\n");
  const auto source = MakeClockSource(gpus_);
  Read(*source, "GPU-a");
  Script("gpu GPU-a error=15\ngpu GPU-b temperature=34\n");
  EXPECT_EQ(Read(*source, "GPU-a")["gpu.lost"], 1);
  Values b = Read(*source, "GPU-b");
  EXPECT_EQ(b["gpu.lost"], 0);
  EXPECT_EQ(b.count("gpu.clock_reasons"), 1u);
}

TEST_F(NvmlTest, OtherErrorsAreSilenceOfThatGpuAndNotLoss) {
  Script("gpu GPU-a\n");
  const auto source = MakeClockSource(gpus_);
  Read(*source, "GPU-a");
  Script("gpu GPU-a error=999\n");
  Values values = Read(*source, "GPU-a");
  EXPECT_EQ(values["gpu.lost"], 0);
  EXPECT_GT(values["gpu.silent_seconds"], 0);
  EXPECT_EQ(values.count("gpu.temperature_celsius"), 0u);
}

TEST_F(NvmlTest, NoDriverIsUnavailableUntilThereIsOne) {
  Script("lost_driver\ngpu GPU-a temperature=50\n");
  const auto source = MakeClockSource(gpus_);
  EXPECT_TRUE(absl::IsUnavailable(source->Read().status()));
  Script("gpu GPU-a temperature=50\n");
  EXPECT_EQ(Read(*source, "GPU-a")["gpu.temperature_celsius"], 50);
}

TEST_F(NvmlTest, ReadsErrorsOfMemoryAndBus) {
  Script("gpu GPU-a ecc=2 ecc_corrected=7 remap_pending=1 replay=5 utilization=98 limit=500\n");
  const auto source = MakeStateSource(std::make_shared<OurProcesses>());
  Values values = Read(*source, "GPU-a");
  EXPECT_EQ(values["gpu.ecc_uncorrected_total"], 2);
  EXPECT_EQ(values["gpu.ecc_corrected_total"], 7);
  EXPECT_EQ(values["gpu.row_remap_pending"], 1);
  EXPECT_EQ(values["gpu.row_remap_failed"], 0);
  EXPECT_EQ(values["gpu.pcie_replay_total"], 5);
  EXPECT_EQ(values["gpu.utilization_ratio"], 0.98);
  EXPECT_EQ(values["gpu.power_limit_watts"], 500);
}

TEST_F(NvmlTest, ProcessThatIsNotOursIsForeignAtTheSecondReading) {
  const pid_t stranger = getppid();
  Script("gpu GPU-a processes=" + std::to_string(stranger) + "," + std::to_string(getpid()) + "\n");
  const auto ours = std::make_shared<OurProcesses>();
  const auto source = MakeStateSource(ours);
  EXPECT_EQ(Read(*source, "GPU-a")["gpu.foreign_processes"], 0) << "it may be ours and just begun";
  EXPECT_EQ(Read(*source, "GPU-a")["gpu.foreign_processes"], 1);
  ours->Set(1, {stranger});
  EXPECT_EQ(Read(*source, "GPU-a")["gpu.foreign_processes"], 0);
}

TEST_F(NvmlTest, XidComesOnceWhoeverTellsItFirst) {
  Script("gpu GPU-a\ngpu GPU-b\n");
  const auto filter = std::make_shared<XidFilter>();
  const auto source = MakeEventSource(filter);
  EXPECT_TRUE(Read(*source, "GPU-b").empty());
  Script("gpu GPU-a\ngpu GPU-b xid=79\n");
  EXPECT_EQ(Read(*source, "GPU-b")["gpu.xid"], 79);
  EXPECT_TRUE(Read(*source, "GPU-b").empty());
  EXPECT_TRUE(filter->IsNew("GPU-b", 31, "kernel_log", SteadyNow()));
  Script("gpu GPU-a\ngpu GPU-b xid=79,31\n");
  EXPECT_TRUE(Read(*source, "GPU-b").empty());
}

TEST(NormalPci, IsOneFormForAll) {
  for (const char* form : {"PCI:0000:3B:00", "00000000:3b:00.0", "0000:3b:00.0", "0000:3B:00"}) {
    EXPECT_EQ(NormalPci(form), "0000:3b:00") << form;
  }
  for (const char* form : {"", "3b:00", "0000:3b", "0000:3b:zz", "0:3b:00", "0000:3b:00:00"}) {
    EXPECT_EQ(NormalPci(form), "") << form;
  }
}

}  // namespace
}  // namespace sassay::monitor::nvml
