#include "monitor/journal/journal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"

namespace sassay::monitor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

v1::JournalEntry Incident(uint64_t sequence, const std::string& id, uint32_t revision, int64_t seconds = 1000) {
  v1::JournalEntry entry;
  entry.set_sequence(sequence);
  entry.mutable_incident()->set_id(id);
  entry.mutable_incident()->set_revision(revision);
  entry.mutable_incident()->mutable_from()->set_seconds(seconds);
  entry.mutable_incident()->set_reason("why");
  return entry;
}

v1::JournalEntry Gpu(uint64_t sequence, v1::GpuState state) {
  v1::JournalEntry entry;
  entry.set_sequence(sequence);
  entry.mutable_subject()->set_uuid("GPU-1");
  entry.mutable_subject()->set_state(state);
  return entry;
}

class JournalTest : public ::testing::Test {
 protected:
  TemporaryDirectory folder_ = *TemporaryDirectory::Create("journal");
  const std::filesystem::path path_ = folder_.path() / "state" / "journal";

  Journal::Opened Open() {
    auto opened = Journal::Open(path_);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
};

TEST_F(JournalTest, GivesBackWhatWasAppendedInOrder) {
  {
    const auto opened = Open();
    EXPECT_THAT(opened.entries, IsEmpty());
    ASSERT_TRUE(opened.journal->Append({Incident(1, "a", 1), Gpu(2, v1::GPU_STATE_COOLING)}).ok());
    ASSERT_TRUE(opened.journal->Append({Gpu(3, v1::GPU_STATE_HEALTHY)}).ok());
  }
  const auto again = Open();
  ASSERT_THAT(again.entries, SizeIs(3));
  EXPECT_EQ(again.entries[0].incident().id(), "a");
  EXPECT_EQ(again.entries[2].subject().state(), v1::GPU_STATE_HEALTHY);
  EXPECT_EQ(again.warning, "");
}

TEST_F(JournalTest, AFileCutAtAnyByteGivesTheRecordsThatAreWhole) {
  {
    const auto opened = Open();
    for (uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(opened.journal->Append({Incident(i, absl::StrCat("id", i), 1)}).ok());
  }
  const std::string whole = *ReadFile(path_);
  size_t most = 0;
  for (size_t length = 0; length <= whole.size(); ++length) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << whole.substr(0, length);
    const auto opened = Open();
    ASSERT_GE(opened.entries.size(), most) << length;
    most = opened.entries.size();
    for (size_t i = 0; i < most; ++i) EXPECT_EQ(opened.entries[i].sequence(), i + 1);
    // It goes on from there.
    ASSERT_TRUE(opened.journal->Append({Incident(99, "after", 1)}).ok());
    EXPECT_EQ(ReadJournal(*ReadFile(path_)).entries.back().sequence(), 99u);
    EXPECT_EQ(ReadJournal(*ReadFile(path_)).entries.size(), most + 1);
  }
  EXPECT_EQ(most, 3u);
}

TEST_F(JournalTest, SaysWhatItCutAndKeepsItBeside) {
  { ASSERT_TRUE(Open().journal->Append({Incident(1, "a", 1)}).ok()); }
  std::ofstream(path_, std::ios::binary | std::ios::app) << "torn";
  const auto opened = Open();
  EXPECT_THAT(opened.warning, HasSubstr("the last record is torn: 4 bytes"));
  EXPECT_EQ(*ReadFile(path_.string() + ".cut"), "torn");
  EXPECT_THAT(opened.entries, SizeIs(1));
}

TEST_F(JournalTest, EveryFlippedBitIsFound) {
  { ASSERT_TRUE(Open().journal->Append({Incident(1, "a", 1)}).ok()); }
  const std::string whole = *ReadFile(path_);
  for (size_t at = 8; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      EXPECT_THAT(ReadJournal(damaged).entries, IsEmpty()) << at << " " << bit;
    }
  }
}

TEST_F(JournalTest, WhatIsNoJournalIsPutAside) {
  std::filesystem::create_directories(path_.parent_path());
  std::ofstream(path_) << "something else";
  const auto opened = Open();
  EXPECT_THAT(opened.warning, HasSubstr("does not begin as a journal"));
  EXPECT_EQ(*ReadFile(path_.string() + ".cut"), "something else");
  EXPECT_TRUE(opened.journal->Append({Incident(1, "a", 1)}).ok());
}

TEST_F(JournalTest, BelongsToOneProcess) {
  const auto opened = Open();
  const auto second = Journal::Open(path_);
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
}

TEST_F(JournalTest, IsReadableByItsOwnerAlone) {
  const auto opened = Open();
  struct stat status;
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(JournalTest, CompactionKeepsTheNewestRevisionOfEachIncidentAndTheSnapshot) {
  auto opened = Open();
  ASSERT_TRUE(opened.journal->Append({Incident(1, "a", 1), Incident(2, "b", 1), Incident(3, "a", 2)}).ok());
  ASSERT_TRUE(opened.journal->Compact({Gpu(4, v1::GPU_STATE_QUARANTINED)}).ok());
  ASSERT_TRUE(opened.journal->Append({Incident(5, "c", 1)}).ok());
  opened.journal.reset();
  const auto again = Open();
  ASSERT_THAT(again.entries, SizeIs(4));
  EXPECT_EQ(again.entries[0].incident().revision(), 2u);
  EXPECT_EQ(again.entries[1].incident().id(), "b");
  EXPECT_EQ(again.entries[2].subject().state(), v1::GPU_STATE_QUARANTINED);
  EXPECT_EQ(again.entries[3].incident().id(), "c");
}

TEST_F(JournalTest, CompactionForgetsTheOldestIncidentsPastTheLimit) {
  const auto opened = Open();
  for (uint64_t i = 1; i <= 10; ++i) ASSERT_TRUE(opened.journal->Append({Incident(i, absl::StrCat("id", i), 1)}).ok());
  ASSERT_TRUE(opened.journal->Compact({}, 3).ok());
  const auto incidents = opened.journal->Incidents(absl::InfinitePast());
  ASSERT_THAT(*incidents, SizeIs(3));
  EXPECT_EQ(incidents->front().id(), "id8");
}

TEST_F(JournalTest, ListsIncidentsFromAMomentOn) {
  const auto opened = Open();
  ASSERT_TRUE(
      opened.journal->Append({Incident(1, "late", 1, 300), Incident(2, "early", 1, 100), Incident(3, "late", 2, 300)})
          .ok());
  const auto incidents = opened.journal->Incidents(absl::FromUnixSeconds(200));
  ASSERT_THAT(*incidents, SizeIs(1));
  EXPECT_EQ(incidents->front().revision(), 2u);
  EXPECT_THAT(*opened.journal->Incidents(absl::InfinitePast()), SizeIs(2));
}

TEST_F(JournalTest, IsBulkyOnlyWhenItGrewALot) {
  const auto opened = Open();
  EXPECT_FALSE(opened.journal->Bulky());
  v1::JournalEntry large = Incident(1, "a", 1);
  large.mutable_incident()->set_reason(std::string(5 << 20, 'x'));
  ASSERT_TRUE(opened.journal->Append({large}).ok());
  EXPECT_TRUE(opened.journal->Bulky());
  ASSERT_TRUE(opened.journal->Compact({}).ok());
  EXPECT_FALSE(opened.journal->Bulky());
}

// A full disk, as /dev/full has it, cannot be had for a regular file without privileges; a limit on the file's size
// can.
TEST_F(JournalTest, AnAppendThatFailedLeavesTheFileAsItWas) {
  const auto opened = Open();
  ASSERT_TRUE(opened.journal->Append({Incident(1, "a", 1)}).ok());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {std::filesystem::file_size(path_) + 20, std::filesystem::file_size(path_) + 20};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(3);
    _exit(opened.journal->Append({Incident(2, "b", 1)}).ok() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ReadJournal(*ReadFile(path_)).damage, "");
  ASSERT_TRUE(opened.journal->Append({Incident(3, "c", 1)}).ok());
  EXPECT_THAT(ReadJournal(*ReadFile(path_)).entries, SizeIs(2));
}

}  // namespace
}  // namespace sassay::monitor
