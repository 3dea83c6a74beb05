#include "profiler_service/device/cuda/cupti/cupti_counter.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/device/cuda/cupti/fake_cupti.h"

namespace sassay::device::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CuptiCounterTest : public testing::Test {
 protected:
  void Open() {
    auto counter = CuptiCounter::Open(cupti_);
    ASSERT_TRUE(counter.ok()) << counter.status();
    counter_ = *std::move(counter);
    ASSERT_TRUE(counter_->Attach(nullptr, 0).ok());
    ASSERT_TRUE(counter_->CubinCrc("cubin").ok());
  }
  void Launch(const std::string& kernel, std::vector<FakeRecord> records) {
    ASSERT_TRUE(counter_->Arm(kernel).ok());
    state_.flushes = {std::move(records)};
    const absl::Status taken = counter_->Take();
    ASSERT_TRUE(taken.ok()) << taken;
  }
  worker::SassCounts Finish() {
    auto counts = counter_->Finish();
    EXPECT_TRUE(counts.ok()) << counts.status();
    return counts.value_or(worker::SassCounts());
  }
  static FakeRecord Record(uint32_t pc, uint64_t warps, uint64_t threads) {
    return {"k", pc, {{kFakeWarpMetric, warps}, {kFakeThreadMetric, threads}}};
  }

  const Cupti cupti_ = FakeCupti();
  FakeCuptiState& state_ = FakeCuptiStateOf();
  std::unique_ptr<SassCounter> counter_;
};

TEST_F(CuptiCounterTest, SubscribesBeforeAnythingElse) {
  Open();
  EXPECT_THAT(std::vector<std::string>(state_.log.begin(), state_.log.begin() + 4),
              ElementsAre("cuptiSubscribe", "cuptiEnableDomain", "cuptiEnableDomain", "cuptiProfilerInitialize"));
}

TEST_F(CuptiCounterTest, CountsBelongToTheirLaunch) {
  Open();
  Launch("k", {Record(0, 4, 128), Record(16, 8, 200)});
  Launch("other", {{"other", 0, {{kFakeWarpMetric, 1}, {kFakeThreadMetric, 32}}}});
  Launch("k", {Record(0, 2, 64)});
  const worker::SassCounts counts = Finish();
  ASSERT_EQ(counts.launches_size(), 3);
  EXPECT_EQ(counts.cubin_crc(), kFakeCrc);
  EXPECT_EQ(counts.launches(2).first_launch(), 2u);
  EXPECT_EQ(counts.launches(2).launches(), 1u);
  EXPECT_EQ(counts.launches(1).kernel(), "other");
  const auto& function = counts.launches(0).functions(0);
  EXPECT_EQ(function.function(), "k");
  EXPECT_THAT(function.pc_offset_bytes(), ElementsAre(0, 16));
  EXPECT_THAT(function.warp_count(), ElementsAre(4, 8));
  EXPECT_THAT(function.thread_count(), ElementsAre(128, 200));
}

TEST_F(CuptiCounterTest, ValuesAreKnownByTheirMetricWhateverTheirOrderAndTheEmptySlotsBetween) {
  Open();
  state_.instances = 2;
  Launch("k", {{"k", 0, {{0, 99}, {kFakeThreadMetric, 128}, {kFakeWarpMetric, 4}}}, {"k", 16, {{0x1234, 7}}}});
  const auto counts = Finish();
  const auto& function = counts.launches(0).functions(0);
  EXPECT_THAT(function.pc_offset_bytes(), ElementsAre(0));
  EXPECT_THAT(function.warp_count(), ElementsAre(4));
  EXPECT_THAT(function.thread_count(), ElementsAre(128));
}

TEST_F(CuptiCounterTest, MetricsOfOneInstructionInTwoRecordsMeet) {
  Open();
  Launch("k", {{"k", 0, {{kFakeWarpMetric, 4}}}, {"k", 0, {{kFakeThreadMetric, 128}}}});
  const auto counts = Finish();
  const auto& function = counts.launches(0).functions(0);
  EXPECT_THAT(function.warp_count(), ElementsAre(4));
  EXPECT_THAT(function.thread_count(), ElementsAre(128));
}

TEST_F(CuptiCounterTest, OtherModulesAndInstructionsThatDidNotExecuteAreLeftOut) {
  Open();
  FakeRecord foreign = Record(0, 1, 1);
  foreign.crc = 5;
  FakeRecord nameless = Record(0, 1, 1);
  nameless.function = "";
  Launch("k", {Record(0, 1, 32), Record(16, 0, 0), foreign, nameless});
  const worker::SassCounts counts = Finish();
  ASSERT_EQ(counts.launches(0).functions_size(), 1);
  EXPECT_THAT(counts.launches(0).functions(0).pc_offset_bytes(), ElementsAre(0));
}

TEST_F(CuptiCounterTest, LaunchWithoutRecordsIsThereAndEmpty) {
  Open();
  ASSERT_TRUE(counter_->Arm("k").ok());
  ASSERT_TRUE(counter_->Take().ok());
  const worker::SassCounts counts = Finish();
  ASSERT_EQ(counts.launches_size(), 1);
  EXPECT_EQ(counts.launches(0).functions_size(), 0);
}

TEST_F(CuptiCounterTest, DroppedRecordsAreTold) {
  Open();
  state_.dropped = 3;
  Launch("k", {Record(0, 1, 32)});
  Launch("k", {Record(0, 1, 32)});
  EXPECT_EQ(Finish().dropped_records(), 6u);
}

TEST_F(CuptiCounterTest, LaterLaunchesOfAKernelAreCountedTogether) {
  Open();
  for (uint32_t i = 0; i < CuptiCounter::kSingleLaunches + 10; ++i) {
    const std::string kernel = i % 2 == 0 ? "k" : "j";
    Launch(kernel, {{kernel, 0, {{kFakeWarpMetric, 1}, {kFakeThreadMetric, 32}}}});
  }
  const worker::SassCounts counts = Finish();
  ASSERT_EQ(counts.launches_size(), static_cast<int>(CuptiCounter::kSingleLaunches) + 2);
  const auto& last = counts.launches(CuptiCounter::kSingleLaunches + 1);
  EXPECT_EQ(last.kernel(), "j");
  EXPECT_EQ(last.first_launch(), CuptiCounter::kSingleLaunches + 1);
  EXPECT_EQ(last.launches(), 5u);
  EXPECT_THAT(last.functions(0).warp_count(), ElementsAre(5));
}

TEST_F(CuptiCounterTest, MoreThanAReplyHoldsIsTruncatedAndSaysSo) {
  Open();
  std::vector<FakeRecord> records;
  for (uint32_t i = 0; i < CuptiCounter::kMaxRows / 8 + 1; ++i) records.push_back(Record(i * 16, 1, 32));
  for (int i = 0; i < 8; ++i) Launch("k", records);
  const worker::SassCounts counts = Finish();
  EXPECT_TRUE(counts.truncated());
  EXPECT_LT(counts.ByteSizeLong(), size_t{16} << 20);
}

TEST_F(CuptiCounterTest, EveryFailingCallSaysWhichAndWhy) {
  for (const char* name : {"cuptiSubscribe", "cuptiEnableDomain"}) {
    state_.results = {{name, CUPTI_ERROR_UNKNOWN}};
    EXPECT_THAT(std::string(CuptiCounter::Open(cupti_).status().message()), HasSubstr("as the test wants it (999)"))
        << name;
  }
  for (const char* name : {"cuptiProfilerInitialize", "cuptiDeviceGetChipName", "cuptiSassMetricsGetProperties",
                           "cuptiSassMetricsSetConfig"}) {
    state_.results.clear();
    auto counter = CuptiCounter::Open(cupti_);
    ASSERT_TRUE(counter.ok());
    state_.results = {{name, CUPTI_ERROR_UNKNOWN}};
    EXPECT_EQ((*counter)->Attach(nullptr, 0).code(), absl::StatusCode::kUnavailable) << name;
  }
  for (const char* name :
       {"cuptiSassMetricsGetDataProperties", "cuptiSassMetricsFlushData", "cuptiSassMetricsDisable"}) {
    state_.results.clear();
    Open();
    ASSERT_TRUE(counter_->Arm("k").ok());
    state_.flushes = {{Record(0, 1, 32)}};
    state_.results = {{name, CUPTI_ERROR_UNKNOWN}};
    EXPECT_EQ(counter_->Take().code(), absl::StatusCode::kUnavailable) << name;
  }
}

TEST_F(CuptiCounterTest, MissingPermissionSaysWhatWouldGiveIt) {
  auto counter = CuptiCounter::Open(cupti_);
  ASSERT_TRUE(counter.ok());
  state_.results = {{"cuptiSassMetricsSetConfig", CUPTI_ERROR_INSUFFICIENT_PRIVILEGES}};
  EXPECT_THAT(std::string((*counter)->Attach(nullptr, 0).message()),
              HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_THAT(PermissionReason("RmProfilingAdminOnly: 1\n"), HasSubstr("(RmProfilingAdminOnly: 1)"));
  EXPECT_THAT(PermissionReason(""), testing::Not(HasSubstr("RmProfilingAdminOnly")));
}

TEST_F(CuptiCounterTest, OtherToolInTheProcessIsNamed) {
  state_.results = {{"cuptiSubscribe", CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED}};
  EXPECT_THAT(std::string(CuptiCounter::Open(cupti_).status().message()), HasSubstr("another tool"));
}

TEST_F(CuptiCounterTest, RecordsThatNoMemoryHoldsAreRefused) {
  Open();
  ASSERT_TRUE(counter_->Arm("k").ok());
  state_.flushes = {{Record(0, 1, 32)}};
  state_.instances = size_t{1} << 40;
  EXPECT_THAT(std::string(counter_->Take().message()), HasSubstr("wants to hand over 1 records"));
}

}  // namespace
}  // namespace sassay::device::cuda
