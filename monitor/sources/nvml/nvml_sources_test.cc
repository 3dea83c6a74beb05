// The NVML sources against a library that does what a file says (tests/injected/scripted_nvml.cc), which is found by
// LD_LIBRARY_PATH as the driver's is.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
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

  static std::map<std::string, Values> ReadAll(Source& source) {
    std::map<std::string, Values> values;
    const auto samples = source.Read();
    EXPECT_TRUE(samples.ok()) << samples.status();
    if (!samples.ok()) return values;
    for (const Sample& sample : *samples) values[sample.gpu][sample.signal] = sample.value;
    return values;
  }
  static Values Read(Source& source, const std::string& gpu) { return ReadAll(source)[gpu]; }
  std::unique_ptr<Source> Clocks() { return MakeClockSource(session_, gpus_, stakes_); }
  std::unique_ptr<Source> States(std::shared_ptr<OurProcesses> ours) {
    return MakeStateSource(session_, std::move(ours), stakes_);
  }
  // Reads until `gpu` gives this signal; what came with it, of all GPUs.
  static std::map<std::string, Values> NextOfAll(Source& source, const std::string& gpu,
                                                 const std::string& signal = "gpu.lost") {
    const absl::Time deadline = SteadyNow() + absl::Seconds(60);
    while (SteadyNow() < deadline) {
      std::map<std::string, Values> values = ReadAll(source);
      if (values[gpu].count(signal) != 0) return values;
    }
    ADD_FAILURE() << signal << " did not come";
    return {};
  }
  static Values Next(Source& source, const std::string& gpu, const std::string& signal = "gpu.lost") {
    return NextOfAll(source, gpu, signal)[gpu];
  }
  // The library looks at its script when it is called; this is no reading of the sources.
  void Turn() {
    unsigned long long reasons = 0;
    session_->library().DeviceGetClocksEventReasons(session_->gpus().front().device, &reasons);
  }
  void Work(const std::string& gpu) { stakes_->Set(gpu, true, SteadyNow()); }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("nvml_test");
  std::shared_ptr<Session> session_ = std::make_shared<Session>();
  std::shared_ptr<Stakes> stakes_ = std::make_shared<Stakes>();
  std::shared_ptr<Directory> gpus_ = std::make_shared<Directory>();
};

TEST_F(NvmlTest, ReadsWhatEachGpuSays) {
  Script("gpu GPU-a temperature=61 margin=26 clock=1755 reasons=0x4 power=650\ngpu GPU-b temperature=30\n");
  const auto source = Clocks();
  Values a = Read(*source, "GPU-a");
  EXPECT_EQ(a["gpu.temperature_celsius"], 61);
  EXPECT_EQ(a["gpu.thermal_margin_celsius"], 26);
  EXPECT_EQ(a["gpu.sm_clock_mhz"], 1755);
  EXPECT_EQ(a["gpu.clock_reasons"], 4);
  EXPECT_EQ(a["gpu.power_watts"], 650);
  EXPECT_EQ(a["gpu.lost"], 0);
  EXPECT_EQ(a.count("gpu.power_cap_ratio"), 0u) << "a share of the time needs two readings";
  EXPECT_EQ(gpus_->UuidAt("0000:11:00"), "GPU-b");
  EXPECT_EQ(Read(*Clocks(), "GPU-b")["gpu.temperature_celsius"], 30);
}

TEST_F(NvmlTest, GpuWithoutWorkIsReadLessOften) {
  Script("gpu GPU-a\ngpu GPU-b\n");
  Work("GPU-a");
  const auto source = Clocks();
  ReadAll(*source);
  size_t readings_of_a = 0;
  for (bool b_came = false; !b_came && readings_of_a < 100;) {
    auto values = ReadAll(*source);
    readings_of_a += values.count("GPU-a");
    b_came = values.count("GPU-b") != 0;
  }
  EXPECT_GE(readings_of_a, 3u);
  EXPECT_LT(readings_of_a, 100u) << "it is read all the same";
}

TEST_F(NvmlTest, GpuOnWhichWorkBeginsIsReadWholeAtOnce) {
  Script("gpu GPU-a\n");
  const auto source = Clocks();
  ReadAll(*source);
  EXPECT_TRUE(Read(*source, "GPU-a").empty());
  Work("GPU-a");
  Values values = Read(*source, "GPU-a");
  EXPECT_EQ(values.count("gpu.hw_slowdown_ratio"), 1u);
  EXPECT_EQ(values.count("gpu.sm_clock_mhz"), 1u);
}

TEST_F(NvmlTest, CountersOfTheHardwareAreReadNowAndThenUnlessSomethingSlowsTheGpuDown) {
  Script("gpu GPU-a reasons=0x4\n");
  Work("GPU-a");
  const auto source = Clocks();
  EXPECT_EQ(Read(*source, "GPU-a").count("gpu.hw_slowdown_seconds_total"), 1u);
  Values quiet = Next(*source, "GPU-a");
  EXPECT_EQ(quiet.count("gpu.hw_slowdown_seconds_total"), 0u);
  EXPECT_GT(quiet["gpu.power_cap_ratio"], 0.9) << "what the driver counts is read each time";
  EXPECT_EQ(quiet["gpu.thermal_slowdown_ratio"], 0);
  Script("gpu GPU-a reasons=0x20\n");
  Values slowed = Next(*source, "GPU-a");
  EXPECT_GT(slowed["gpu.thermal_slowdown_ratio"], 0);
  EXPECT_EQ(slowed.count("gpu.hw_slowdown_ratio"), 1u);
  Script("gpu GPU-a\n");
  Values after = Next(*source, "GPU-a");
  EXPECT_GT(after["gpu.thermal_slowdown_ratio"], 0) << "what ended since the reading before";
  EXPECT_EQ(after.count("gpu.hw_slowdown_ratio"), 1u) << "until a rule can believe that it is over";
}

TEST_F(NvmlTest, SlowdownByHardwareBetweenTwoReadingsShowsInTheNextOneOfItsCounter) {
  Script("gpu GPU-a\n");
  const auto source = Clocks();
  ReadAll(*source);
  Script("gpu GPU-a reasons=0xC0\n");
  Turn();
  Script("gpu GPU-a\n");
  Turn();
  Work("GPU-a");
  Values values = Read(*source, "GPU-a");
  EXPECT_EQ(values["gpu.clock_reasons"], 0);
  EXPECT_GT(values["gpu.hw_slowdown_ratio"], 0);
  EXPECT_EQ(values["gpu.thermal_slowdown_ratio"], 0) << "that one is the software's";
  EXPECT_EQ(values["gpu.power_cap_ratio"], 0);
}

TEST_F(NvmlTest, MarginIsReadAgainWhenTheTemperatureMayHaveEatenHalfOfIt) {
  Script("gpu GPU-a temperature=50 margin=20\n");
  Work("GPU-a");
  const auto source = Clocks();
  EXPECT_EQ(Read(*source, "GPU-a")["gpu.thermal_margin_celsius"], 20);
  Script("gpu GPU-a temperature=59 margin=11\n");
  EXPECT_EQ(Next(*source, "GPU-a", "gpu.temperature_celsius").count("gpu.thermal_margin_celsius"), 0u);
  Script("gpu GPU-a temperature=60 margin=9\n");
  EXPECT_EQ(Next(*source, "GPU-a", "gpu.thermal_margin_celsius")["gpu.thermal_margin_celsius"], 9);
}

TEST_F(NvmlTest, LostGpuIsLostAndTheOthersGoOn) {
  Script("gpu GPU-a\ngpu GPU-b temperature=33\n");
  Work("GPU-a");
  Work("GPU-b");
  const auto source = Clocks();
  ReadAll(*source);
  Script("gpu GPU-a error=15\ngpu GPU-b temperature=34\n");
  auto values = NextOfAll(*source, "GPU-a");
  EXPECT_EQ(values["GPU-a"]["gpu.lost"], 1);
  EXPECT_EQ(values["GPU-b"]["gpu.lost"], 0);
  EXPECT_EQ(values["GPU-b"].count("gpu.clock_reasons"), 1u);
}

TEST_F(NvmlTest, OtherErrorsAreSilenceOfThatGpuAndNotLoss) {
  Script("gpu GPU-a\n");
  Work("GPU-a");
  const auto source = Clocks();
  ReadAll(*source);
  Script("gpu GPU-a error=999\n");
  Values values = Next(*source, "GPU-a");
  EXPECT_EQ(values["gpu.lost"], 0);
  EXPECT_GT(values["gpu.silent_seconds"], 0);
  EXPECT_EQ(values.count("gpu.temperature_celsius"), 0u);
}

TEST_F(NvmlTest, NoDriverIsUnavailableUntilThereIsOne) {
  Script("lost_driver\ngpu GPU-a temperature=50\n");
  const auto source = Clocks();
  EXPECT_TRUE(absl::IsUnavailable(source->Read().status()));
  Script("gpu GPU-a temperature=50\n");
  const absl::Time deadline = SteadyNow() + absl::Seconds(60);
  absl::StatusOr<std::vector<Sample>> samples;
  while (!samples.ok() && SteadyNow() < deadline) samples = source->Read();
  EXPECT_TRUE(samples.ok()) << samples.status();
}

TEST_F(NvmlTest, OpeningGivesBackWhatTheLibraryOnlyFilledWithZeros) {
  Script("gpu GPU-a\n");
  ASSERT_TRUE(session_->Open().ok());
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  const auto begin = reinterpret_cast<uintptr_t>(dlsym(library, "scripted_nvml_tables"));
  const auto bytes = *static_cast<const size_t*>(dlsym(library, "scripted_nvml_tables_bytes"));
  const uintptr_t page = sysconf(_SC_PAGESIZE);
  const uintptr_t first = (begin + page - 1) / page * page;
  std::vector<unsigned char> resident((begin + bytes - first) / page);
  ASSERT_EQ(mincore(reinterpret_cast<void*>(first), resident.size() * page, resident.data()), 0);
  const auto count = std::count_if(resident.begin(), resident.end(), [](unsigned char one) { return (one & 1) != 0; });
  EXPECT_EQ(count, 1) << "of " << resident.size() << ": the one that holds more than zeros";
  dlclose(library);
}

TEST_F(NvmlTest, ReadsErrorsOfMemoryAndBus) {
  Script("gpu GPU-a ecc=2 ecc_corrected=7 remap_pending=1 replay=5 utilization=98 limit=500\n");
  const auto source = States(std::make_shared<OurProcesses>());
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
  const auto source = States(ours);
  EXPECT_EQ(Read(*source, "GPU-a").count("gpu.foreign_processes"), 0u) << "it may be ours and just begun";
  EXPECT_EQ(Read(*source, "GPU-a")["gpu.foreign_processes"], 1);
  ours->Set(1, {stranger});
  EXPECT_EQ(Read(*source, "GPU-a")["gpu.foreign_processes"], 0);
}

TEST_F(NvmlTest, XidComesOnceWhoeverTellsItFirst) {
  Script("gpu GPU-a\ngpu GPU-b\n");
  const auto filter = std::make_shared<XidFilter>();
  const auto source = MakeEventSource(session_, filter);
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
