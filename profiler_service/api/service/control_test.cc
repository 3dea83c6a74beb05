// Control over the wire: what operators and the monitor do, and what tenants see of it.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/base/proto_time.h"
#include "profiler_service/api/auth/tokens.h"
#include "profiler_service/api/ports/heartbeat.h"
#include "profiler_service/api/service/server_testing.h"
#include "profiler_service/store/sqlite/sqlite_store.h"

namespace sassay::api {
namespace {

using grpc::StatusCode;
using queue::CorrectVerdict;
using sassay::v1::Control;
using sassay::v1::Event;
using sassay::v1::Timing;
using sassay::v1::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kGpu[] = "emulated:sm_90a#0";

class ControlTest : public ServerTest {
 protected:
  ControlTest() {
    options_.token_file = directory_.path() / "tokens";
    ann_ = *AddToken(options_.token_file, "ann", Role::kTenant);
    bob_ = *AddToken(options_.token_file, "bob", Role::kTenant);
    root_ = *AddToken(options_.token_file, "root", Role::kAdmin);
    // Each job has a place, and takes long enough to overlap something.
    runner_.run = [this](const Job&, JobObserver& observer) {
      observer.SeatTaken(kGpu);
      return verdict_;
    };
  }

  template <typename Request, typename Response>
  Answer<Response> Call(grpc::Status (Control::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                        const Request& request, const std::string& token) {
    TestClient client = Client(token);
    Answer<Response> answer;
    answer.status = (client.control.get()->*method)(client.Context().get(), request, &answer.response);
    return answer;
  }
  template <typename Request, typename Response>
  Answer<Response> Call(grpc::Status (Control::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                        const Request& request) {
    return Call(method, request, root_);
  }

  std::vector<std::string> Exclude(absl::optional<absl::Time> to, const std::string& incident = "i-1") {
    sassay::v1::ExcludeTurnsRequest request;
    request.set_uuid(kGpu);
    SetTimestamp(absl::UnixEpoch(), *request.mutable_from());
    if (to.has_value()) SetTimestamp(*to, *request.mutable_to());
    request.set_incident_id(incident);
    request.set_reason("hot");
    const auto answer = Call(&Control::Stub::ExcludeTurns, request);
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    return {answer.response.submission_ids().begin(), answer.response.submission_ids().end()};
  }
  void Report(absl::Time through) {
    sassay::v1::ReportHealthRequest request;
    request.add_gpus()->set_uuid(kGpu);
    SetTimestamp(through, *request.mutable_gpus(0)->mutable_healthy_through());
    const auto answer = Call(&Control::Stub::ReportHealth, request);
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  }
  sassay::v1::Gpu TheGpu() {
    const auto answer = Call(&Control::Stub::ListGpus, {});
    EXPECT_EQ(answer.response.gpus_size(), 1);
    return answer.response.gpus_size() == 1 ? answer.response.gpus(0) : sassay::v1::Gpu();
  }
  static sassay::v1::PauseDispatchRequest Pause(const std::string& holder, const std::string& gpu = kGpu) {
    sassay::v1::PauseDispatchRequest request;
    request.set_uuid(gpu);
    request.set_holder(holder);
    request.set_reason("the fan is loud");
    return request;
  }

  std::string ann_, bob_, root_;
  Verdict verdict_ = CorrectVerdict();
};

TEST_F(ControlTest, APausedGpuTakesNothingAndTheMonitorCannotEndAnOperatorsPause) {
  Start();
  ASSERT_TRUE(Call(&Control::Stub::PauseDispatch, Pause("operator")).status.ok());
  ASSERT_TRUE(Call(&Control::Stub::PauseDispatch, Pause("monitor", "")).status.ok());
  EXPECT_EQ(TheGpu().holds_size(), 2);
  Restart();
  EXPECT_THAT(gpus_.closed(kGpu), HasSubstr("the fan is loud"));
  TestClient ann = Client(ann_);
  const auto context = ann.Context();
  const auto reader = ann.profiler->Profile(context.get(), Uploaded(ann, "r1"));
  Event event;
  ASSERT_TRUE(reader->Read(&event));
  sassay::v1::ResumeDispatchRequest resume;
  resume.set_holder("monitor");
  ASSERT_TRUE(Call(&Control::Stub::ResumeDispatch, resume).status.ok());
  EXPECT_EQ(TheGpu().state(), sassay::v1::GPU_STATE_PAUSED);
  resume.set_holder("");
  resume.set_uuid(kGpu);
  EXPECT_THAT(server_->MetricsText(), testing::Not(HasSubstr("finished_total{status=\"CORRECT\"} 1")));
  ASSERT_TRUE(Call(&Control::Stub::ResumeDispatch, resume).status.ok());
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_TRUE(event.has_verdict() && event.last());
  EXPECT_EQ(TheGpu().state(), sassay::v1::GPU_STATE_HEALTHY);
}

TEST_F(ControlTest, WrongArgumentsAreNamed) {
  Start();
  EXPECT_THAT(Call(&Control::Stub::PauseDispatch, Pause("somebody")).status.error_message(), HasSubstr("holder"));
  auto pause = Pause("monitor");
  pause.set_state(sassay::v1::GPU_STATE_QUARANTINED);
  EXPECT_THAT(Call(&Control::Stub::PauseDispatch, pause).status.error_message(), HasSubstr("QuarantineGpu"));
  EXPECT_EQ(Call(&Control::Stub::PauseDispatch, Pause("monitor", "GPU-x")).status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Call(&Control::Stub::QuarantineGpu, {}).status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Call(&Control::Stub::ReleaseGpu, {}).status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Call(&Control::Stub::RestartWorkers, {}).status.error_code(), StatusCode::INVALID_ARGUMENT);
  sassay::v1::ExcludeTurnsRequest exclude;
  exclude.set_uuid(kGpu);
  EXPECT_THAT(Call(&Control::Stub::ExcludeTurns, exclude).status.error_message(), HasSubstr("incident_id"));
  exclude.set_incident_id("i");
  EXPECT_THAT(Call(&Control::Stub::ExcludeTurns, exclude).status.error_message(), HasSubstr("from"));
  exclude.mutable_from()->set_seconds(2);
  exclude.mutable_to()->set_seconds(1);
  EXPECT_THAT(Call(&Control::Stub::ExcludeTurns, exclude).status.error_message(), HasSubstr("to:"));
  sassay::v1::RecordIncidentRequest record;
  EXPECT_THAT(Call(&Control::Stub::RecordIncident, record).status.error_message(), HasSubstr("incident.id"));
  record.mutable_incident()->set_id("i");
  EXPECT_THAT(Call(&Control::Stub::RecordIncident, record).status.error_message(), HasSubstr("revision"));
  sassay::v1::RunCanaryRequest canary;
  canary.set_uuid(kGpu);
  canary.set_wait_ms(1'000'000);
  EXPECT_THAT(Call(&Control::Stub::RunCanary, canary).status.error_message(), HasSubstr("wait_ms"));
}

TEST_F(ControlTest, HealthOfGpusThatTheServiceDoesNotHaveIsNobodysBusiness) {
  Start();
  sassay::v1::ReportHealthRequest report;
  report.add_gpus()->set_uuid("GPU-of-somebody-else");
  report.add_gpus()->set_uuid(kGpu);
  report.mutable_gpus(1)->set_state(sassay::v1::GPU_STATE_SUSPECT);
  report.mutable_gpus(1)->set_reason("warm");
  EXPECT_TRUE(Call(&Control::Stub::ReportHealth, report).status.ok());
  EXPECT_EQ(TheGpu().state(), sassay::v1::GPU_STATE_SUSPECT);
  EXPECT_EQ(TheGpu().reason(), "warm");
}

TEST_F(ControlTest, NothingOfControlIsForTenants) {
  Start();
  const auto refused = [&](auto method) {
    return Call(method, {}, ann_).status.error_code() == StatusCode::PERMISSION_DENIED;
  };
  EXPECT_TRUE(refused(&Control::Stub::ListGpus));
  EXPECT_TRUE(refused(&Control::Stub::PauseDispatch));
  EXPECT_TRUE(refused(&Control::Stub::ResumeDispatch));
  EXPECT_TRUE(refused(&Control::Stub::RestartWorkers));
  EXPECT_TRUE(refused(&Control::Stub::QuarantineGpu));
  EXPECT_TRUE(refused(&Control::Stub::ReleaseGpu));
  EXPECT_TRUE(refused(&Control::Stub::RunCanary));
  EXPECT_TRUE(refused(&Control::Stub::ExcludeTurns));
  EXPECT_TRUE(refused(&Control::Stub::ReportHealth));
  EXPECT_TRUE(refused(&Control::Stub::RecordIncident));
  EXPECT_TRUE(refused(&Control::Stub::GetUsage));
  EXPECT_TRUE(refused(&Control::Stub::SetTenant));
  EXPECT_TRUE(refused(&Control::Stub::ListAudit));
  TestClient ann = Client(ann_);
  const auto context = ann.Context();
  const auto telemetry = ann.control->StreamTelemetry(context.get(), {});
  sassay::v1::Telemetry message;
  EXPECT_FALSE(telemetry->Read(&message));
  EXPECT_EQ(telemetry->Finish().error_code(), StatusCode::PERMISSION_DENIED);
}

TEST_F(ControlTest, EveryChangeIsInTheAuditLogAndReadsAndReportsAreNot) {
  Start();
  ASSERT_TRUE(Call(&Control::Stub::PauseDispatch, Pause("monitor")).status.ok());
  Report(absl::Now());
  Exclude(absl::Now());
  sassay::v1::ReleaseGpuRequest release;
  release.set_uuid(kGpu);
  release.set_force(true);
  ASSERT_TRUE(Call(&Control::Stub::ReleaseGpu, release).status.ok());
  sassay::v1::ListAuditRequest page;
  page.set_limit(2);
  const auto first = Call(&Control::Stub::ListAudit, page).response;
  ASSERT_EQ(first.entries_size(), 2);
  EXPECT_EQ(first.entries(0).action(), "Control.PauseDispatch");
  EXPECT_EQ(first.entries(0).actor(), "root");
  EXPECT_EQ(first.entries(0).target(), kGpu);
  EXPECT_EQ(first.entries(0).detail(), "the fan is loud");
  EXPECT_EQ(first.entries(1).action(), "Control.ExcludeTurns");
  EXPECT_THAT(first.entries(1).detail(), HasSubstr("i-1 from 1970-01-01T00:00:00+00:00 to"));
  page.set_after_sequence(first.entries(1).sequence());
  const auto second = Call(&Control::Stub::ListAudit, page).response;
  ASSERT_EQ(second.entries_size(), 1);
  EXPECT_EQ(second.entries(0).action(), "Control.ReleaseGpu");
  EXPECT_EQ(second.entries(0).outcome(), "OK");
}

TEST_F(ControlTest, AnExcludedTurnIsRunAgainAndItsTenantAloneIsTold) {
  Start();
  TestClient ann = Client(ann_), bob = Client(bob_);
  const auto anns_context = ann.Context(), bobs_context = bob.Context();
  sassay::v1::WatchExclusionsRequest from_the_begin;
  from_the_begin.mutable_from();
  const auto anns = ann.profiler->WatchExclusions(anns_context.get(), from_the_begin);
  const auto bobs = bob.profiler->WatchExclusions(bobs_context.get(), from_the_begin);
  const auto first = ann.Profile(Uploaded(ann, "r1"));
  ASSERT_TRUE(first.status.ok());
  EXPECT_TRUE(first.response.back().last());
  const std::string id = first.response[0].submission_id();
  EXPECT_THAT(Exclude(absl::Now()), ElementsAre(id));
  Event excluded;
  ASSERT_TRUE(anns->Read(&excluded));
  EXPECT_EQ(excluded.submission_id(), id);
  EXPECT_EQ(excluded.excluded().exclusion().incident_id(), "i-1");
  EXPECT_EQ(excluded.excluded().exclusion().reason(), "hot");
  EXPECT_TRUE(excluded.excluded().rerun());
  const auto story = ann.Attach(id);
  ASSERT_EQ(story.response.size(), 4u);
  EXPECT_EQ(story.response[3].verdict().attempt(), 2u);
  EXPECT_TRUE(story.response[3].last());
  // Bob hears of his own, which comes later, and first of that.
  const std::string bobs_id = bob.Profile(Uploaded(bob, "r1")).response[0].submission_id();
  Exclude(absl::Now(), "i-2");
  Event of_bob;
  ASSERT_TRUE(bobs->Read(&of_bob));
  EXPECT_EQ(of_bob.submission_id(), bobs_id);
  anns_context->TryCancel();
  bobs_context->TryCancel();
}

TEST_F(ControlTest, StreamOfKeptExclusionsEndsAfterTheLastOne) {
  Start();
  TestClient ann = Client(ann_);
  sassay::v1::WatchExclusionsRequest kept;
  kept.mutable_from();
  kept.set_only_kept(true);
  const auto excluded = [&] {
    const auto context = ann.Context();
    const auto stream = ann.profiler->WatchExclusions(context.get(), kept);
    std::vector<std::string> ids;
    for (Event event; stream->Read(&event);) ids.push_back(event.submission_id());
    EXPECT_TRUE(stream->Finish().ok());
    return ids;
  };
  EXPECT_THAT(excluded(), IsEmpty());
  const std::string id = ann.Profile(Uploaded(ann, "r1")).response[0].submission_id();
  EXPECT_THAT(Exclude(absl::Now()), ElementsAre(id));
  EXPECT_THAT(excluded(), ElementsAre(id));
}

TEST_F(ControlTest, ARunningTurnGivesUpAtOnceAndAnOpenWindowLastsUntilTheRelease) {
  absl::Notification running;
  std::atomic<int> attempts = 0;
  runner_.run = [&](const Job& job, JobObserver& observer) {
    observer.SeatTaken(kGpu);
    if (++attempts > 1) return CorrectVerdict();
    running.Notify();
    while (!observer.cancelled()) std::this_thread::yield();
    Verdict given_up;
    given_up.set_status(sassay::v1::VERDICT_STATUS_CANCELLED);
    return given_up;
  };
  Start();
  TestClient ann = Client(ann_);
  Answer<std::vector<Event>> answer;
  std::thread watcher([&] { answer = ann.Profile(Uploaded(ann, "r1")); });
  running.WaitForNotification();
  ASSERT_TRUE(Call(&Control::Stub::PauseDispatch, Pause("monitor")).status.ok());
  Exclude(absl::nullopt);
  sassay::v1::ReleaseGpuRequest release;
  release.set_uuid(kGpu);
  EXPECT_TRUE(Call(&Control::Stub::ReleaseGpu, release).response.released());
  watcher.join();
  ASSERT_EQ(answer.response.size(), 3u);
  EXPECT_TRUE(answer.response[1].excluded().rerun());
  EXPECT_EQ(answer.response[2].verdict().status(), sassay::v1::VERDICT_STATUS_CORRECT);
}

TEST_F(ControlTest, AStreamLastsUntilTheTimingIsSettled) {
  verdict_.mutable_timing()->set_status(Timing::MEASURED);
  Start();
  const absl::Time begin = absl::Now();
  Report(begin);
  EXPECT_EQ(TheGpu().healthy_through().seconds(), absl::ToUnixSeconds(begin));
  TestClient ann = Client(ann_);
  const auto context = ann.Context();
  const auto reader = ann.profiler->Profile(context.get(), Uploaded(ann, "r1"));
  Event event;
  do {
    ASSERT_TRUE(reader->Read(&event));
  } while (!event.has_verdict());
  EXPECT_EQ(event.verdict().timing().status(), Timing::PROVISIONAL);
  EXPECT_FALSE(event.last());
  Report(absl::Now());
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_TRUE(event.has_timing_settled() && event.last());
  EXPECT_FALSE(reader->Read(&event));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(ControlTest, ReleaseAsksAMonitorThatWatchesUnlessForced) {
  Start();
  sassay::v1::QuarantineGpuRequest quarantine;
  quarantine.set_uuid(kGpu);
  quarantine.set_holder("monitor");
  ASSERT_TRUE(Call(&Control::Stub::QuarantineGpu, quarantine).status.ok());
  Report(absl::Now());
  TestClient root = Client(root_);
  const auto context = root.Context();
  const auto telemetry = root.control->StreamTelemetry(context.get(), {});
  sassay::v1::Telemetry message;
  ASSERT_TRUE(telemetry->Read(&message)) << "a heartbeat: the service has this reader";
  sassay::v1::ReleaseGpuRequest release;
  release.set_uuid(kGpu);
  release.set_reason("the fan was mended");
  EXPECT_FALSE(Call(&Control::Stub::ReleaseGpu, release).response.released());
  EXPECT_EQ(TheGpu().state(), sassay::v1::GPU_STATE_QUARANTINED);
  do {
    ASSERT_TRUE(telemetry->Read(&message));
  } while (!message.has_release());
  EXPECT_EQ(message.release().uuid(), kGpu);
  EXPECT_EQ(message.release().actor(), "root");
  EXPECT_EQ(message.release().reason(), "the fan was mended");
  release.set_force(true);
  EXPECT_TRUE(Call(&Control::Stub::ReleaseGpu, release).response.released());
  EXPECT_EQ(gpus_.closed(kGpu), "");
  context->TryCancel();
}

TEST_F(ControlTest, TelemetryBeatsAndIsDenseForAReaderThatKeepsUp) {
  gpus_.pulses.emplace_back().set_uuid(kGpu);
  gpus_.pulses.back().set_judge_pid(77);
  gpus_.pulses.back().set_running(3);
  Start();
  TestClient root = Client(root_);
  const auto context = root.Context();
  const auto telemetry = root.control->StreamTelemetry(context.get(), {});
  sassay::v1::Telemetry message;
  std::set<std::string> instances;
  const absl::Time begin = absl::Now();
  for (uint64_t i = 1; i <= 10; ++i) {
    ASSERT_TRUE(telemetry->Read(&message));
    EXPECT_EQ(message.sequence(), i);
    ASSERT_EQ(message.heartbeat().gpus_size(), 1);
    EXPECT_EQ(message.heartbeat().gpus(0).judge_pid(), 77u);
    EXPECT_EQ(message.heartbeat().pid(), static_cast<uint32_t>(getpid()));
    EXPECT_TRUE(message.has_at());
    instances.insert(message.heartbeat().instance());
  }
  EXPECT_GE(absl::Now() - begin, 8 * Heartbeat::kPeriod);
  EXPECT_EQ(instances.size(), 1u);
  EXPECT_EQ(TheGpu().running(), 3u);
  context->TryCancel();
}

TEST_F(ControlTest, IncidentsAreToldFromTheBeginAndLiveAcrossARestart) {
  Start();
  const auto record = [&](const std::string& id, uint32_t revision) {
    sassay::v1::RecordIncidentRequest request;
    request.mutable_incident()->set_id(id);
    request.mutable_incident()->set_revision(revision);
    EXPECT_TRUE(Call(&Control::Stub::RecordIncident, request).status.ok());
  };
  record("i", 1);
  record("i", 1);
  Restart();
  TestClient root = Client(root_);
  const auto all_context = root.Context(), live_context = root.Context();
  sassay::v1::StreamIncidentsRequest from_the_begin;
  from_the_begin.mutable_from();
  const auto all = root.control->StreamIncidents(all_context.get(), from_the_begin);
  sassay::v1::Incident incident;
  ASSERT_TRUE(all->Read(&incident));
  EXPECT_EQ(incident.revision(), 1u);
  const auto live = root.control->StreamIncidents(live_context.get(), {});
  live->WaitForInitialMetadata();
  for (uint32_t revision = 2; revision <= 100; ++revision) record("i", revision);
  for (uint32_t revision = 2; revision <= 100; ++revision) {
    ASSERT_TRUE(all->Read(&incident));
    EXPECT_EQ(incident.revision(), revision) << "each once, in order";
  }
  ASSERT_TRUE(live->Read(&incident));
  EXPECT_GE(incident.revision(), 2u);
  all_context->TryCancel();
  live_context->TryCancel();
}

TEST_F(ControlTest, AnOperatorsQuarantineAndReleaseAreIncidentsThatExcludeNothing) {
  Start();
  const auto incidents = [&] {
    TestClient root = Client(root_);
    sassay::v1::StreamIncidentsRequest kept;
    kept.mutable_from();
    kept.set_only_kept(true);
    const auto context = root.Context();
    const auto stream = root.control->StreamIncidents(context.get(), kept);
    std::vector<sassay::v1::Incident> all;
    for (sassay::v1::Incident incident; stream->Read(&incident);) all.push_back(incident);
    EXPECT_TRUE(stream->Finish().ok());
    return all;
  };
  sassay::v1::QuarantineGpuRequest quarantine;
  quarantine.set_uuid(kGpu);
  quarantine.set_reason("it smells");
  TestClient ann = Client(ann_);
  const auto turn = ann.Profile(Uploaded(ann, "r1"));
  ASSERT_TRUE(Call(&Control::Stub::QuarantineGpu, quarantine).status.ok());
  Restart();
  sassay::v1::ReleaseGpuRequest release;
  release.set_uuid(kGpu);
  release.set_reason("new fan");
  ASSERT_TRUE(Call(&Control::Stub::ReleaseGpu, release).response.released());
  const auto own = incidents();
  ASSERT_EQ(own.size(), 2u);
  EXPECT_EQ(own[1].id(), own[0].id());
  EXPECT_EQ(own[1].revision(), 2u);
  EXPECT_EQ(own[1].rule(), "operator");
  EXPECT_THAT(own[1].actions(), ElementsAre("quarantined by root: it smells", "ended by root: new fan"));
  EXPECT_TRUE(own[1].has_to());

  quarantine.set_holder("monitor");
  quarantine.set_incident_id("hot-1");
  ASSERT_TRUE(Call(&Control::Stub::QuarantineGpu, quarantine).status.ok());
  EXPECT_EQ(incidents().size(), 2u) << "the monitor records its own";
  ASSERT_TRUE(Call(&Control::Stub::ReleaseGpu, release).response.released());
  EXPECT_THAT(incidents().back().reason(), "released by root: new fan");
  ASSERT_TRUE(Call(&Control::Stub::ReleaseGpu, release).response.released());
  EXPECT_EQ(incidents().size(), 3u) << "nothing was held";
  const auto story = Client(ann_).Attach(turn.response[0].submission_id());
  EXPECT_EQ(story.response.size(), turn.response.size()) << "no exclusion was added";
}

TEST_F(ControlTest, StreamOfKeptIncidentsEndsAfterTheLastOne) {
  Start();
  TestClient root = Client(root_);
  sassay::v1::StreamIncidentsRequest kept;
  kept.mutable_from();
  kept.set_only_kept(true);
  const auto count = [&] {
    const auto context = root.Context();
    const auto stream = root.control->StreamIncidents(context.get(), kept);
    int incidents = 0;
    for (sassay::v1::Incident incident; stream->Read(&incident);) ++incidents;
    EXPECT_TRUE(stream->Finish().ok());
    return incidents;
  };
  EXPECT_EQ(count(), 0);
  for (uint32_t revision = 1; revision <= 200; ++revision) {
    sassay::v1::RecordIncidentRequest record;
    record.mutable_incident()->set_id("i");
    record.mutable_incident()->set_revision(revision);
    ASSERT_TRUE(Call(&Control::Stub::RecordIncident, record).status.ok());
  }
  EXPECT_EQ(count(), 200) << "several pages";
}

TEST_F(ControlTest, UsageIsTheSumOverVerdicts) {
  verdict_.add_stages()->set_device_ns(300);
  verdict_.add_stages()->set_device_ns(7);
  Start();
  TestClient ann = Client(ann_);
  for (const char* request : {"r1", "r2", "r3"}) ASSERT_TRUE(ann.Profile(Uploaded(ann, request)).status.ok());
  const auto answer = Call(&Control::Stub::GetUsage, {});
  ASSERT_EQ(answer.response.tenants_size(), 1);
  EXPECT_EQ(answer.response.tenants(0).tenant(), "ann");
  EXPECT_EQ(answer.response.tenants(0).verdicts(), 3u);
  EXPECT_EQ(answer.response.tenants(0).gpu_ns(), 3 * 307u);
}

TEST_F(ControlTest, ATenantsWeightIsKeptAndSaid) {
  verdict_.add_stages()->set_device_ns(3'000'000);
  Start();
  sassay::v1::SetTenantRequest request;
  request.set_tenant("ann");
  EXPECT_THAT(Call(&Control::Stub::SetTenant, request).status.error_message(), HasSubstr("weight"));
  request.set_weight(1001);
  EXPECT_EQ(Call(&Control::Stub::SetTenant, request).status.error_code(), StatusCode::INVALID_ARGUMENT);
  request.set_weight(7);
  request.clear_tenant();
  EXPECT_THAT(Call(&Control::Stub::SetTenant, request).status.error_message(), HasSubstr("tenant"));
  request.set_tenant("ann");
  ASSERT_TRUE(Call(&Control::Stub::SetTenant, request).status.ok());
  TestClient ann = Client(ann_);
  for (const char* id : {"r1", "r2"}) ASSERT_TRUE(ann.Profile(Uploaded(ann, id)).status.ok());
  const auto answer = Call(&Control::Stub::GetUsage, {});
  ASSERT_EQ(answer.response.tenants_size(), 1);
  EXPECT_EQ(answer.response.tenants(0).weight(), 7u);
  EXPECT_GT(answer.response.tenants(0).recent_gpu_ns(), 0u) << "the first is settled when the second is dispatched";
}

TEST_F(ControlTest, CanaryAndRestartReachTheGpuAndDoNotHoldUpAPause) {
  absl::Notification asked, go;
  gpus_.canary = [&](absl::string_view gpu, absl::Duration wait) -> absl::StatusOr<sassay::v1::RunCanaryResponse> {
    EXPECT_EQ(gpu, kGpu);
    EXPECT_EQ(wait, absl::Seconds(10));
    asked.Notify();
    go.WaitForNotification();
    return absl::FailedPreconditionError("an emulated device has no times");
  };
  gpus_.restart = [](absl::string_view, absl::string_view why) -> absl::StatusOr<uint32_t> {
    EXPECT_EQ(why, "it hangs");
    return 3;
  };
  Start();
  sassay::v1::RunCanaryRequest canary;
  canary.set_uuid(kGpu);
  std::thread waiting(
      [&] { EXPECT_EQ(Call(&Control::Stub::RunCanary, canary).status.error_code(), StatusCode::FAILED_PRECONDITION); });
  asked.WaitForNotification();
  EXPECT_TRUE(Call(&Control::Stub::PauseDispatch, Pause("monitor")).status.ok());
  sassay::v1::RestartWorkersRequest restart;
  restart.set_uuid(kGpu);
  restart.set_reason("it hangs");
  EXPECT_EQ(Call(&Control::Stub::RestartWorkers, restart).response.runners(), 3u);
  go.Notify();
  waiting.join();
}

}  // namespace
}  // namespace sassay::api
