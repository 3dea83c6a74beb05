// One of four GPUs throttles in the middle of 200 submissions: what the service does about it when a monitor says so.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/proto_time.h"
#include "profiler_service/api/service/server_testing.h"
#include "profiler_service/store/sqlite/sqlite_store.h"

namespace sassay::api {
namespace {

using sassay::v1::Event;
using sassay::v1::Timing;
using sassay::v1::Verdict;

constexpr int kSubmissions = 200;
constexpr uint32_t kSeatsEach = 1;
constexpr char kHot[] = "GPU-1";
const char* const kAll[] = {"GPU-0", "GPU-1", "GPU-2", "GPU-3"};

// Gives jobs their places, as lanes do: on GPUs that are open and have one.
class Places {
 public:
  explicit Places(pipeline::FakeGpus& gpus) : gpus_(gpus) {}

  std::string Take(const Job& job, const JobObserver& observer) {
    while (!observer.cancelled()) {
      absl::MutexLock lock(&mutex_);
      for (int round = 0; round < 2; ++round) {
        for (const char* gpu : kAll) {
          const bool earlier = std::count(job.earlier_devices.begin(), job.earlier_devices.end(), gpu) > 0;
          if (earlier != (round == 1) || !gpus_.closed(gpu).empty() || taken_[gpu] == kSeatsEach) continue;
          ++taken_[gpu];
          return gpu;
        }
      }
    }
    return "";
  }
  void Leave(const std::string& gpu) {
    absl::MutexLock lock(&mutex_);
    --taken_[gpu];
  }

 private:
  pipeline::FakeGpus& gpus_;
  absl::Mutex mutex_;
  std::map<std::string, uint32_t> taken_ ABSL_GUARDED_BY(mutex_);
};

class ThrottleTest : public ServerTest {
 protected:
  ThrottleTest() {
    acts_on_ = &four_;
    runner_.run = [this](const Job& job, JobObserver& observer) { return Run(job, observer); };
  }

  Verdict Run(const Job& job, JobObserver& observer) {
    Verdict verdict;
    verdict.set_status(sassay::v1::VERDICT_STATUS_CANCELLED);
    const std::string gpu = places_.Take(job, observer);
    if (gpu.empty()) return verdict;
    observer.SeatTaken(gpu);
    observer.StageStarted(sassay::v1::STAGE_TIMING, gpu);
    const absl::Time end = absl::Now() + absl::Milliseconds(5);
    while (absl::Now() < end && !observer.cancelled()) std::this_thread::yield();
    places_.Leave(gpu);
    if (observer.cancelled()) return verdict;
    ++ended_;
    verdict = queue::CorrectVerdict();
    verdict.mutable_timing()->set_status(Timing::MEASURED);
    verdict.add_stages()->set_device_ns(5'000'000);
    return verdict;
  }

  template <typename Request, typename Response>
  void Call(grpc::Status (sassay::v1::Control::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
            const Request& request) {
    TestClient client = Client();
    Response response;
    const grpc::Status status = (client.control.get()->*method)(client.Context().get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  // Every GPU was healthy until `through`.
  void Report(absl::Time through) {
    sassay::v1::ReportHealthRequest report;
    for (const char* gpu : kAll) {
      sassay::v1::GpuHealth& health = *report.add_gpus();
      health.set_uuid(gpu);
      SetTimestamp(through, *health.mutable_healthy_through());
    }
    Call(&sassay::v1::Control::Stub::ReportHealth, report);
  }
  void Exclude(absl::Time from, absl::optional<absl::Time> to) {
    sassay::v1::ExcludeTurnsRequest request;
    request.set_uuid(kHot);
    SetTimestamp(from, *request.mutable_from());
    if (to.has_value()) SetTimestamp(*to, *request.mutable_to());
    request.set_incident_id("i-1");
    request.set_reason("thermal slowdown");
    Call(&sassay::v1::Control::Stub::ExcludeTurns, request);
  }
  void WaitUntilEnded(int count) const {
    while (ended_ < count) std::this_thread::yield();
  }

  pipeline::FakeGpus four_{{"GPU-0", "GPU-1", "GPU-2", "GPU-3"}, kSeatsEach};
  Places places_{four_};
  std::atomic<int> ended_ = 0;
};

TEST_F(ThrottleTest, WhatOverlapsIsRunAgainTheOthersGoOnAndNoAcceptedTimingLiesInTheWindow) {
  Start();
  Report(absl::Now());
  Call(&sassay::v1::Control::Stub::PauseDispatch, {});  // until all have come
  std::vector<std::string> ids;
  {
    TestClient client = Client();
    sassay::v1::ProfileRequest request = Uploaded(client, "");
    for (int i = 0; i < kSubmissions; ++i) {
      request.set_request_id(absl::StrCat("r", i));
      const auto context = client.Context();
      const auto stream = client.profiler->Profile(context.get(), request);
      Event accepted;
      ASSERT_TRUE(stream->Read(&accepted));
      ids.push_back(accepted.submission_id());
      context->TryCancel();
    }
  }
  EXPECT_EQ(ended_, 0);
  Call(&sassay::v1::Control::Stub::ResumeDispatch, {});
  WaitUntilEnded(40);
  // The monitor sees a bad sample that is a moment old, and acts.
  const absl::Time from = absl::Now() - absl::Milliseconds(20);
  sassay::v1::PauseDispatchRequest pause;
  pause.set_uuid(kHot);
  pause.set_holder("monitor");
  pause.set_state(sassay::v1::GPU_STATE_COOLING);
  Call(&sassay::v1::Control::Stub::PauseDispatch, pause);
  Exclude(from, absl::nullopt);
  const int ended_then = ended_;
  WaitUntilEnded(ended_then + 30);  // the others go on
  const absl::Time to = absl::Now();
  Exclude(from, to);
  sassay::v1::ResumeDispatchRequest resume;
  resume.set_uuid(kHot);
  resume.set_holder("monitor");
  Call(&sassay::v1::Control::Stub::ResumeDispatch, resume);

  std::atomic<bool> done = false;
  std::thread monitor([&] {
    while (!done) Report(absl::Now());
  });
  TestClient client = Client();
  for (const std::string& id : ids) {
    const auto story = client.Attach(id);
    ASSERT_TRUE(story.status.ok()) << story.status.error_message();
    EXPECT_TRUE(story.response.back().has_timing_settled()) << story.response.back().DebugString();
  }
  done = true;
  monitor.join();
  server_.reset();

  const auto store = *store::OpenSqliteStore(options_.state + "/sassay.db");
  std::map<std::string, int> counted_on;
  uint64_t excluded = 0, counted_ns = 0;
  for (const std::string& id : ids) {
    const std::vector<store::Attempt> attempts = *store->AttemptsOf(id);
    int counts = 0;
    for (const store::Attempt& attempt : attempts) {
      excluded += attempt.excluded.has_value();
      if (attempt.excluded.has_value()) {
        EXPECT_EQ(attempt.gpu, kHot);
      }
      if (attempt.excluded.has_value() || attempt.status == sassay::v1::VERDICT_STATUS_UNSPECIFIED) continue;
      ++counts;
      ++counted_on[attempt.gpu];
      counted_ns += attempt.gpu_ns;
      EXPECT_FALSE(attempt.gpu == kHot && attempt.ended_at > from && attempt.seated_at < to) << id;
    }
    EXPECT_EQ(counts, 1) << id;
    EXPECT_EQ(store->Get("local", id)->failures, 0u);
  }
  EXPECT_GT(excluded, 0u) << "nothing overlapped: the test has proved nothing";
  EXPECT_GT(counted_on[kHot], 0) << "it returned, or was well before";
  EXPECT_EQ(store->Usage("local", absl::Now())->front().verdicts(), uint64_t{kSubmissions});
  EXPECT_EQ(store->Usage("local", absl::Now())->front().gpu_ns(), counted_ns);
  EXPECT_TRUE(store->Holds()->empty());
}

}  // namespace
}  // namespace sassay::api
