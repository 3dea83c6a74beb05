#include "common/base/scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

namespace sassay {
namespace {

namespace fs = std::filesystem;

class ScratchTest : public testing::Test {
 protected:
  fs::path parent() const { return directory_.path() / "scratch"; }
  size_t Folders() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(parent()), fs::directory_iterator()));
  }
  // A process that makes a scratch folder with something in it and is killed.
  void LeaveOneBehind() const {
    const pid_t child = fork();
    if (child == 0) {
      const auto scratch = Scratch::Create(parent());
      if (!scratch.ok() || !WriteFileAtomically(scratch->path() / "kernel.cubin", "hostile").ok()) _exit(1);
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("scratch_test");
};

TEST_F(ScratchTest, GoesAwayWithItsObject) {
  std::optional<Scratch> scratch = *Scratch::Create(parent());
  ASSERT_TRUE(WriteFileAtomically(scratch->path() / "x", "x").ok());
  scratch.reset();
  EXPECT_EQ(Folders(), 0u);
}

TEST_F(ScratchTest, WhatAKilledProcessLeftIsClearedAwayByTheNext) {
  LeaveOneBehind();
  LeaveOneBehind();
  EXPECT_EQ(Folders(), 1u);
  const auto scratch = Scratch::Create(parent());
  ASSERT_TRUE(scratch.ok()) << scratch.status();
  EXPECT_EQ(Folders(), 1u);
  EXPECT_TRUE(fs::is_empty(scratch->path()));
}

TEST_F(ScratchTest, WhatALivingProcessUsesStays) {
  const auto mine = Scratch::Create(parent());
  const auto other = Scratch::Create(parent());
  ASSERT_TRUE(mine.ok() && other.ok());
  EXPECT_NE(mine->path(), other->path());
  EXPECT_TRUE(fs::exists(mine->path()));
}

TEST_F(ScratchTest, AnUnusableParentIsNamed) {
  ASSERT_TRUE(WriteFileAtomically(parent(), "a file").ok());
  const auto scratch = Scratch::Create(parent());
  EXPECT_EQ(scratch.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(scratch.status().message()), testing::HasSubstr("scratch"));
}

}  // namespace
}  // namespace sassay
