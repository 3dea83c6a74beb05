#include "common/process/thread_stop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace sassay {
namespace {

Command Sleeper() {
  Command command;
  command.argv = {"/bin/sleep", "1000"};
  return command;
}

TEST(ThreadStopTest, WhatTheThreadRunsEndsWhenItSaysSo) {
  std::atomic<int> asked = 0;
  const ThreadStop stop([&] { return ++asked == 2; });
  EXPECT_TRUE(absl::IsCancelled(RunToCompletion(Sleeper(), absl::InfiniteDuration()).status()));
  EXPECT_EQ(asked, 2);
}

TEST(ThreadStopTest, AnEmptyOneKeepsTheOuterOneOut) {
  Command command;
  command.argv = {"/bin/true"};
  const ThreadStop stop([] { return true; });
  {
    const ThreadStop nobody(nullptr);
    const auto report = RunToCompletion(command, absl::InfiniteDuration());
    EXPECT_TRUE(report.ok() && report->Succeeded()) << report.status();
  }
  EXPECT_TRUE(absl::IsCancelled(RunToCompletion(Sleeper(), absl::InfiniteDuration()).status()));
}

TEST(ThreadStopTest, OtherThreadsAndLaterRunsAreNotConcerned) {
  Command command;
  command.argv = {"/bin/true"};
  absl::StatusOr<ExitReport> elsewhere, later;
  {
    const ThreadStop stop([] { return true; });
    std::thread([&] { elsewhere = RunToCompletion(command, absl::InfiniteDuration()); }).join();
    EXPECT_TRUE(absl::IsCancelled(RunToCompletion(Sleeper(), absl::InfiniteDuration()).status()));
  }
  later = RunToCompletion(command, absl::InfiniteDuration());
  EXPECT_TRUE(elsewhere.ok() && elsewhere->Succeeded()) << elsewhere.status();
  EXPECT_TRUE(later.ok() && later->Succeeded()) << later.status();
}

}  // namespace
}  // namespace sassay
