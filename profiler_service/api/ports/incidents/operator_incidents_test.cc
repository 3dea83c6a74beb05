#include "profiler_service/api/ports/incidents/operator_incidents.h"

#include "common/base/proto_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::api {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Time kBegin = absl::FromUnixSeconds(1'764'500'000);
const absl::Time kEnd = kBegin + absl::Minutes(5);

store::Hold Quarantine() {
  return {"GPU-1",         "operator", sassay::v1::GPU_STATE_QUARANTINED, "it smells", NewOperatorIncidentId(), kBegin,
          /*actor=*/"root"};
}

sassay::v1::Gpu HeldGpu(const store::Hold& hold) {
  sassay::v1::Gpu gpu;
  gpu.set_uuid(hold.gpu);
  gpu.set_state(hold.state);
  gpu.set_reason("quarantined by root");
  sassay::v1::Hold& held = *gpu.add_holds();
  held.set_holder(hold.holder);
  held.set_state(hold.state);
  held.set_reason(hold.reason);
  held.set_incident_id(hold.incident_id);
  held.set_actor(hold.actor);
  SetTimestamp(hold.since, *held.mutable_since());
  return gpu;
}

sassay::v1::Gpu FreeGpu() {
  sassay::v1::Gpu gpu;
  gpu.set_uuid("GPU-1");
  gpu.set_state(sassay::v1::GPU_STATE_HEALTHY);
  return gpu;
}

TEST(OperatorIncidentsTest, AQuarantineGoesOnUntilItsHoldIsGone) {
  const store::Hold hold = Quarantine();
  const sassay::v1::Incident begun = QuarantineIncident(hold);
  EXPECT_EQ(begun.id(), hold.incident_id);
  EXPECT_EQ(begun.rule(), "operator");
  EXPECT_EQ(begun.reason(), "quarantined by root: it smells");
  EXPECT_EQ(TimeOf(begun.from()), kBegin);
  EXPECT_FALSE(begun.has_to());
  EXPECT_THAT(EndedIncidents({HeldGpu(hold)}, {HeldGpu(hold)}, {"ann", "", kEnd}), IsEmpty());

  const auto ended = EndedIncidents({HeldGpu(hold)}, {FreeGpu()}, {"ann", "the fan was mended", kEnd});
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].id(), begun.id());
  EXPECT_EQ(ended[0].revision(), 2u);
  EXPECT_EQ(TimeOf(ended[0].from()), kBegin);
  EXPECT_EQ(TimeOf(ended[0].to()), kEnd);
  EXPECT_EQ(ended[0].after(), sassay::v1::GPU_STATE_HEALTHY);
  EXPECT_THAT(ended[0].actions(), ElementsAre("quarantined by root: it smells", "ended by ann: the fan was mended"));
}

TEST(OperatorIncidentsTest, IncidentsOfTheMonitorAreItsOwn) {
  store::Hold hold = Quarantine();
  hold.incident_id = "memory_hot-17";
  EXPECT_THAT(EndedIncidents({HeldGpu(hold)}, {FreeGpu()}, {"ann", "", kEnd}), IsEmpty());
}

TEST(OperatorIncidentsTest, ReleasingWhatAnotherHeldIsAMoment) {
  const sassay::v1::Incident released = ReleaseIncident(HeldGpu(Quarantine()), {"ann", "tested", kEnd});
  EXPECT_EQ(released.reason(), "released by ann: tested");
  EXPECT_EQ(released.before(), sassay::v1::GPU_STATE_QUARANTINED);
  EXPECT_EQ(TimeOf(released.from()), kEnd);
  EXPECT_EQ(TimeOf(released.to()), kEnd);
  EXPECT_THAT(released.actions(), ElementsAre("released by ann: tested; it was quarantined by root"));
}

}  // namespace
}  // namespace sassay::api
