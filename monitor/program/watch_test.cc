// The loop: from samples to calls, with the journal in between, whatever fails.
#include "monitor/program/watch.h"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/steady_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "monitor/rules/config.h"
#include "monitor/sources/replay_source.h"

namespace sassay::monitor {
namespace {

// Hot for two seconds, after a moment in which all was well; the clock's readings come ten times a second.
std::string HotTrace() {
  std::string trace;
  for (int i = 0; i < 100; ++i) {
    const double at = i * 0.1;
    const bool hot = at >= 0.3 && at < 2.3;
    absl::StrAppend(&trace, at, " GPU-a gpu.clock_reasons ", hot ? 64 : 0, "\n", at,
                    " GPU-a gpu.thermal_slowdown_ratio ", hot ? 1 : 0, "\n");
  }
  return trace;
}

class WatchTest : public testing::Test {
 protected:
  WatchParts Parts() {
    WatchParts parts;
    parts.config = DefaultConfig();
    parts.config.mutable_cooling()->set_minimum_s(0.2);
    parts.config.mutable_cooling()->set_clean_canary(false);
    parts.host = "test";
    parts.sources.push_back(MakeReplaySource("nvml", *ParseTrace(HotTrace())));
    parts.carry_out = [this](const Decision& decision) { return Note(decision); };
    parts.report_health = [this](const v1::ReportHealthRequest& report) {
      absl::MutexLock lock(&mutex_);
      report_ = report;
      return absl::OkStatus();
    };
    auto opened = Journal::Open(Path());
    EXPECT_TRUE(opened.ok()) << opened.status();
    parts.journal = std::move(opened->journal);
    parts.remembered = std::move(opened->entries);
    return parts;
  }
  Outcome Note(const Decision& decision) {
    absl::MutexLock lock(&mutex_);
    done_.push_back(DecisionKindName(decision.kind));
    done_at_.push_back(SteadyNow());
    Outcome outcome;
    outcome.id = decision.id;
    outcome.kind = decision.kind;
    outcome.incident = decision.incident;
    outcome.status = answer_;
    return outcome;
  }
  bool Await(const std::string& kind) {
    absl::MutexLock lock(&mutex_);
    const auto done = [this, &kind] { return std::find(done_.begin(), done_.end(), kind) != done_.end(); };
    return mutex_.AwaitWithTimeout(absl::Condition(&done), absl::Seconds(30));
  }
  std::filesystem::path Path() const { return directory_.path() / "journal"; }

  // Runs while it lives.
  struct Running {
    explicit Running(WatchParts parts) : watch(std::move(parts)), thread([this] { watch.Run(); }) {}
    ~Running() {
      watch.Stop();
      thread.join();
    }
    Watch watch;
    std::thread thread;
  };

  const TemporaryDirectory directory_ = *TemporaryDirectory::Create("watch");
  absl::Mutex mutex_;
  absl::Status answer_;
  std::vector<std::string> done_;
  std::vector<absl::Time> done_at_;
  v1::ReportHealthRequest report_;
};

TEST_F(WatchTest, HeatIsPausedAndExcludedAndTheGpuComesBack) {
  const absl::Time begin = SteadyNow();
  Running running(Parts());
  ASSERT_TRUE(Await("PAUSE"));
  EXPECT_LT(SteadyNow() - begin, absl::Milliseconds(300) + absl::Seconds(1));
  EXPECT_TRUE(Await("EXCLUDE"));
  EXPECT_TRUE(Await("RECORD_INCIDENT"));
  EXPECT_TRUE(Await("RESUME"));
  absl::MutexLock lock(&mutex_);
  ASSERT_EQ(report_.gpus_size(), 1);
  EXPECT_EQ(report_.gpus(0).uuid(), "GPU-a");
}

TEST_F(WatchTest, WhatCouldNotBeDoneIsPendingForTheNextMonitor) {
  answer_ = absl::UnavailableError("the service is gone");
  {
    Running running(Parts());
    ASSERT_TRUE(Await("PAUSE"));
    ASSERT_TRUE(Await("RECORD_INCIDENT"));
  }
  done_.clear();
  answer_ = absl::OkStatus();
  WatchParts parts = Parts();
  EXPECT_FALSE(parts.remembered.empty());
  parts.sources.clear();
  Running running(std::move(parts));
  EXPECT_TRUE(Await("RECORD_INCIDENT")) << "the incident of the monitor before is handed over";
}

// A limit on the size of files is a full disk.
TEST_F(WatchTest, JournalThatCannotBeWrittenKeepsNoGpuWorkingAndIsWrittenWhenThereIsRoom) {
  signal(SIGXFSZ, SIG_IGN);
  WatchParts parts = Parts();
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full = {std::filesystem::file_size(Path()), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  {
    Running running(std::move(parts));
    EXPECT_TRUE(Await("PAUSE"));
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_TRUE(Await("RESUME"));
  }
  const auto opened = Journal::Open(Path());
  ASSERT_TRUE(opened.ok()) << opened.status();
  const std::vector<v1::Incident> incidents = *opened->journal->Incidents(absl::InfinitePast());
  EXPECT_TRUE(std::any_of(incidents.begin(), incidents.end(), [](const v1::Incident& incident) {
    return incident.rule() == "thermal_slowdown" && incident.has_to();
  }));
}

TEST_F(WatchTest, SampleThatComesByAnotherWayIsSeen) {
  WatchParts parts = Parts();
  parts.sources.clear();
  Board board;
  parts.board = &board;
  Running running(std::move(parts));
  running.watch.Add({SteadyNow(), "GPU-b", "gpu.xid", 79, "from elsewhere"});
  EXPECT_TRUE(Await("QUARANTINE"));
  EXPECT_FALSE(running.watch.AnyHangs());
}

}  // namespace
}  // namespace sassay::monitor
