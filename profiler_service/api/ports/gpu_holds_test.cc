#include "profiler_service/api/ports/gpu_holds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/files.h"
#include "profiler_service/pipeline/testing/fake_gpus.h"
#include "profiler_service/store/sqlite/sqlite_store.h"
#include "profiler_service/store/testing/forwarding_store.h"

namespace sassay::api {
namespace {

using sassay::v1::GPU_STATE_COOLING;
using sassay::v1::GPU_STATE_HEALTHY;
using sassay::v1::GPU_STATE_PAUSED;
using sassay::v1::GPU_STATE_QUARANTINED;
using testing::HasSubstr;

// Fails after so many writes of holds.
class FailingStore : public store::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  absl::Status PlaceHold(const store::Hold& hold) override {
    return writes_left-- > 0 ? ForwardingStore::PlaceHold(hold) : absl::UnavailableError("disk full");
  }
  absl::Status LiftHold(absl::string_view gpu, absl::string_view holder) override {
    return writes_left-- > 0 ? ForwardingStore::LiftHold(gpu, holder) : absl::UnavailableError("disk full");
  }
  int writes_left = 1'000'000;
};

class GpuHoldsTest : public testing::Test {
 protected:
  GpuHoldsTest() { EXPECT_TRUE(holds_.Start().ok()); }

  absl::Status Place(const std::string& gpu, const std::string& holder, sassay::v1::GpuState state = GPU_STATE_PAUSED) {
    return holds_.Place({gpu, holder, state, "why", "", absl::UnixEpoch(), "root"});
  }
  // Which of a, b and c take work: "ac".
  static std::string OpenOnes(const pipeline::FakeGpus& gpus) {
    std::string open;
    for (const char* gpu : {"a", "b", "c"}) {
      if (gpus.closed(gpu).empty()) open += gpu;
    }
    return open;
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("gpu_holds_test");
  const std::unique_ptr<store::Store> real_ = *store::OpenSqliteStore(directory_.path() / "sassay.db");
  FailingStore store_{*real_};
  pipeline::FakeGpus gpus_{{"c", "b", "a"}};
  GpuHolds holds_{store_, gpus_};
};

TEST_F(GpuHoldsTest, AHeldGpuIsClosedUntilItsLastHolderLetsGo) {
  ASSERT_TRUE(Place("a", "operator").ok());
  ASSERT_TRUE(Place("a", "monitor", GPU_STATE_COOLING).ok());
  EXPECT_EQ(OpenOnes(gpus_), "bc");
  EXPECT_THAT(gpus_.closed("a"), HasSubstr("cooling, held by monitor since 1970-01-01T00:00:00+00:00: why"));
  ASSERT_TRUE(holds_.Lift("a", "monitor").ok());
  EXPECT_EQ(OpenOnes(gpus_), "bc");
  EXPECT_THAT(gpus_.closed("a"), HasSubstr("paused by root"));
  ASSERT_TRUE(holds_.Lift("a", "operator").ok());
  EXPECT_EQ(OpenOnes(gpus_), "abc");
}

TEST_F(GpuHoldsTest, TheListTellsTheGravestStateAndEveryHold) {
  ASSERT_TRUE(Place("", "operator").ok());
  ASSERT_TRUE(Place("b", "monitor", GPU_STATE_QUARANTINED).ok());
  const auto list = holds_.List();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].uuid(), "a");
  EXPECT_EQ(list[0].state(), GPU_STATE_PAUSED);
  EXPECT_EQ(list[1].state(), GPU_STATE_QUARANTINED);
  ASSERT_EQ(list[1].holds_size(), 2);
  EXPECT_EQ(list[1].holds(0).holder(), "monitor");
  EXPECT_EQ(list[1].holds(1).holder(), "operator");
  EXPECT_EQ(list[1].holds(1).actor(), "root");
  EXPECT_TRUE(holds_.AllHeld());
  ASSERT_TRUE(holds_.Lift("", "operator").ok());
  EXPECT_FALSE(holds_.AllHeld());
  EXPECT_EQ(holds_.List()[0].state(), GPU_STATE_HEALTHY);
}

TEST_F(GpuHoldsTest, HoldsAreAppliedAgainAtStart) {
  ASSERT_TRUE(Place("a", "monitor", GPU_STATE_QUARANTINED).ok());
  ASSERT_TRUE(Place("gone", "monitor").code() == absl::StatusCode::kNotFound);
  ASSERT_TRUE(store_.PlaceHold({"gone", "monitor", GPU_STATE_PAUSED, "", "", absl::UnixEpoch(), ""}).ok());
  pipeline::FakeGpus gpus({"a", "b", "c"});
  GpuHolds holds(store_, gpus);
  ASSERT_TRUE(holds.Start().ok());
  EXPECT_EQ(OpenOnes(gpus), "bc");
  EXPECT_EQ(gpus.closed("gone"), "");
}

TEST_F(GpuHoldsTest, OneGpuCanBeTakenOutOfAHoldOfAll) {
  ASSERT_TRUE(Place("", "operator").ok());
  ASSERT_TRUE(holds_.Lift("b", "operator").ok());
  EXPECT_EQ(OpenOnes(gpus_), "b");
  ASSERT_TRUE(holds_.Lift("", "operator").ok());
  EXPECT_EQ(OpenOnes(gpus_), "abc");
  EXPECT_TRUE(store_.Holds()->empty());
}

TEST_F(GpuHoldsTest, AReleaseEndsEverybodysHoldsOfOneGpu) {
  ASSERT_TRUE(Place("", "operator").ok());
  ASSERT_TRUE(Place("b", "monitor", GPU_STATE_QUARANTINED).ok());
  ASSERT_TRUE(Place("b", "operator", GPU_STATE_QUARANTINED).ok());
  ASSERT_TRUE(holds_.LiftEveryones("b").ok());
  EXPECT_EQ(OpenOnes(gpus_), "b");
  EXPECT_TRUE(absl::IsNotFound(holds_.LiftEveryones("d")));
}

TEST_F(GpuHoldsTest, WhereverTheDiskFailsNoOtherGpuOpens) {
  for (int writes = 0; writes < 4; ++writes) {
    store_.writes_left = 1'000'000;
    ASSERT_TRUE(holds_.Lift("", "operator").ok());
    ASSERT_TRUE(Place("", "operator").ok());
    store_.writes_left = writes;
    const absl::Status lifted = holds_.Lift("b", "operator");
    EXPECT_EQ(lifted.ok(), writes == 4) << writes;
    EXPECT_THAT(OpenOnes(gpus_), testing::AnyOf("", "b")) << writes;
    pipeline::FakeGpus after_a_restart({"a", "b", "c"});
    ASSERT_TRUE(GpuHolds(store_, after_a_restart).Start().ok());
    EXPECT_THAT(OpenOnes(after_a_restart), testing::AnyOf("", "b")) << writes;
  }
}

}  // namespace
}  // namespace sassay::api
