// One of four GPUs throttles in the middle of a load: a real monitor, and a real service but for its pipeline, which is
// a fake one whose turns have timings (emulated devices have none).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/base/proto_time.h"
#include "profiler_service/api/service/server_testing.h"
#include "tests/end_to_end/monitored.h"

namespace sassay::testing {
namespace {

using sassay::v1::Event;
using sassay::v1::Timing;
using sassay::v1::Verdict;

constexpr int kClients = 12;
constexpr int kAtLeast = 200;
constexpr char kSick[] = "emulated:sm_90a#2";
constexpr absl::Duration kWork = absl::Milliseconds(100);
const std::vector<std::string> kGpus = {"emulated:sm_90a#0", "emulated:sm_90a#1", kSick, "emulated:sm_90a#3"};
const std::vector<std::pair<std::string, std::string>> kSoon = {{"minimum_s: 30", "minimum_s: 1"},
                                                                {"clear_after_s: 5\n", "clear_after_s: 1\n"}};

// What one attempt did, as the pipeline knows it.
struct Attempt {
  std::string gpu;
  absl::Time begin, end;
};

absl::Time ParseTime(const nlohmann::json& text) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text.get<std::string>(), &time, &error)) << error;
  return time;
}

class MonitorLoadTest : public api::ServerTest {
 protected:
  MonitorLoadTest() : api::ServerTest(kGpus) {
    runner_.run = [this](const Job& job, JobObserver& observer) { return Work(job, observer); };
    gpus_.canary = [](absl::string_view, absl::Duration) {
      sassay::v1::RunCanaryResponse canary;
      canary.mutable_tensor()->set_median_ns(20e6);
      canary.mutable_memory()->set_median_ns(20e6);
      return canary;
    };
  }

  // A place on an open GPU, some time there, and a timing.
  Verdict Work(const Job& job, JobObserver& observer) {
    const std::string gpu = NextOpenGpu();
    observer.SeatTaken(gpu);
    gpus_.AddRunning(gpu, 1);
    Attempt attempt = {gpu, absl::Now(), absl::Now()};
    while (absl::Now() < attempt.begin + kWork && !observer.cancelled()) absl::SleepFor(absl::Milliseconds(2));
    attempt.end = absl::Now();
    gpus_.AddRunning(gpu, -1);
    absl::MutexLock lock(&mutex_);
    attempts_[{job.submission_id, job.attempt}] = attempt;
    Verdict verdict = queue::CorrectVerdict();
    verdict.mutable_timing()->set_status(Timing::MEASURED);
    return verdict;
  }

  std::string NextOpenGpu() {
    for (;;) {
      const std::string& gpu = kGpus[next_gpu_++ % kGpus.size()];
      if (gpus_.closed(gpu).empty()) return gpu;
    }
  }

  void RunClient() {
    api::TestClient client = Client();
    while (!enough_) {
      const auto request = Uploaded(client, absl::StrCat("turn-", ++submitted_));
      const auto events = client.Profile(request);
      EXPECT_TRUE(events.status.ok()) << events.status.error_message();
      absl::MutexLock lock(&mutex_);
      lives_.push_back(events.response);
    }
  }

  size_t Finished() {
    absl::MutexLock lock(&mutex_);
    return lives_.size();
  }
  bool RanOn(const std::string& gpu, absl::Time from, absl::Time to) {
    absl::MutexLock lock(&mutex_);
    for (const auto& [key, attempt] : attempts_) {
      if (attempt.gpu == gpu && attempt.begin > from && attempt.begin < to) return true;
    }
    return false;
  }

  // The attempt whose timing counts in the end; nullptr if none does.
  const Attempt* Accepted(const std::vector<Event>& life) {
    const Event* accepted = nullptr;
    for (const Event& event : life) {
      if (event.has_verdict()) accepted = &event;
      if (event.has_excluded()) {
        accepted = nullptr;
        ++excluded_;
        rerun_ += event.excluded().rerun();
      }
      if (event.has_timing_settled() && accepted != nullptr) {
        settled_.push_back(TimeOf(event.at()) - TimeOf(accepted->at()));
        unwatched_ += !event.timing_settled().warning().empty();
      }
    }
    if (accepted == nullptr) return nullptr;
    const auto found = attempts_.find({accepted->submission_id(), accepted->verdict().attempt()});
    return found == attempts_.end() ? nullptr : &found->second;
  }

  absl::Mutex mutex_;
  std::map<std::pair<std::string, uint32_t>, Attempt> attempts_;
  std::vector<std::vector<Event>> lives_;
  std::atomic<size_t> next_gpu_ = 0;
  std::atomic<int> submitted_ = 0;
  std::atomic<bool> enough_ = false;
  int excluded_ = 0, rerun_ = 0, unwatched_ = 0;
  std::vector<absl::Duration> settled_;
};

TEST_F(MonitorLoadTest, NoAcceptedTimingLiesInTheWindowInWhichAGpuThrottled) {
  Start();
  Script script(directory_.path(), kGpus);
  auto monitor = Monitor::Start(script, server_->address(), directory_.path() / "monitor_state", kSoon);
  ASSERT_TRUE(monitor.ok()) << monitor.status();
  const Operator admin(server_->address());
  ASSERT_TRUE(admin.AwaitWatched()) << (*monitor)->Log();

  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) clients.emplace_back([this] { RunClient(); });
  EXPECT_TRUE(Eventually([&] { return Finished() >= kAtLeast / 4; }, absl::Minutes(1)));
  const absl::Time hot = absl::Now();
  script.SetGpu(kSick, "temperature=93 margin=-2 reasons=0x40");
  EXPECT_TRUE(Eventually([&] { return !gpus_.closed(kSick).empty(); }));
  const absl::Time paused = absl::Now();
  EXPECT_TRUE(admin.AwaitState(kSick, "COOLING"));
  script.SetGpu(kSick, "");
  EXPECT_TRUE(admin.AwaitState(kSick, "HEALTHY"));
  const absl::Time back = absl::Now();
  EXPECT_TRUE(Eventually([&] { return RanOn(kSick, back, absl::InfiniteFuture()) && Finished() >= kAtLeast; },
                         absl::Minutes(1)))
      << "the GPU does not work again";
  enough_ = true;
  for (std::thread& client : clients) client.join();

  EXPECT_LT(paused - hot, absl::Seconds(1));
  EXPECT_FALSE(RanOn(kSick, hot + absl::Seconds(1), paused + absl::Seconds(1)));
  for (const char* other : {"emulated:sm_90a#0", "emulated:sm_90a#1", "emulated:sm_90a#3"}) {
    EXPECT_TRUE(RanOn(other, paused, back)) << other;
  }
  std::vector<nlohmann::json> incidents;
  EXPECT_TRUE(Eventually([&] {
    incidents = admin.Incidents("thermal_slowdown");
    return incidents.size() == 1 && incidents[0].contains("to");
  })) << (*monitor)->Log();
  ASSERT_EQ(incidents.size(), 1u);
  const absl::Time from = ParseTime(incidents[0]["from"]), to = ParseTime(incidents[0]["to"]);
  EXPECT_LE(from, hot + absl::Seconds(1));
  EXPECT_GT(to, paused);
  absl::MutexLock lock(&mutex_);
  int in_window = 0, accepted = 0;
  for (const std::vector<Event>& life : lives_) {
    const Attempt* attempt = Accepted(life);
    ASSERT_NE(attempt, nullptr) << life.back().DebugString();
    ++accepted;
    in_window += attempt->gpu == kSick && attempt->begin < to && attempt->end > from;
  }
  EXPECT_EQ(in_window, 0);
  EXPECT_GT(excluded_, 0) << "nothing overlapped the window: the test has proved nothing";
  EXPECT_EQ(rerun_, excluded_);
  EXPECT_EQ(unwatched_, 0);
  std::sort(settled_.begin(), settled_.end());
  ASSERT_FALSE(settled_.empty());
  const absl::Duration median = settled_[settled_.size() / 2];
  std::cout << absl::StrFormat(
      "%d turns; paused after %d ms; window %d ms; %d attempts excluded and run again; timings final after %d ms "
      "(median), %d ms (longest)\n",
      accepted, absl::ToInt64Milliseconds(paused - hot), absl::ToInt64Milliseconds(to - from), excluded_,
      absl::ToInt64Milliseconds(median), absl::ToInt64Milliseconds(settled_.back()));
  EXPECT_LT(median, absl::Milliseconds(1500));
}

}  // namespace
}  // namespace sassay::testing
