#include "agent/carried/carried.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/files.h"
#include "common/process/subprocess.h"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;

class CarriedTest : public ::testing::Test {
 protected:
  TemporaryDirectory home_ = *TemporaryDirectory::Create("carried_test");
};

void ExpectWhole(const fs::path& folder) {
  for (const CarriedFile& file : CarriedFiles()) {
    EXPECT_EQ(*ReadFile(folder / file.path), file.bytes) << file.path;
    struct stat info;
    ASSERT_EQ(stat((folder / file.path).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0755u) << file.path;
  }
  EXPECT_EQ(fs::read_symlink(folder / "lib/sassay-capture/libcuda.so.1"), "libcudart.so.13");
}

// First: a temporary place, once made, serves the whole process.
TEST_F(CarriedTest, SaysBothPlacesWhereNeitherWillDo) {
  ASSERT_TRUE(WriteFileAtomically(home_.path() / "file", "").ok());
  setenv("TMPDIR", (home_.path() / "absent").c_str(), 1);
  const auto folder = UnpackCarried(home_.path() / "file");
  unsetenv("TMPDIR");
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(std::string(folder.status().message()),
              ::testing::AllOf(::testing::HasSubstr("file/programs"), ::testing::HasSubstr("absent"),
                               ::testing::HasSubstr("--cache-dir")));
}

TEST_F(CarriedTest, UnpacksIntoTheCacheUnderTheNameOfWhatItHolds) {
  umask(077);
  const auto folder = UnpackCarried(home_.path());
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(folder->parent_path(), home_.path() / "programs");
  ExpectWhole(*folder);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder->parent_path()), fs::directory_iterator()), 1);
}

TEST_F(CarriedTest, ManyAgentsAtOnceFindTheSame) {
  std::vector<std::thread> agents;
  std::atomic<int> whole{0};
  for (int i = 0; i < 8; ++i) {
    agents.emplace_back([&] {
      const auto folder = UnpackCarried(home_.path());
      whole += folder.ok() && fs::exists(*folder / "bin/mini-ptx-capture-host");
    });
  }
  for (std::thread& agent : agents) agent.join();
  EXPECT_EQ(whole, 8);
  EXPECT_EQ(std::distance(fs::directory_iterator(home_.path() / "programs"), fs::directory_iterator()), 1);
}

TEST_F(CarriedTest, UnpackedProgramsStart) {
  const auto folder = UnpackCarried(home_.path());
  ASSERT_TRUE(folder.ok()) << folder.status();
  Command command;
  command.argv = {*folder / "libexec/bwrap", "--version"};
  auto report = RunToCompletion(command, absl::Seconds(20));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->stdout_text, ::testing::StartsWith("bubblewrap")) << report->stderr_text;
  command.argv = {*folder / "bin/mini-ptx-capture-host"};
  report = RunToCompletion(command, absl::Seconds(20));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->stderr_text, ::testing::HasSubstr("usage: mini-ptx-capture-host"));
}

TEST_F(CarriedTest, WhatIsDamagedIsWrittenAnew) {
  const auto folder = UnpackCarried(home_.path());
  ASSERT_TRUE(folder.ok()) << folder.status();
  ASSERT_TRUE(WriteFileAtomically(*folder / "bin/mini-ptx-capture-host", "#!/bin/sh\n").ok());
  fs::remove(*folder / "libexec/bwrap");
  const auto again = UnpackCarried(home_.path());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, *folder);
  ExpectWhole(*folder);
}

TEST_F(CarriedTest, AFolderThatOthersMayWriteHoldsNoProgramsOfOurs) {
  fs::create_directories(home_.path() / "programs");
  ASSERT_EQ(chmod((home_.path() / "programs").c_str(), 0777), 0);
  const auto folder = UnpackCarried(home_.path());
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_NE(folder->parent_path(), home_.path() / "programs");
  ExpectWhole(*folder);
}

TEST_F(CarriedTest, WithoutACacheAPlaceThatGoesWithTheProcess) {
  const auto folder = UnpackCarried("");
  ASSERT_TRUE(folder.ok()) << folder.status();
  ExpectWhole(*folder);
}

}  // namespace
}  // namespace sassay::agent
