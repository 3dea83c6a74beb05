#include "profiler_service/runner/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "google/protobuf/text_format.h"
#include "profiler_service/device/fake_device.h"
#include "profiler_service/device/poison.h"

namespace sassay::runner {
namespace {

using device::DeviceAddress;
using device::Execution;
using device::FakeDevice;
using device::Launch;
using testing::ElementsAre;
using testing::Not;

constexpr uint64_t kTensorBytes = 16;
// Not at the object's start: a replay that forgets the offset writes into the guard.
constexpr uint64_t kOffset = 64;

absl::Time Soon() { return absl::Now() + absl::Seconds(30); }

DeviceAddress PointerIn(const Launch& launch, size_t argument, size_t at = 0) {
  DeviceAddress address = 0;
  std::memcpy(&address, launch.arguments.at(argument).data() + at, sizeof(address));
  return address;
}

v1::LaunchPlan Plan(const std::string& text) {
  v1::LaunchPlan plan;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString("buffers { kind: BUFFER_KIND_INPUT name: 'A' size_bytes: 16 }"
                                                    "buffers { kind: BUFFER_KIND_OUTPUT name: 'C' size_bytes: 16 }" +
                                                        text,
                                                    &plan));
  return plan;
}

// A pointer argument to buffer `buffer`.
std::string Pointer(int buffer, int offset = 0) {
  return "arguments { data: '\\0\\0\\0\\0\\0\\0\\0\\0' relocations { pointer { buffer: " + std::to_string(buffer) +
         " offset_bytes: " + std::to_string(offset) + " } } }";
}

std::string LaunchStep(const std::string& list, const std::string& kernel, const std::string& arguments) {
  return list + " { launch { kernel: '" + kernel + "' grid { x: 1 y: 1 z: 1 } block { x: 1 y: 1 z: 1 } " + arguments +
         " } }";
}

// The judge's side: one object with both tensors, A at kOffset, C at kOffset * 4.
class ReplayTest : public testing::Test {
 protected:
  void SetUp() override {
    // k copies its first argument's tensor to its second.
    device_.kernels["k"] = [](const Launch& launch, FakeDevice& device) {
      std::memcpy(device.At(PointerIn(launch, 1), kTensorBytes), device.At(PointerIn(launch, 0), kTensorBytes),
                  kTensorBytes);
      return Execution();
    };
    device_.kernels["nothing"] = [](const Launch&, FakeDevice&) { return Execution(); };
    auto memory = device_.AllocateShared(4096);
    ASSERT_TRUE(memory.ok());
    memory_ = *std::move(memory);
    ASSERT_TRUE(device_.Write(JudgeA(), absl::MakeSpan("0123456789abcdef", kTensorBytes)).ok());
    device_.log.clear();
  }

  DeviceAddress JudgeA() const { return memory_.address + kOffset; }
  DeviceAddress JudgeC() const { return memory_.address + 4 * kOffset; }

  worker::SharedRegion Region(uint32_t buffer, uint64_t offset, uint32_t memory = 0) const {
    worker::SharedRegion region;
    region.set_buffer(buffer);
    region.set_memory(memory);
    region.set_object_bytes(memory_.object_bytes);
    region.set_offset_bytes(offset);
    region.set_size_bytes(kTensorBytes);
    return region;
  }

  absl::Status LoadAndBind(Replay& replay, const v1::LaunchPlan& plan) {
    v1::Bundle bundle;
    *bundle.add_plans() = plan;
    absl::Status loaded = replay.Load(bundle);
    if (!loaded.ok()) return loaded;
    std::vector<UniqueFd> descriptors;
    descriptors.emplace_back(dup(memory_.fd.get()));
    return replay.Bind({Region(0, kOffset), Region(1, 4 * kOffset)}, descriptors);
  }

  int Count(absl::string_view what) const {
    return static_cast<int>(std::count_if(device_.log.begin(), device_.log.end(),
                                          [&](const std::string& line) { return absl::StartsWith(line, what); }));
  }

  FakeDevice device_;
  device::SharedMemory memory_;
};

TEST_F(ReplayTest, PlainRunReadsAndWritesTheJudgesOwnMemory) {
  Replay replay(device_, worker::RUN_MODE_PLAIN);
  ASSERT_TRUE(LoadAndBind(replay, Plan(LaunchStep("steady", "k", Pointer(0) + Pointer(1)))).ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  const auto execution = replay.Steady(1, Soon());
  ASSERT_TRUE(execution.ok()) << execution.status();
  EXPECT_EQ(execution->outcome, worker::RUN_OUTCOME_OK);
  EXPECT_EQ(device_.Bytes(JudgeC(), kTensorBytes), "0123456789abcdef");
}

TEST_F(ReplayTest, CheckedRunGivesEveryTensorAnExactAllocationAndCopiesBothWays) {
  Replay replay(device_, worker::RUN_MODE_CHECKED);
  DeviceAddress seen = 0;
  device_.kernels["look"] = [&](const Launch& launch, FakeDevice& device) {
    seen = PointerIn(launch, 0);
    EXPECT_EQ(device.At(seen, kTensorBytes + 1), nullptr) << "the byte after the tensor can be reached";
    return device.kernels["k"](launch, device);
  };
  ASSERT_TRUE(LoadAndBind(replay, Plan(LaunchStep("steady", "look", Pointer(0) + Pointer(1)))).ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  ASSERT_TRUE(replay.Steady(1, Soon()).ok());
  EXPECT_NE(seen, 0u);
  EXPECT_EQ(device_.Bytes(JudgeC(), kTensorBytes), "0123456789abcdef");
  EXPECT_EQ(replay.Placements().size(), 2u);
  EXPECT_EQ(replay.Placements()[0].buffer(), "A");
  EXPECT_EQ(replay.Placements()[0].address(), seen);
  EXPECT_THAT(device_.inputs, testing::ElementsAre(seen)) << "A alone is for kernels to read";
}

TEST_F(ReplayTest, SetupAllocationIsPoisonedOnceAndCallAllocationBeforeEveryCall) {
  const auto plan = Plan(
      "buffers { kind: BUFFER_KIND_SETUP_ALLOCATION size_bytes: 24 }"
      "buffers { kind: BUFFER_KIND_CALL_ALLOCATION size_bytes: 40 }"
      "setup { allocate { buffer: 2 } }"
      "steady { allocate { buffer: 3 } }" +
      LaunchStep("steady", "nothing", Pointer(2) + Pointer(3)) + "steady { free { buffer: 3 } }");
  for (const auto mode : {worker::RUN_MODE_PLAIN, worker::RUN_MODE_CHECKED}) {
    device_.log.clear();
    Replay replay(device_, mode);
    ASSERT_TRUE(LoadAndBind(replay, plan).ok());
    ASSERT_TRUE(replay.Setup(1, Soon()).ok());
    EXPECT_EQ(Count("poison 24"), 1);
    const int after_setup = Count("poison 40");
    ASSERT_TRUE(replay.Steady(2, Soon()).ok());
    ASSERT_TRUE(replay.Steady(3, Soon()).ok());
    EXPECT_EQ(Count("poison 24"), 1);
    EXPECT_EQ(Count("poison 40"), after_setup + 2);
  }
}

TEST_F(ReplayTest, PoisonDiffersBetweenCallsAndBetweenBuffers) {
  std::vector<std::string> seen;
  device_.kernels["look"] = [&](const Launch& launch, FakeDevice& device) {
    seen.push_back(device.Bytes(PointerIn(launch, 0), 32));
    seen.push_back(device.Bytes(PointerIn(launch, 1), 32));
    return Execution();
  };
  Replay replay(device_, worker::RUN_MODE_PLAIN);
  ASSERT_TRUE(LoadAndBind(replay, Plan("buffers { kind: BUFFER_KIND_CALL_ALLOCATION size_bytes: 32 }"
                                       "buffers { kind: BUFFER_KIND_CALL_ALLOCATION size_bytes: 32 }" +
                                       LaunchStep("steady", "look", Pointer(2) + Pointer(3))))
                  .ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  ASSERT_TRUE(replay.Steady(2, Soon()).ok());
  ASSERT_TRUE(replay.Steady(3, Soon()).ok());
  ASSERT_EQ(seen.size(), 4u);
  for (size_t i = 0; i < seen.size(); ++i) {
    for (size_t j = i + 1; j < seen.size(); ++j) EXPECT_NE(seen[i], seen[j]) << i << " and " << j;
  }
}

TEST_F(ReplayTest, CheckedRunEndsALifeWhereTheHostCodeEndedItAndOnlyAfterWaiting) {
  Replay replay(device_, worker::RUN_MODE_CHECKED);
  ASSERT_TRUE(LoadAndBind(replay, Plan("buffers { kind: BUFFER_KIND_CALL_ALLOCATION size_bytes: 40 }"
                                       "steady { allocate { buffer: 2 } }" +
                                       LaunchStep("steady", "nothing", Pointer(2)) + "steady { free { buffer: 2 } }" +
                                       LaunchStep("steady", "nothing", Pointer(2))))
                  .ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  device_.log.clear();
  ASSERT_TRUE(replay.Steady(1, Soon()).ok());
  EXPECT_THAT(device_.log, ElementsAre("copy 16", "poison 16", "allocate workspace 0 40", "poison 40", "launch nothing",
                                       "wait", "free", "launch nothing", "wait", "copy 16"));
}

TEST_F(ReplayTest, CountedRunWaitsAfterEveryLaunchWhereTheDeviceCountsLaunches) {
  device_.runs_sass = true;
  Replay replay(device_, worker::RUN_MODE_COUNTED);
  ASSERT_TRUE(
      LoadAndBind(replay, Plan(LaunchStep("setup", "nothing", Pointer(0)) + LaunchStep("setup", "nothing", Pointer(0)) +
                               LaunchStep("steady", "nothing", Pointer(0)) +
                               LaunchStep("steady", "k", Pointer(0) + Pointer(1))))
          .ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  ASSERT_TRUE(replay.Steady(1, Soon()).ok());
  EXPECT_THAT(device_.log,
              ElementsAre("launch nothing", "launch nothing", "wait", "launch nothing", "wait", "launch k", "wait"));
}

TEST_F(ReplayTest, PlainRunKeepsAllocationsFromCallToCall) {
  Replay replay(device_, worker::RUN_MODE_PLAIN);
  ASSERT_TRUE(LoadAndBind(replay, Plan("buffers { kind: BUFFER_KIND_CALL_ALLOCATION size_bytes: 40 }"
                                       "steady { allocate { buffer: 2 } }"
                                       "steady { free { buffer: 2 } }"))
                  .ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  ASSERT_TRUE(replay.Steady(1, Soon()).ok());
  ASSERT_TRUE(replay.Steady(1, Soon()).ok());
  EXPECT_EQ(Count("allocate"), 1);
  EXPECT_EQ(Count("free"), 0);
}

TEST_F(ReplayTest, UploadsAreRelocatedIntoSymbols) {
  device_.symbols["table"] = 24;
  Replay replay(device_, worker::RUN_MODE_PLAIN);
  ASSERT_TRUE(LoadAndBind(replay, Plan("buffers { kind: BUFFER_KIND_SYMBOL name: 'table' size_bytes: 24 }"
                                       "setup { upload { destination { buffer: 2 offset_bytes: 8 } bytes {"
                                       "  data: 'xxxxxxxx\\0\\0\\0\\0\\0\\0\\0\\0'"
                                       "  relocations { at_bytes: 8 pointer { buffer: 1 offset_bytes: 4 } } } } }"))
                  .ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  const DeviceAddress table = device_.Symbol("table")->address;
  EXPECT_EQ(device_.Bytes(table + 8, 8), "xxxxxxxx");
  DeviceAddress pointer = 0;
  std::memcpy(&pointer, device_.At(table + 16, 8), 8);
  EXPECT_EQ(device_.Bytes(pointer - 4, kTensorBytes), device_.Bytes(JudgeC(), kTensorBytes));
}

TEST_F(ReplayTest, TensorMapsAreEncodedOnceForTheirBaseAndWrittenIntoArguments) {
  std::string argument;
  device_.kernels["look"] = [&](const Launch& launch, FakeDevice&) {
    argument = launch.arguments.at(0);
    return Execution();
  };
  Replay replay(device_, worker::RUN_MODE_PLAIN);
  auto plan = Plan("tensor_maps { base { buffer: 0 offset_bytes: 8 } global_dim: 4 }" +
                   LaunchStep("steady", "look", "arguments { relocations { at_bytes: 8 tensor_map: 0 } }"));
  plan.mutable_steady(0)->mutable_launch()->mutable_arguments(0)->set_data(std::string(8 + 128, 'h'));
  ASSERT_TRUE(LoadAndBind(replay, plan).ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  ASSERT_TRUE(replay.Steady(1, Soon()).ok());
  ASSERT_TRUE(replay.Steady(1, Soon()).ok());
  EXPECT_EQ(Count("encode"), 1);
  ASSERT_EQ(argument.size(), 136u);
  EXPECT_EQ(argument.substr(0, 8), "hhhhhhhh");
  EXPECT_EQ(argument.substr(16), std::string(120, '\xEE'));
}

TEST_F(ReplayTest, PitchedCopiesAndFillsTouchTheirRowsOnly) {
  Replay replay(device_, worker::RUN_MODE_PLAIN);
  ASSERT_TRUE(LoadAndBind(replay, Plan("steady { memset { destination { buffer: 1 } value: 46 element_bytes: 1"
                                       "  width_elements: 16 rows: 1 } }"
                                       "steady { copy { destination { buffer: 1 } source { buffer: 0 offset_bytes: 1 }"
                                       "  width_bytes: 2 rows: 3 destination_pitch_bytes: 4 source_pitch_bytes: 5 } }"))
                  .ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  const auto execution = replay.Steady(1, Soon());
  ASSERT_TRUE(execution.ok()) << execution.status();
  EXPECT_EQ(device_.Bytes(JudgeC(), kTensorBytes), "12..67..bc......");
}

TEST_F(ReplayTest, StepsThatLeaveTheirBufferAreRefusedAndNamed) {
  const std::string bad[] = {
      "steady { memset { destination { buffer: 1 } element_bytes: 4 width_elements: 5 rows: 1 } }",
      "steady { memset { destination { buffer: 1 } element_bytes: 4 width_elements: 1 rows: 3 pitch_bytes: 8 } }",
      "steady { memset { destination { buffer: 1 } element_bytes: 4 width_elements: 4611686018427387904 rows: 1 } }",
      "steady { memset { destination { buffer: 1 } element_bytes: 1 width_elements: 1 rows: 3"
      "  pitch_bytes: 9223372036854775808 } }",
      "steady { copy { destination { buffer: 1 offset_bytes: 1 } source { buffer: 0 } width_bytes: 16 rows: 1 } }",
      "steady { copy { destination { buffer: 1 } source { buffer: 9 } width_bytes: 16 rows: 1 } }",
      "steady { upload { destination { buffer: 1 offset_bytes: 15 } bytes { data: 'ab' } } }",
      "steady { upload { destination { buffer: 1 } bytes { data: 'abcdefg' relocations { pointer {} } } } }",
      "steady { upload { destination { buffer: 1 } bytes { data: 'abcdefgh' relocations { tensor_map: 0 } } } }",
      "steady { allocate { buffer: 1 } }",
      "steady {}",
  };
  for (const std::string& steps : bad) {
    Replay replay(device_, worker::RUN_MODE_PLAIN);
    ASSERT_TRUE(LoadAndBind(replay, Plan(steps)).ok());
    ASSERT_TRUE(replay.Setup(1, Soon()).ok());
    EXPECT_EQ(replay.Steady(1, Soon()).status().code(), absl::StatusCode::kInvalidArgument) << steps;
  }
}

TEST_F(ReplayTest, RefusalsCarryTheHostLineThatAsked) {
  Replay replay(device_, worker::RUN_MODE_PLAIN);
  ASSERT_TRUE(LoadAndBind(replay, Plan("steady { source_line: 'kernel.cu:57' launch { kernel: 'unknown' } }")).ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  EXPECT_TRUE(absl::StrContains(replay.Steady(1, Soon()).status().message(), "kernel.cu:57"));
}

TEST_F(ReplayTest, RegionThatDisagreesWithThePlanIsRefused) {
  v1::Bundle bundle;
  *bundle.add_plans() = Plan("");
  std::vector<UniqueFd> descriptors;
  descriptors.emplace_back(dup(memory_.fd.get()));
  auto too_far = Region(1, memory_.object_bytes - 8);
  auto too_small = Region(1, 0);
  too_small.set_size_bytes(8);
  auto without_descriptor = Region(1, 0);
  without_descriptor.set_memory(1);
  for (const auto& bad : {too_far, too_small, without_descriptor, Region(7, 0)}) {
    Replay replay(device_, worker::RUN_MODE_PLAIN);
    ASSERT_TRUE(replay.Load(bundle).ok());
    EXPECT_FALSE(replay.Bind({Region(0, 0), bad}, descriptors).ok());
  }
  Replay replay(device_, worker::RUN_MODE_PLAIN);
  ASSERT_TRUE(replay.Load(bundle).ok());
  EXPECT_FALSE(replay.Bind({Region(0, 0)}, descriptors).ok()) << "C has no memory";
}

TEST_F(ReplayTest, FaultStopsTheCallAndIsReportedWithItsFindings) {
  device_.kernels["bad"] = [](const Launch&, FakeDevice&) {
    Execution execution;
    execution.outcome = worker::RUN_OUTCOME_FAULT;
    execution.code = v1::VERDICT_CODE_OOB_GLOBAL_WRITE;
    execution.findings.emplace_back();
    return execution;
  };
  Replay replay(device_, worker::RUN_MODE_PLAIN);
  ASSERT_TRUE(LoadAndBind(replay, Plan(LaunchStep("steady", "bad", "") + LaunchStep("steady", "k", ""))).ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  const auto execution = replay.Steady(1, Soon());
  ASSERT_TRUE(execution.ok());
  EXPECT_EQ(execution->code, v1::VERDICT_CODE_OOB_GLOBAL_WRITE);
  EXPECT_EQ(execution->findings.size(), 1u);
}

TEST_F(ReplayTest, TwoThousandLaunchesNeverFillTheDriversQueue) {
  std::string steps;
  for (int i = 0; i < 2000; ++i) steps += LaunchStep("steady", "nothing", "");
  Replay replay(device_, worker::RUN_MODE_PLAIN);
  ASSERT_TRUE(LoadAndBind(replay, Plan(steps)).ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  ASSERT_TRUE(replay.Steady(1, Soon()).ok());
  int longest = 0, current = 0;
  for (const std::string& line : device_.log) {
    current = line == "wait" ? 0 : current + absl::StartsWith(line, "launch");
    longest = std::max(longest, current);
  }
  EXPECT_LE(longest, 512);
}

TEST_F(ReplayTest, EverySampleIsColdAndHoldsTheStepsAndNothingElse) {
  Replay replay(device_, worker::RUN_MODE_TIMED);
  ASSERT_TRUE(LoadAndBind(replay, Plan("buffers { kind: BUFFER_KIND_CALL_ALLOCATION size_bytes: 40 }"
                                       "steady { allocate { buffer: 2 } }" +
                                       LaunchStep("steady", "nothing", Pointer(2)) +
                                       LaunchStep("steady", "nothing", Pointer(2))))
                  .ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  device_.log.clear();
  const auto run = replay.Time(1, {0, 0, 0}, Soon());
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(run->samples_ns, ElementsAre(2000.0, 2000.0, 2000.0));
  EXPECT_TRUE(replay.held_while_timed());
  EXPECT_EQ(Count("flush"), 3);
  for (auto line = device_.log.begin(); line != device_.log.end(); ++line) {
    if (!absl::StartsWith(*line, "mark") || (line->back() - '0') % 2 != 0) continue;
    EXPECT_EQ(*(line - 2), "flush");
    EXPECT_EQ(*(line - 1), "hold");
    EXPECT_EQ(*(line + 1), "launch nothing");
    EXPECT_EQ(*(line + 2), "launch nothing");
    EXPECT_TRUE(absl::StartsWith(*(line + 3), "mark"));
    EXPECT_EQ(*(line + 4), "release");
  }
}

TEST_F(ReplayTest, SamplesOfManyLaunchesNeverFillTheDriversQueue) {
  for (const int launches : {200, 300, 600}) {
    std::string steps;
    for (int i = 0; i < launches; ++i) steps += LaunchStep("steady", "nothing", "");
    Replay replay(device_, worker::RUN_MODE_TIMED);
    ASSERT_TRUE(LoadAndBind(replay, Plan(steps)).ok());
    ASSERT_TRUE(replay.Setup(1, Soon()).ok());
    EXPECT_EQ(replay.held_while_timed(), launches == 200) << "what waits for the device cannot be held";
    device_.log.clear();
    const auto warm = replay.WarmUp({10, absl::ZeroDuration(), absl::Hours(1), 0}, Soon());
    ASSERT_TRUE(warm.ok()) << warm.status();
    EXPECT_GE(warm->calls, 10);
    const auto run = replay.Time(1, std::vector<uint32_t>(10, 0), Soon());
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(run->samples_ns.size(), 10u);
    EXPECT_FALSE(run->late);
    int longest = 0, current = 0;
    for (const std::string& line : device_.log) {
      current = line == "wait" ? 0 : current + absl::StartsWith(line, "launch");
      longest = std::max(longest, current);
    }
    EXPECT_LE(longest, 512);
  }
}

TEST_F(ReplayTest, TimedCallWorksOnTheSetOfTensorsThatItIsGiven) {
  auto second = device_.AllocateShared(4096);
  ASSERT_TRUE(second.ok());
  ASSERT_TRUE(device_.Write(second->address + kOffset, absl::MakeSpan("second set inputs", kTensorBytes)).ok());
  Replay replay(device_, worker::RUN_MODE_TIMED);
  ASSERT_TRUE(LoadAndBind(replay, Plan(LaunchStep("steady", "k", Pointer(0) + Pointer(1)))).ok());
  std::vector<UniqueFd> descriptors;
  descriptors.emplace_back(dup(second->fd.get()));
  ASSERT_TRUE(replay.Bind({Region(0, kOffset, 1), Region(1, 4 * kOffset, 1)}, descriptors, 1).ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  const auto run = replay.Time(1, {1}, Soon());
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(device_.Bytes(second->address + 4 * kOffset, kTensorBytes), "second set input");
  EXPECT_NE(device_.Bytes(JudgeC(), kTensorBytes), "0123456789abcdef") << "only set 1 was asked for";
  ASSERT_TRUE(replay.Time(1, {0}, Soon()).ok());
  EXPECT_EQ(device_.Bytes(JudgeC(), kTensorBytes), "0123456789abcdef");
  EXPECT_EQ(replay.Time(1, {2}, Soon()).status().code(), absl::StatusCode::kInternal);
}

TEST_F(ReplayTest, SetsInOneObjectMapItOnce) {
  Replay replay(device_, worker::RUN_MODE_TIMED);
  ASSERT_TRUE(LoadAndBind(replay, Plan(LaunchStep("steady", "k", Pointer(0) + Pointer(1)))).ok());
  const uint64_t second_a = 8 * kOffset, second_c = 12 * kOffset;
  ASSERT_TRUE(device_.Write(memory_.address + second_a, absl::MakeSpan("second set inputs", kTensorBytes)).ok());
  ASSERT_TRUE(replay.Bind({Region(0, second_a), Region(1, second_c)}, {}, 1).ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  ASSERT_TRUE(replay.Time(1, {1}, Soon()).ok());
  EXPECT_EQ(device_.Bytes(memory_.address + second_c, kTensorBytes), "second set input");
}

TEST_F(ReplayTest, RegionOfAnObjectThatNobodyHandedOverIsRefused) {
  Replay replay(device_, worker::RUN_MODE_TIMED);
  ASSERT_TRUE(LoadAndBind(replay, Plan(LaunchStep("steady", "nothing", ""))).ok());
  EXPECT_FALSE(replay.Bind({Region(0, kOffset, 1), Region(1, 4 * kOffset, 1)}, {}, 1).ok());
}

TEST_F(ReplayTest, WarmUpThatTakesTooLongEndsAfterOneCall) {
  Replay replay(device_, worker::RUN_MODE_TIMED);
  ASSERT_TRUE(LoadAndBind(replay, Plan(LaunchStep("steady", "nothing", ""))).ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  const auto warm = replay.WarmUp({10, absl::Seconds(1), absl::ZeroDuration(), 0}, Soon());
  ASSERT_TRUE(warm.ok()) << warm.status();
  EXPECT_EQ(warm->calls, 1);
}

// On a GPU a fault makes every later call fail, whoever's it is.
TEST_F(ReplayTest, AFaultIsToldAlsoWhereItShowsFirstInALaterStep) {
  Execution fault;
  fault.outcome = worker::RUN_OUTCOME_FAULT;
  fault.code = v1::VERDICT_CODE_ILLEGAL_ADDRESS;
  device_.kernels["faults"] = [fault](const Launch&, FakeDevice&) { return fault; };
  const std::string buffer = "buffers { kind: BUFFER_KIND_CALL_ALLOCATION size_bytes: 24 }";
  const std::string later[] = {"steady { upload { destination { buffer: 0 } bytes { data: 'abcd' } } }",
                               "steady { allocate { buffer: 0 } }"};
  for (const std::string& step : later) {
    FakeDevice device;
    std::swap(device.kernels, device_.kernels);
    Replay replay(device, worker::RUN_MODE_CHECKED);
    v1::Bundle bundle;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(buffer + LaunchStep("steady", "faults", "") + step,
                                                              bundle.add_plans()));
    ASSERT_TRUE(replay.Load(bundle).ok());
    ASSERT_TRUE(replay.Bind({}, {}).ok());
    ASSERT_TRUE(replay.Setup(1, Soon()).ok());
    device.trouble = [&device](absl::string_view) {
      const bool launched = absl::StrContains(absl::StrJoin(device.log, ","), "launch");
      return launched ? absl::InternalError("CUDA_ERROR_ILLEGAL_ADDRESS") : absl::OkStatus();
    };
    const auto execution = replay.Steady(1, Soon());
    ASSERT_TRUE(execution.ok()) << execution.status();
    EXPECT_EQ(execution->code, v1::VERDICT_CODE_ILLEGAL_ADDRESS);
    std::swap(device.kernels, device_.kernels);
  }
}

TEST_F(ReplayTest, AFaultAmongSamplesIsToldAlsoWhereTheNextSampleMeetsIt) {
  int calls = 0;
  device_.kernels["faults_third"] = [&calls](const Launch&, FakeDevice&) {
    Execution execution;
    if (++calls == 3) execution.outcome = worker::RUN_OUTCOME_FAULT;
    return execution;
  };
  Replay replay(device_, worker::RUN_MODE_TIMED);
  ASSERT_TRUE(LoadAndBind(replay, Plan(LaunchStep("steady", "faults_third", ""))).ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  device_.trouble = [this](absl::string_view operation) {
    return operation == "mark" && Count("launch") == 3 ? absl::InternalError("CUDA_ERROR_ILLEGAL_ADDRESS")
                                                       : absl::OkStatus();
  };
  const auto run = replay.Time(1, {0, 0, 0, 0}, Soon());
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->execution.outcome, worker::RUN_OUTCOME_FAULT);
}

TEST_F(ReplayTest, WithoutAFaultBehindItATroubleStaysOurs) {
  const auto plan =
      Plan("buffers { kind: BUFFER_KIND_CALL_ALLOCATION size_bytes: 24 }" + LaunchStep("steady", "nothing", "") +
           "steady { upload { destination { buffer: 2 } bytes { data: 'abcd' } } }");
  Replay replay(device_, worker::RUN_MODE_PLAIN);
  ASSERT_TRUE(LoadAndBind(replay, plan).ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  device_.trouble = [](absl::string_view operation) {
    return operation == "write" ? absl::ResourceExhaustedError("no pinned memory") : absl::OkStatus();
  };
  EXPECT_EQ(replay.Steady(1, Soon()).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(ReplayTest, WhatThePlanHasNoSayInIsNeverARefusal) {
  const auto plan =
      Plan("buffers { kind: BUFFER_KIND_CALL_ALLOCATION size_bytes: 24 }" + LaunchStep("steady", "nothing", ""));
  std::string failing;
  device_.trouble = [&failing](absl::string_view operation) {
    return operation == failing ? absl::InvalidArgumentError("CUDA_ERROR_INVALID_VALUE") : absl::OkStatus();
  };
  {
    failing = "map";
    Replay replay(device_, worker::RUN_MODE_PLAIN);
    EXPECT_EQ(LoadAndBind(replay, plan).code(), absl::StatusCode::kInternal);
  }
  for (const char* operation : {"allocate", "poison"}) {
    failing.clear();
    Replay replay(device_, worker::RUN_MODE_PLAIN);
    ASSERT_TRUE(LoadAndBind(replay, plan).ok());
    failing = operation;
    EXPECT_EQ(replay.Setup(1, Soon()).status().code(), absl::StatusCode::kInternal) << operation;
  }
}

TEST_F(ReplayTest, CallDoesWithoutTheLaunchThatIsLeftOutAndOnlyThatCall) {
  Replay replay(device_, worker::RUN_MODE_PLAIN);
  const std::string steps =
      LaunchStep("steady", "nothing", "") +
      "steady { memset { destination { buffer: 1 } value: 7 element_bytes: 1 width_elements: 16 } }" +
      LaunchStep("steady", "k", Pointer(0) + Pointer(1));
  ASSERT_TRUE(LoadAndBind(replay, Plan(steps)).ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  ASSERT_TRUE(replay.Steady(1, Soon(), 1).ok());
  EXPECT_EQ(device_.Bytes(JudgeC(), kTensorBytes), std::string(kTensorBytes, 7)) << "what is no launch is not counted";
  ASSERT_TRUE(replay.Steady(1, Soon(), 0).ok());
  EXPECT_EQ(device_.Bytes(JudgeC(), kTensorBytes), "0123456789abcdef");
  device_.log.clear();
  ASSERT_TRUE(replay.Steady(1, Soon()).ok());
  EXPECT_EQ(Count("launch"), 2);
}

// A call from which nothing was left out would look like a launch that does nothing.
TEST_F(ReplayTest, LaunchThatThePlanLacksIsNotLeftOutInSilence) {
  Replay replay(device_, worker::RUN_MODE_PLAIN);
  ASSERT_TRUE(LoadAndBind(replay, Plan(LaunchStep("steady", "nothing", ""))).ok());
  ASSERT_TRUE(replay.Setup(1, Soon()).ok());
  EXPECT_EQ(replay.Steady(1, Soon(), 1).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ReplayTest, CallsOutOfOrderAreOurOwnTrouble) {
  Replay replay(device_, worker::RUN_MODE_PLAIN);
  EXPECT_EQ(replay.Setup(1, Soon()).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(replay.Steady(1, Soon()).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(replay.Bind({}, {}).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace sassay::runner
