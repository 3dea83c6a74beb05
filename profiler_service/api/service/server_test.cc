#include "profiler_service/api/service/server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "common/base/sha256.h"
#include "common/metrics/metric.h"
#include "profiler_service/api/service/server_testing.h"
#include "profiler_service/store/blob_store.h"
#include "profiler_service/store/directory_blobs.h"
#include "profiler_service/store/sqlite/sqlite_db.h"

namespace sassay::api {
namespace {

using grpc::StatusCode;
using queue::CorrectVerdict;
using sassay::v1::Event;
using sassay::v1::ProfileRequest;
using sassay::v1::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Bytes(const std::vector<Event>& events) {
  std::vector<std::string> bytes;
  for (const Event& event : events) bytes.push_back(event.SerializeAsString());
  return bytes;
}

// Runs until it is cancelled.
Verdict RunForever(const Job&, JobObserver& observer) {
  while (!observer.cancelled()) std::this_thread::yield();
  Verdict verdict;
  verdict.set_status(sassay::v1::VERDICT_STATUS_CANCELLED);
  return verdict;
}

TEST_F(ServerTest, ABundleIsUploadedJudgedAndAnsweredStageByStage) {
  runner_.run = [&](const Job& job, JobObserver& observer) {
    EXPECT_EQ(job.bundle_bytes, bundle_);
    EXPECT_EQ(job.tenant, "local");
    observer.StageStarted(sassay::v1::STAGE_EVALUATE, "emulated:sm_90a");
    sassay::v1::StageReport report;
    report.set_stage(sassay::v1::STAGE_EVALUATE);
    observer.StageFinished(report);
    return CorrectVerdict();
  };
  Start();
  TestClient client = Client();
  const auto [status, events] = client.Profile(Uploaded(client, "r1"));
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_TRUE(events[0].has_accepted());
  EXPECT_TRUE(events[1].has_stage_started());
  EXPECT_TRUE(events[2].has_stage_finished());
  EXPECT_EQ(events[3].verdict().status(), sassay::v1::VERDICT_STATUS_CORRECT);
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].sequence(), i + 1);
}

TEST_F(ServerTest, CapabilitiesTellTheLimits) {
  Start();
  TestClient client = Client();
  sassay::v1::GetCapabilitiesResponse response;
  ASSERT_TRUE(client.profiler->GetCapabilities(client.Context().get(), {}, &response).ok());
  EXPECT_EQ(response.rules_version(), "test rules");
  EXPECT_EQ(response.max_blob_bytes(), options_.blobs.max_blob_bytes);
  EXPECT_GT(response.max_chunk_bytes(), 0u);
}

TEST_F(ServerTest, AnUploadGoesOnWhereItsStreamBroke) {
  Start();
  TestClient client = Client();
  std::string bytes(1 << 20, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 + i / 256);
  const std::string sha256 = Sha256Hex(bytes);
  EXPECT_EQ(client.WriteStatus(sha256).status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(client.UploadPart(bytes, 0, 3 << 16, false).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(client.UploadPart(bytes, 3 << 16, 5 << 16, true).error_code(), StatusCode::CANCELLED);
  const auto [status, progress] = client.WriteStatus(sha256);
  ASSERT_TRUE(status.ok());
  EXPECT_FALSE(progress.complete());
  ASSERT_GE(progress.committed_bytes(), size_t{3} << 16);
  EXPECT_EQ(client.UploadPart(bytes, bytes.size() - 1, bytes.size(), false).error_code(), StatusCode::INVALID_ARGUMENT);
  Restart();
  TestClient again = Client();
  ASSERT_TRUE(again.UploadPart(bytes, again.WriteStatus(sha256).response.committed_bytes(), bytes.size(), false).ok());
  EXPECT_TRUE(again.WriteStatus(sha256).response.complete());
  EXPECT_EQ(again.Download(sha256).response, bytes);
  EXPECT_EQ(again.Download(sha256, 1000).response, bytes.substr(1000));
  EXPECT_EQ(again.Download(sha256, bytes.size() + 1).status.error_code(), StatusCode::OUT_OF_RANGE);
  EXPECT_THAT(again.FindMissing({sha256, Sha256Hex("x")}).response.missing_sha256(), ElementsAre(Sha256Hex("x")));
}

TEST_F(ServerTest, AKnownBlobIsAnsweredAtOnce) {
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Upload(bundle_).ok());
  EXPECT_TRUE(client.Upload(bundle_).ok());
}

TEST_F(ServerTest, MalformedUploadsAreRefusedByField) {
  options_.blobs = {1 << 20, 64 << 10};
  Start();
  TestClient client = Client();
  EXPECT_THAT(client.FindMissing({"ABC"}).status.error_message(), HasSubstr("64 lower-case hex digits"));
  EXPECT_EQ(client.FindMissing(std::vector<std::string>(1001, Sha256Hex(""))).status.error_code(),
            StatusCode::INVALID_ARGUMENT);
  const grpc::Status large = client.Upload(std::string((1 << 20) + 1, 'x'));
  EXPECT_EQ(large.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(large.error_message(), HasSubstr("--max-blob-bytes"));
  const grpc::Status quota = client.Upload(std::string(65 << 10, 'x'));
  EXPECT_EQ(quota.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(quota.error_message(), HasSubstr("--max-bytes-per-tenant"));
  EXPECT_EQ(client.Download("nonsense").status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(client.Download(Sha256Hex("x")).status.error_code(), StatusCode::NOT_FOUND);
}

TEST_F(ServerTest, AClientThatWentAwaySeesTheSameEventsAndVerdict) {
  absl::Notification first_event_seen;
  runner_.run = [&](const Job&, JobObserver& observer) {
    observer.StageStarted(sassay::v1::STAGE_EVALUATE, "d");
    first_event_seen.WaitForNotification();
    return CorrectVerdict();
  };
  Start();
  TestClient client = Client();
  const ProfileRequest request = Uploaded(client, "r1");
  const auto context = client.Context();
  Event accepted;
  {
    const auto reader = client.profiler->Profile(context.get(), request);
    ASSERT_TRUE(reader->Read(&accepted));
    context->TryCancel();
    reader->Finish().ok();
  }
  first_event_seen.Notify();
  const auto attached = client.Attach(accepted.submission_id());
  ASSERT_TRUE(attached.status.ok());
  ASSERT_EQ(attached.response.size(), 3u);
  EXPECT_EQ(attached.response[0].SerializeAsString(), accepted.SerializeAsString());
  EXPECT_EQ(Bytes(client.Attach(accepted.submission_id()).response), Bytes(attached.response));
  EXPECT_EQ(Bytes(client.Profile(request).response), Bytes(attached.response));
  EXPECT_EQ(client.Attach(accepted.submission_id(), 2).response.size(), 1u);
  EXPECT_TRUE(client.Attach(accepted.submission_id(), 3).response.empty());
  EXPECT_EQ(client.Attach(accepted.submission_id(), 4).status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(client.Attach("s0").status.error_code(), StatusCode::NOT_FOUND);
}

TEST_F(ServerTest, EventsAndVerdictSurviveARestart) {
  Start();
  TestClient client = Client();
  const auto before = client.Profile(Uploaded(client, "r1"));
  Restart();
  TestClient again = Client();
  EXPECT_EQ(Bytes(again.Attach(before.response[0].submission_id()).response), Bytes(before.response));
}

TEST_F(ServerTest, WhatWasRunningWhenTheServiceStoppedIsRunAfterwards) {
  absl::Notification running;
  runner_.run = [&](const Job& job, JobObserver& observer) {
    running.Notify();
    return RunForever(job, observer);
  };
  Start();
  TestClient client = Client();
  const ProfileRequest request = Uploaded(client, "r1");
  Answer<std::vector<Event>> interrupted;
  std::thread watcher([&] { interrupted = client.Profile(request); });
  running.WaitForNotification();
  server_->Shutdown();
  watcher.join();
  EXPECT_EQ(interrupted.status.error_code(), StatusCode::UNAVAILABLE) << interrupted.status.error_message();
  runner_.run = [](const Job&, JobObserver&) { return CorrectVerdict(); };
  Restart();
  const auto answer = Client().Profile(request);
  ASSERT_TRUE(answer.status.ok());
  ASSERT_EQ(answer.response.size(), 3u);
  EXPECT_EQ(answer.response[1].retrying().reason(), "the service was stopped");
  EXPECT_EQ(answer.response[2].verdict().status(), sassay::v1::VERDICT_STATUS_CORRECT);
}

TEST_F(ServerTest, CancelEndsARunAndAWaitingSubmission) {
  runner_.run = RunForever;
  Start();
  TestClient client = Client();
  const auto context = client.Context();
  const auto reader = client.profiler->Profile(context.get(), Uploaded(client, "r1"));
  Event event;
  ASSERT_TRUE(reader->Read(&event));
  const auto cancelled = client.Cancel(event.submission_id());
  ASSERT_TRUE(cancelled.status.ok());
  EXPECT_TRUE(cancelled.response.cancelling());
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(event.verdict().status(), sassay::v1::VERDICT_STATUS_CANCELLED);
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_FALSE(client.Cancel(event.submission_id()).response.cancelling());
  EXPECT_EQ(client.Cancel("s0").status.error_code(), StatusCode::NOT_FOUND);
}

TEST_F(ServerTest, ProfileRefusesWithTheFieldOrTheThingThatIsMissing) {
  Start();
  TestClient client = Client();
  const ProfileRequest good = Uploaded(client, "r1");
  const auto refusal = [&](auto change) {
    ProfileRequest request = good;
    change(request);
    return client.Profile(request).status;
  };
  const grpc::Status blob = refusal([](ProfileRequest& r) { r.set_bundle_sha256(Sha256Hex("never sent")); });
  EXPECT_EQ(blob.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(blob.error_message(), HasSubstr("WriteBlob"));
  EXPECT_EQ(refusal([](ProfileRequest& r) { r.set_workload("nothing/M=1"); }).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(refusal([](ProfileRequest& r) { r.set_workload("gemm_n256_k256/Q=1"); }).error_code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(refusal([](ProfileRequest& r) { r.clear_request_id(); }).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(refusal([](ProfileRequest& r) { r.mutable_run_deadline()->set_seconds(1 << 30); }).error_code(),
            StatusCode::INVALID_ARGUMENT);
  ASSERT_TRUE(client.Profile(good).status.ok());
  EXPECT_EQ(refusal([](ProfileRequest& r) { r.add_stages(sassay::v1::STAGE_EVALUATE); }).error_code(),
            StatusCode::ALREADY_EXISTS);
}

TEST_F(ServerTest, LimitsNameTheirFlags) {
  options_.max_submissions_per_second = 1;
  options_.queue.limits.tenant_in_flight = 1;
  runner_.run = RunForever;
  Start();
  TestClient client = Client();
  const auto context = client.Context();
  const auto reader = client.profiler->Profile(context.get(), Uploaded(client, "r1"));
  Event event;
  ASSERT_TRUE(reader->Read(&event));
  const grpc::Status full = client.Profile(Uploaded(client, "r2")).status;
  EXPECT_EQ(full.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(full.error_message(), HasSubstr("--max-in-flight-per-tenant"));
  grpc::Status status = full;
  for (int i = 0; i < 100 && status.error_message().find("--max-submissions-per-second") == std::string::npos; ++i) {
    status = client.Profile(Uploaded(client, "r3")).status;
  }
  EXPECT_THAT(status.error_message(), HasSubstr("--max-submissions-per-second"));
  context->TryCancel();
  reader->Finish().ok();
}

TEST_F(ServerTest, OpenStreamsAreLimited) {
  options_.max_streams_per_tenant = 1;
  runner_.run = RunForever;
  Start();
  TestClient client = Client();
  const ProfileRequest request = Uploaded(client, "r1");
  const auto context = client.Context();
  const auto reader = client.profiler->Profile(context.get(), request);
  Event event;
  ASSERT_TRUE(reader->Read(&event));
  const grpc::Status refused = client.Attach(event.submission_id()).status;
  EXPECT_EQ(refused.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("--max-streams-per-tenant"));
  context->TryCancel();
  reader->Finish().ok();
}

TEST_F(ServerTest, ManyStreamsFollowOneRun) {
  absl::Notification go;
  runner_.run = [&](const Job&, JobObserver& observer) {
    go.WaitForNotification();
    for (int i = 0; i < 50; ++i) observer.StageStarted(sassay::v1::STAGE_EVALUATE, absl::StrCat(i));
    return CorrectVerdict();
  };
  Start();
  TestClient client = Client();
  const auto context = client.Context();
  const auto reader = client.profiler->Profile(context.get(), Uploaded(client, "r1"));
  Event accepted;
  ASSERT_TRUE(reader->Read(&accepted));
  std::vector<std::thread> watchers;
  std::atomic<int> complete = 0;
  for (int i = 0; i < 16; ++i) {
    watchers.emplace_back([&] { complete += client.Attach(accepted.submission_id()).response.size() == 52; });
  }
  go.Notify();
  for (std::thread& watcher : watchers) watcher.join();
  EXPECT_EQ(complete, 16);
  Event event;
  int rest = 0;
  while (reader->Read(&event)) ++rest;
  EXPECT_EQ(rest, 51);
}

TEST_F(ServerTest, WorkloadsAreListedAndResolved) {
  Start();
  TestClient client = Client();
  sassay::v1::ListWorkloadsResponse list;
  ASSERT_TRUE(client.profiler->ListWorkloads(client.Context().get(), {}, &list).ok());
  EXPECT_GT(list.workloads_size(), 5);
  sassay::v1::GetWorkloadRequest request;
  request.set_name("gemm_n256_k256/M=256");
  sassay::v1::GetWorkloadResponse response;
  ASSERT_TRUE(client.profiler->GetWorkload(client.Context().get(), request, &response).ok());
  EXPECT_EQ(response.workload().inputs(0).shape(0), 256);
  request.set_name("gemm_n256_k256");
  EXPECT_EQ(client.profiler->GetWorkload(client.Context().get(), request, &response).error_code(),
            StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServerTest, MetricsCountWhatHappened) {
  options_.metrics = "127.0.0.1:0";
  options_.metrics_given = true;
  runner_.run = [](const Job& job, JobObserver& observer) {
    sassay::v1::StageReport report;
    report.set_stage(sassay::v1::STAGE_EVALUATE);
    report.set_outcome(sassay::v1::StageReport::PASSED);
    report.set_wall_ns(20'000'000);
    report.set_device_ns(15'000'000);
    observer.StageFinished(report);
    if (job.attempt == 1) return queue::InfraVerdict(sassay::v1::VERDICT_CODE_RUNNER_LOST, "lost");
    return CorrectVerdict();
  };
  Start();
  EXPECT_THAT(server_->metrics_address(), testing::MatchesRegex("127.0.0.1:[1-9][0-9]*"));
  TestClient client = Client();
  ASSERT_TRUE(client.Profile(Uploaded(client, "r1")).status.ok());
  const std::string text = server_->MetricsText();
  EXPECT_THAT(text, HasSubstr("sassay_submissions_accepted_total 1"));
  EXPECT_THAT(text, HasSubstr("sassay_submissions_finished_total{status=\"CORRECT\"} 1"));
  EXPECT_THAT(text, HasSubstr("sassay_submissions_retried_total 1"));
  EXPECT_THAT(text, HasSubstr("sassay_stage_seconds_bucket{stage=\"EVALUATE\",le=\"0.03\"} 2"));
  EXPECT_THAT(text, HasSubstr("sassay_queue_depth 0"));
  EXPECT_THAT(text, HasSubstr("sassay_blob_bytes 4096"));
  EXPECT_THAT(text, HasSubstr("# TYPE sassay_runners_started_total counter\n"
                              "sassay_runners_started_total{mode=\"PLAIN\"} 3\n"
                              "sassay_runners_started_total{mode=\"CHECKED\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("sassay_gpu_seconds_total{stage=\"EVALUATE\"} 0.03\n"));
}

TEST_F(ServerTest, MetricsTellWhoHoldsAGpu) {
  options_.metrics = "127.0.0.1:0";
  Start();
  TestClient client = Client();
  sassay::v1::PauseDispatchRequest pause;
  pause.set_uuid("emulated:sm_90a#0");
  pause.set_holder("monitor");
  pause.set_state(sassay::v1::GPU_STATE_COOLING);
  sassay::v1::PauseDispatchResponse unused;
  ASSERT_TRUE(client.control->PauseDispatch(client.Context().get(), pause, &unused).ok());
  const std::string text = server_->MetricsText();
  EXPECT_THAT(text, testing::ContainsRegex("sassay_gpu_held\\{UUID=\"emulated:sm_90a#0\",holder=\"monitor\".*\\} 1\n"));
  EXPECT_THAT(text,
              testing::ContainsRegex("sassay_gpu_held\\{UUID=\"emulated:sm_90a#0\",holder=\"operator\".*\\} 0\n"));
}

// What is in the table is exported, and nothing else is.
TEST_F(ServerTest, EveryRowOfTheTableOfMetricsIsExported) {
  options_.metrics = "127.0.0.1:0";
  Start();
  TestClient client = Client();
  sassay::v1::GetWorkloadResponse unused;
  client.profiler->GetWorkload(client.Context().get(), {}, &unused);  // refused
  const std::string text = server_->MetricsText();
  std::set<std::string> exported, listed;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, "# TYPE ")) exported.insert(std::string(line.substr(0, line.find(' '))));
  }
  for (const auto rows : {metrics::ServiceMetrics(), metrics::ProcessMetrics()}) {
    for (const metrics::Metric* row : rows) listed.insert(std::string(row->name));
  }
  EXPECT_EQ(exported, listed);
}

TEST_F(ServerTest, WhatTheStoreCannotSayIsNotZero) {
  options_.metrics = "127.0.0.1:0";
  Start();
  ASSERT_TRUE(
      (*store::SqliteDb::Open(options_.state + "/sassay.db"))->Execute("ALTER TABLE tenants RENAME TO gone").ok());
  const std::string text = server_->MetricsText() + server_->MetricsText();
  EXPECT_THAT(text, HasSubstr("sassay_queue_depth Nan"));
  EXPECT_THAT(text, testing::Not(HasSubstr("sassay_queue_depth 0")));
  EXPECT_THAT(text, HasSubstr("sassay_store_errors_total 2"));
}

// The clean-up itself is played by hand: it is the state that counts.
TEST_F(ServerTest, ARepetitionAttachesAlsoWhenItsBundleHasExpired) {
  options_.max_submissions_per_second = 1;
  Start();
  TestClient client = Client();
  const ProfileRequest request = Uploaded(client, "r1");
  const auto first = client.Profile(request);
  ASSERT_TRUE(first.status.ok());
  std::filesystem::remove_all(std::filesystem::path(options_.state) / "blobs" / "tenants");
  for (int i = 0; i < 5; ++i) {
    const auto again = client.Profile(request);
    EXPECT_TRUE(again.status.ok()) << again.status.error_message();
    EXPECT_EQ(Bytes(again.response), Bytes(first.response));
  }
}

TEST_F(ServerTest, OldVerdictsAndBlobsAreForgotten) {
  Start();
  TestClient client = Client();
  const ProfileRequest request = Uploaded(client, "r1");
  const auto answer = client.Profile(request);
  ASSERT_TRUE(answer.status.ok());
  server_.reset();
  {
    const auto db = *store::SqliteDb::Open(options_.state + "/sassay.db");
    ASSERT_TRUE(db->Execute("UPDATE verdicts SET decided_at = 0").ok());
  }
  {
    const auto blobs = *store::DirectoryBlobs::Open(std::filesystem::path(options_.state) / "blobs", {});
    ASSERT_TRUE(blobs->Touch("local", request.bundle_sha256(), absl::UnixEpoch()).ok());
  }
  Start();
  // The housekeeper begins when the service does.
  TestClient again = Client();
  while (again.Attach(answer.response[0].submission_id()).status.ok()) std::this_thread::yield();
  EXPECT_EQ(again.Attach(answer.response[0].submission_id()).status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(again.FindMissing({request.bundle_sha256()}).response.missing_sha256_size(), 1);
}

TEST_F(ServerTest, APortThatIsTakenIsRefused) {
  Start();
  ServiceOptions second = options_;
  second.listen = server_->address();
  second.state = directory_.path() / "second";
  second.store = "sqlite:" + second.state + "/sassay.db";
  second.blobs_place = "dir:" + second.state + "/blobs";
  const auto refused = TryStart(second);
  EXPECT_TRUE(absl::IsUnavailable(refused.status())) << refused.status();
}

}  // namespace
}  // namespace sassay::api
