#include "profiler_service/reuse/reuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "common/base/proto_time.h"
#include "profiler_service/verdict/verdict.h"

namespace sassay::reuse {
namespace {

using sassay::v1::ProfileRequest;
using sassay::v1::StageReport;
using sassay::v1::Verdict;
using testing::Contains;
using testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);
const Subject kSubject = {"gemm/M=64", "d1"};

sassay::v1::DeviceCapability Device(const std::string& kind) {
  sassay::v1::DeviceCapability device;
  device.set_kind(kind);
  device.add_archs("sm_90a");
  for (const int stage : {sassay::v1::STAGE_ADMISSION, sassay::v1::STAGE_EVALUATE, sassay::v1::STAGE_SANITIZE,
                          sassay::v1::STAGE_EVIDENCE}) {
    device.add_stages(static_cast<sassay::v1::Stage>(stage));
  }
  device.set_model(kind == "cuda" ? "NVIDIA H200" : "emulated sm_90a");
  if (kind != "cuda") return device;
  device.set_driver_version("580.1");
  device.add_stages(sassay::v1::STAGE_TIMING);
  return device;
}

Judges JudgesOn(const std::string& kind) {
  Judges judges;
  judges.rules = "r";
  judges.sassay = "s";
  judges.provenance_toolkits = {"13.0"};
  judges.settings = {"set"};
  judges.Add(Device(kind));
  return judges;
}

ProfileRequest Request() {
  ProfileRequest request;
  request.set_request_id("r1");
  request.set_bundle_sha256(std::string(64, 'a'));
  request.set_workload("gemm/M=64");
  return request;
}

StageReport Report(sassay::v1::Stage stage, StageReport::Outcome outcome) {
  StageReport report;
  report.set_stage(stage);
  report.set_outcome(outcome);
  report.set_device_ns(5);
  return report;
}

// Decided a minute ago.
Verdict DecidedOn(const std::string& kind) {
  Verdict verdict;
  verdict.set_submission_id("s1");
  verdict.set_attempt(2);
  verdict.set_definition_sha256("d1");
  verdict.set_provenance(sassay::v1::PROVENANCE_VERIFIED);
  verdict.mutable_versions()->set_rules("r");
  verdict.mutable_versions()->set_sassay("s");
  verdict.mutable_versions()->set_device(Device(kind).model());
  verdict.mutable_versions()->set_driver(Device(kind).driver_version());
  SetTimestamp(kNow - absl::Minutes(1), *verdict.mutable_decided_at());
  return verdict;
}

Verdict Correct(const std::string& kind) {
  Verdict verdict = DecidedOn(kind);
  verdict.set_status(sassay::v1::VERDICT_STATUS_CORRECT);
  verdict.set_stage(sassay::v1::STAGE_EVIDENCE);
  verdict.set_code(sassay::v1::VERDICT_CODE_OK);
  verdict.set_scorable(true);
  *verdict.add_stages() = Report(sassay::v1::STAGE_EVALUATE, StageReport::PASSED);
  const bool timed = kind == "cuda";
  *verdict.add_stages() = Report(sassay::v1::STAGE_TIMING, timed ? StageReport::PASSED : StageReport::UNAVAILABLE);
  verdict.mutable_timing()->set_status(timed ? sassay::v1::Timing::MEASURED : sassay::v1::Timing::UNAVAILABLE);
  return verdict;
}

Verdict Wrong(const std::string& kind, sassay::v1::Stage stage, sassay::v1::VerdictCode code) {
  Verdict verdict = DecidedOn(kind);
  verdict.set_stage(stage);
  verdict.set_code(code);
  verdict.set_status(verdict::StatusOf(code));
  *verdict.add_stages() = Report(stage, StageReport::FAILED);
  *verdict.add_stages() = Report(sassay::v1::STAGE_TIMING, StageReport::SKIPPED);
  return verdict;
}

bool Stands(const Verdict& earlier, const ProfileRequest& request, const Judges& judges) {
  return CopyOf(earlier, request, kSubject, judges, kNow).has_value();
}

TEST(ReuseKey, IsThatOfWhatIsAskedNotOfWhoAsksAndHowUrgently) {
  const Judges judges = JudgesOn("cuda");
  const std::string key = KeyOf(Request(), kSubject, judges);
  EXPECT_EQ(key.size(), 64u);
  const std::function<void(ProfileRequest&)> same[] = {
      [](ProfileRequest& r) { r.set_request_id("r2"); },
      [](ProfileRequest& r) { r.mutable_queue_deadline()->set_seconds(1); },
      [](ProfileRequest& r) { r.mutable_run_deadline()->set_seconds(1); },
      [](ProfileRequest& r) { r.set_priority(sassay::v1::PRIORITY_BATCH); },
      [](ProfileRequest& r) { r.set_gpu_model("NVIDIA H200"); },
      [](ProfileRequest& r) { r.mutable_max_age()->set_seconds(1); },
      [](ProfileRequest& r) { r.set_fresh(true); },
      [](ProfileRequest& r) {
        for (const int stage : {sassay::v1::STAGE_TIMING, sassay::v1::STAGE_EVIDENCE, sassay::v1::STAGE_SANITIZE,
                                sassay::v1::STAGE_EVALUATE, sassay::v1::STAGE_TIMING}) {
          r.add_stages(static_cast<sassay::v1::Stage>(stage));
        }
      },
  };
  for (size_t i = 0; i < std::size(same); ++i) {
    ProfileRequest request = Request();
    same[i](request);
    EXPECT_EQ(KeyOf(request, kSubject, judges), key) << i;
  }
}

TEST(ReuseKey, DiffersWithEverythingThatHasASay) {
  std::set<std::string> keys = {KeyOf(Request(), kSubject, JudgesOn("cuda"))};
  const std::function<void(ProfileRequest&, Subject&, Judges&)> others[] = {
      [](ProfileRequest& r, Subject&, Judges&) { r.set_bundle_sha256(std::string(64, 'b')); },
      [](ProfileRequest&, Subject& s, Judges&) { s.workload = "gemm/M=65"; },
      [](ProfileRequest&, Subject& s, Judges&) { s.definition_sha256 = "d2"; },
      [](ProfileRequest& r, Subject&, Judges&) { r.add_stages(sassay::v1::STAGE_EVALUATE); },
      [](ProfileRequest& r, Subject&, Judges&) { r.add_stages(sassay::v1::STAGE_SANITIZE); },
      [](ProfileRequest& r, Subject&, Judges&) { r.set_sanitize(sassay::v1::SANITIZE_POLICY_FULL); },
      [](ProfileRequest& r, Subject&, Judges&) { r.set_baseline(sassay::v1::BASELINE_CHOICE_ITSELF); },
      [](ProfileRequest& r, Subject&, Judges&) {
        r.GetReflection()->MutableUnknownFields(&r)->AddVarint(1000, 1);  // of a newer client
      },
      [](ProfileRequest&, Subject&, Judges& j) { j.rules = "r2"; },
      [](ProfileRequest&, Subject&, Judges& j) { j.sassay = "s2"; },
      [](ProfileRequest&, Subject&, Judges& j) { j.provenance_toolkits = {""}; },
      [](ProfileRequest&, Subject&, Judges& j) {
        j.provenance_toolkits = {"", "13.0"};
      },
      [](ProfileRequest&, Subject&, Judges& j) { j.settings = {"other"}; },
  };
  for (size_t i = 0; i < std::size(others); ++i) {
    ProfileRequest request = Request();
    Subject subject = kSubject;
    Judges judges = JudgesOn("cuda");
    others[i](request, subject, judges);
    EXPECT_TRUE(keys.insert(KeyOf(request, subject, judges)).second) << i;
  }
}

TEST(ReuseKey, ReplaysAndDiagnosesHaveNone) {
  ProfileRequest replay = Request(), diagnosed = Request();
  replay.set_replay_id("x");
  diagnosed.add_diagnose(sassay::v1::DIAGNOSIS_NCU);
  EXPECT_EQ(KeyOf(replay, kSubject, JudgesOn("cuda")), "");
  EXPECT_EQ(KeyOf(diagnosed, kSubject, JudgesOn("cuda")), "");
}

TEST(Reuse, ACopySaysWhoseItIsAndWhichStagesRanThen) {
  Verdict earlier = Correct("emulated");
  *earlier.add_stages() = Report(sassay::v1::STAGE_SANITIZE, StageReport::SKIPPED);
  const auto copy = CopyOf(earlier, Request(), kSubject, JudgesOn("emulated"), kNow);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->reused_from(), "s1");
  EXPECT_EQ(copy->attempt(), 0u);
  EXPECT_EQ(TimeOf(copy->decided_at()), kNow);
  EXPECT_TRUE(copy->scorable()) << "the bundle was there before its seeds were drawn";
  EXPECT_TRUE(copy->stages(0).cached());
  EXPECT_EQ(copy->stages(0).device_ns(), 5u);
  EXPECT_TRUE(copy->stages(1).cached());
  EXPECT_FALSE(copy->stages(2).cached());
}

TEST(Reuse, WhatOtherRulesDefinitionsOrVersionsDecidedIsNotReused) {
  const Judges judges = JudgesOn("emulated");
  ASSERT_TRUE(Stands(Correct("emulated"), Request(), judges));
  const std::function<void(Verdict&)> others[] = {
      [](Verdict& v) { v.mutable_versions()->set_rules("r0"); },
      [](Verdict& v) { v.mutable_versions()->set_sassay("s0"); },
      [](Verdict& v) { v.mutable_versions()->set_device("emulated sm_80"); },
      [](Verdict& v) { v.mutable_versions()->clear_device(); },
      [](Verdict& v) { v.set_definition_sha256("d0"); },
      [](Verdict& v) { v.set_provenance(sassay::v1::PROVENANCE_UNAVAILABLE); },
      [](Verdict& v) { v.mutable_excluded()->set_incident_id("i"); },
  };
  for (size_t i = 0; i < std::size(others); ++i) {
    Verdict verdict = Correct("emulated");
    others[i](verdict);
    EXPECT_FALSE(Stands(verdict, Request(), judges)) << i;
  }
}

TEST(Reuse, AMeasurementStandsOnlyForWhoSaysHowOldItMayBe) {
  const Judges judges = JudgesOn("cuda");
  EXPECT_FALSE(Stands(Correct("cuda"), Request(), judges));
  ProfileRequest request = Request();
  request.mutable_max_age()->set_seconds(59);
  EXPECT_FALSE(Stands(Correct("cuda"), request, judges));
  request.mutable_max_age()->set_seconds(60);
  const auto copy = CopyOf(Correct("cuda"), request, kSubject, judges, kNow);
  ASSERT_TRUE(copy.has_value());
  EXPECT_THAT(copy->timing().warnings(),
              Contains(HasSubstr("measured at 2023-11-14T22:12:20+00:00 for submission s1")));
  EXPECT_TRUE(copy->scorable());

  Verdict provisional = Correct("cuda"), late = Correct("cuda");
  provisional.mutable_timing()->set_status(sassay::v1::Timing::PROVISIONAL);
  SetTimestamp(kNow + absl::Seconds(1), *late.mutable_decided_at());
  EXPECT_FALSE(Stands(provisional, request, judges));
  EXPECT_FALSE(Stands(late, request, judges)) << "a clock that was set back says nothing about its age";
}

TEST(Reuse, ARightAnswerThatWasNotTimedStandsWhereNobodyAskedForATime) {
  Verdict verdict = Correct("cuda");
  verdict.clear_timing();
  verdict.mutable_stages(1)->set_outcome(StageReport::SKIPPED);
  EXPECT_TRUE(Stands(verdict, Request(), JudgesOn("cuda")));
}

TEST(Reuse, TheModelMustBeTheOneThatIsAskedFor) {
  ProfileRequest request = Request();
  request.mutable_max_age()->set_seconds(600);
  request.set_gpu_model("NVIDIA H200");
  EXPECT_TRUE(Stands(Correct("cuda"), request, JudgesOn("cuda")));
  Judges both = JudgesOn("cuda");
  both.Add(Device("emulated"));
  EXPECT_FALSE(Stands(Correct("emulated"), request, both));
}

TEST(Reuse, WhatAnotherDeviceCouldAddNowIsNotMissing) {
  EXPECT_TRUE(Stands(Correct("emulated"), Request(), JudgesOn("emulated")));
  Judges both = JudgesOn("emulated");
  both.Add(Device("cuda"));
  EXPECT_FALSE(Stands(Correct("emulated"), Request(), both)) << "a GPU can time it";
  Verdict untimed = Correct("cuda");
  untimed.mutable_stages(1)->set_outcome(StageReport::UNAVAILABLE);
  untimed.mutable_timing()->set_status(sassay::v1::Timing::UNAVAILABLE);
  EXPECT_FALSE(Stands(untimed, Request(), JudgesOn("cuda"))) << "it can be tried again";
  Verdict unsanitized = Correct("emulated");
  unsanitized.add_sanitizers()->set_outcome(sassay::v1::SanitizerReport::UNAVAILABLE);
  EXPECT_FALSE(Stands(unsanitized, Request(), JudgesOn("emulated")));
}

struct WrongCase {
  const char* what;
  sassay::v1::Stage stage;
  sassay::v1::VerdictCode code;
  bool emulated, cuda;
};

TEST(Reuse, OnlyMistakesThatAreMadeAgainAreReused) {
  using namespace sassay::v1;
  const WrongCase cases[] = {
      {"refused by its bytes", STAGE_ADMISSION, VERDICT_CODE_BUNDLE_MALFORMED, true, true},
      {"refused for the device's size", STAGE_ADMISSION, VERDICT_CODE_MEMORY_BUDGET, false, false},
      {"too slow for the emulator", STAGE_ADMISSION, VERDICT_CODE_TOO_LARGE_FOR_DEVICE, false, false},
      {"in an operator's list", STAGE_ADMISSION, VERDICT_CODE_VENDOR_KERNEL, false, false},
      {"wrong outputs, seen once", STAGE_EVALUATE, VERDICT_CODE_MISMATCH, true, false},
      {"outputs that differ", STAGE_EVALUATE, VERDICT_CODE_NONDETERMINISTIC, false, false},
      {"a fault", STAGE_EVALUATE, VERDICT_CODE_ILLEGAL_ADDRESS, true, true},
      {"a refused launch", STAGE_EVALUATE, VERDICT_CODE_LAUNCH_REFUSED, true, false},
      {"a guard band", STAGE_EVALUATE, VERDICT_CODE_GUARD_BAND, true, false},
      {"a hang", STAGE_EVALUATE, VERDICT_CODE_KERNEL_TIMEOUT, false, false},
      {"a deadlock", STAGE_EVALUATE, VERDICT_CODE_MBARRIER_DEADLOCK, false, false},
      {"a lost runner", STAGE_EVALUATE, VERDICT_CODE_RUNNER_LOST, false, false},
      {"a device that is gone", STAGE_EVALUATE, VERDICT_CODE_DEVICE_LOST, false, false},
      {"what the emulator lacks", STAGE_EVALUATE, VERDICT_CODE_EMULATOR_LACKS, false, false},
      {"out of bounds", STAGE_SANITIZE, VERDICT_CODE_OOB_GLOBAL_WRITE, true, true},
      {"a race", STAGE_SANITIZE, VERDICT_CODE_SHARED_RACE, true, false},
      {"wrong while timed", STAGE_TIMING, VERDICT_CODE_TIMED_OUTPUT_WRONG, false, false},
      {"faster than physics", STAGE_TIMING, VERDICT_CODE_FASTER_THAN_PHYSICS, false, false},
      {"cancelled", STAGE_EVALUATE, VERDICT_CODE_CANCELLED_BY_CLIENT, false, false},
  };
  for (const WrongCase& each : cases) {
    for (const char* kind : {"emulated", "cuda"}) {
      Verdict verdict = Wrong(kind, each.stage, each.code);
      if (each.stage == STAGE_ADMISSION) verdict.set_status(VERDICT_STATUS_REJECTED);
      const bool expected = kind == std::string("cuda") ? each.cuda : each.emulated;
      EXPECT_EQ(Stands(verdict, Request(), JudgesOn(kind)), expected) << each.what << ", " << kind;
    }
  }
}

TEST(Reuse, OutputsThatWereWrongTwiceInTheSameWayStandOnAGpu) {
  Verdict verdict = Wrong("cuda", sassay::v1::STAGE_EVALUATE, sassay::v1::VERDICT_CODE_MISMATCH);
  verdict.mutable_details()->add_notes(verdict::kWrongTwiceAlike);
  EXPECT_TRUE(Stands(verdict, Request(), JudgesOn("cuda")));
}

TEST(Reuse, ARefusalByTheBytesAloneNeedsNoDevice) {
  Verdict verdict = Wrong("cuda", sassay::v1::STAGE_ADMISSION, sassay::v1::VERDICT_CODE_CUBIN_MALFORMED);
  verdict.set_status(sassay::v1::VERDICT_STATUS_REJECTED);
  verdict.mutable_versions()->clear_device();
  verdict.mutable_versions()->clear_driver();
  EXPECT_TRUE(Stands(verdict, Request(), JudgesOn("cuda")));
}

}  // namespace
}  // namespace sassay::reuse
