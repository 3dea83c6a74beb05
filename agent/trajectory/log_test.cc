#include "agent/trajectory/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "agent/trajectory/json_form.h"
#include "agent/trajectory/layout.h"
#include "agent/trajectory/read_log.h"
#include "agent/trajectory/run_folder.h"
#include "common/base/files.h"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

absl::Time At(int second) { return absl::FromUnixSeconds(second); }

class LogTest : public ::testing::Test {
 protected:
  LogTest() : directory_(*TemporaryDirectory::Create("log")), path_(directory_.path() / "log.jsonl") {}

  std::unique_ptr<TrajectoryLog> Open() {
    auto log = TrajectoryLog::Open(path_, [] { return At(1); });
    EXPECT_TRUE(log.ok()) << log.status();
    return log.ok() ? *std::move(log) : nullptr;
  }
  static v1::TrajectoryRecord Began() {
    v1::TrajectoryRecord record;
    record.mutable_began()->set_trajectory_id("exp_000");
    return record;
  }
  static v1::TrajectoryRecord Asked() {
    v1::TrajectoryRecord record;
    record.mutable_asked()->set_idempotency_key("RUN/exp_000/0");
    return record;
  }
  static v1::TrajectoryRecord Answered(const std::string& text) {
    v1::TrajectoryRecord record;
    record.mutable_answered()->set_text(text);
    return record;
  }
  void AppendBytes(const std::string& bytes) { std::ofstream(path_, std::ios::app) << bytes; }

  TemporaryDirectory directory_;
  const fs::path path_;
};

TEST_F(LogTest, WhatIsAppendedIsReadBackWithNumbersAndTimes) {
  auto log = Open();
  ASSERT_TRUE(log->Append(Began()).ok());
  ASSERT_TRUE(log->Append(Asked()).ok());
  ASSERT_TRUE(log->Append(Answered("x = \"1\"\n\xe2\x82\xac")).ok());
  const auto content = ReadLog(path_);
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_EQ(content->trajectory.last_sequence, 3u);
  EXPECT_EQ(content->trajectory.turns.at(0).answered->text(), "x = \"1\"\n\xe2\x82\xac");
  EXPECT_EQ(content->whole_bytes, fs::file_size(path_));
}

TEST_F(LogTest, ATornLastLineIsPassedOverAndCutOff) {
  ASSERT_TRUE(Open()->Append(Began()).ok());
  const uint64_t whole = fs::file_size(path_);
  AppendBytes("{\"sequence\":\"2\",\"asked\":{\"tu");
  EXPECT_EQ(ReadLog(path_)->trajectory.last_sequence, 1u);
  auto log = Open();
  EXPECT_EQ(fs::file_size(path_), whole);
  ASSERT_TRUE(log->Append(Asked()).ok());
  EXPECT_EQ(ReadLog(path_)->trajectory.last_sequence, 2u);
}

TEST_F(LogTest, WhateverByteItIsCutAtALogIsReadAsFarAsItsLinesAreWhole) {
  auto log = Open();
  ASSERT_TRUE(log->Append(Began()).ok());
  ASSERT_TRUE(log->Append(Asked()).ok());
  const std::string text = *ReadFile(path_);
  const size_t first = text.find('\n') + 1;
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const auto content = ParseLog(absl::string_view(text).substr(0, cut));
    ASSERT_TRUE(content.ok()) << cut << ": " << content.status();
    EXPECT_EQ(content->trajectory.last_sequence, cut == text.size() ? 2u : cut >= first ? 1u : 0u) << cut;
  }
}

TEST_F(LogTest, DamageIsNamedByFileAndLine) {
  ASSERT_TRUE(Open()->Append(Began()).ok());
  AppendBytes("{\"sequence\": nonsense}\n");
  const auto log = TrajectoryLog::Open(path_, absl::Now);
  EXPECT_EQ(log.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(log.status().message()), HasSubstr(absl::StrCat(path_.string(), ", line 2")));
}

TEST_F(LogTest, TextThatIsNoUtf8DoesNotMakeTheLogUnreadable) {
  auto log = Open();
  ASSERT_TRUE(log->Append(Began()).ok());
  ASSERT_TRUE(log->Append(Asked()).ok());
  ASSERT_TRUE(log->Append(Answered("\xff\xfe{}")).ok());
  EXPECT_EQ(ReadLog(path_)->trajectory.turns.at(0).answered->text(), "??{}");
}

TEST_F(LogTest, ARecordThatDoesNotFitOnTheDiskIsTakenBackAndTheNextOneIsGood) {
  auto log = Open();
  ASSERT_TRUE(log->Append(Began()).ok());
  ASSERT_TRUE(log->Append(Asked()).ok());
  rlimit former = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &former), 0);
  const rlimit little = {4096, former.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const absl::Status full = log->Append(Answered(std::string(100'000, 'x')));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &former), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(full.ok());
  ASSERT_TRUE(log->Append(Answered("short")).ok());
  EXPECT_EQ(ReadLog(path_)->trajectory.turns.at(0).answered->text(), "short");
}

TEST_F(LogTest, ARecordThatHasNoJsonFormIsRefusedAndTheNextOneIsGood) {
  auto log = Open();
  v1::TrajectoryRecord record = Began();
  record.mutable_began()->add_parts();
  ASSERT_TRUE(log->Append(record).ok());
  record.mutable_judged()->mutable_verdict()->mutable_decided_at()->set_seconds(int64_t{1} << 60);
  EXPECT_EQ(log->Append(record).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(log->Append(Asked()).ok());
  EXPECT_EQ(ReadLog(path_)->trajectory.last_sequence, 2u);
}

TEST_F(LogTest, WhatCostsMoneyOrGpuTimeIsDurable) {
  EXPECT_FALSE(MustBeDurable(Began()));
  EXPECT_FALSE(MustBeDurable(Asked()));
  EXPECT_TRUE(MustBeDurable(Answered("x")));
  v1::TrajectoryRecord record;
  record.mutable_submitted();
  EXPECT_TRUE(MustBeDurable(record));
  record.mutable_judged();
  EXPECT_TRUE(MustBeDurable(record));
  record.mutable_rewound();
  EXPECT_TRUE(MustBeDurable(record));
}

TEST_F(LogTest, AFolderIsWorkedOnByOneProcessAtATime) {
  v1::RunManifest manifest;
  manifest.set_run_id("r");
  {
    const auto first = RunFolder::Create(directory_.path() / "run", manifest);
    ASSERT_TRUE(first.ok()) << first.status();
    const auto second = RunFolder::Open(directory_.path() / "run");
    EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(second.status().message()), HasSubstr("another process"));
  }
  const auto third = RunFolder::Open(directory_.path() / "run");
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_EQ((*third)->manifest().run_id(), "r");
}

TEST_F(LogTest, ANewRunNeverTakesTheFolderOfAnother) {
  ASSERT_TRUE(RunFolder::Create(directory_.path() / "run", {}).ok());
  const auto again = RunFolder::Create(directory_.path() / "run", {});
  EXPECT_EQ(again.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(again.status().message()), HasSubstr("--resume"));
  EXPECT_EQ(RunFolder::Open(directory_.path() / "none").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(LogTest, ALinkInARunLeadsNobodyOut) {
  const fs::path run = directory_.path() / "run", outside = directory_.path() / "outside";
  fs::create_directories(outside);
  {
    const auto folder = *RunFolder::Create(run, {});
    fs::create_directory_symlink(outside, run / "trajectories/exp_000");
    EXPECT_EQ(folder->OpenLog("exp_000", [] { return At(1); }).status().code(), absl::StatusCode::kDataLoss);
    fs::create_directories(run / "trajectories/exp_001");
    fs::create_directory_symlink(outside, run / "trajectories/exp_001/turn_00");
    EXPECT_EQ(folder->WriteSource("exp_001", 0, "kernel.cu", "x").code(), absl::StatusCode::kDataLoss);
  }
  fs::remove(run / "lock");
  fs::create_symlink(outside / "made", run / "lock");
  EXPECT_FALSE(RunFolder::Open(run).ok());
  fs::remove(run / "lock");
  fs::remove_all(run / "prompts");
  fs::create_directory_symlink(outside, run / "prompts");
  EXPECT_EQ(RunFolder::Open(run).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(fs::is_empty(outside));
}

TEST_F(LogTest, TheLargestAnswerCanBeReadAgainAndALargerLineIsNotWritten) {
  auto log = Open();
  ASSERT_TRUE(log->Append(Began()).ok());
  ASSERT_TRUE(log->Append(Asked()).ok());
  const uint64_t before = fs::file_size(path_);
  EXPECT_EQ(log->Append(Answered(std::string(20 << 20, '\x01'))).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(fs::file_size(path_), before);
  ASSERT_TRUE(log->Append(Answered(std::string(16 << 20, '\x01'))).ok()) << "six bytes each";
  EXPECT_EQ(ReadLog(path_)->trajectory.last_sequence, 3u);
}

TEST_F(LogTest, NamesOfTrajectoriesAndFilesAreHeldToTheirForm) {
  EXPECT_EQ(TrajectoryId(7), "exp_007");
  EXPECT_TRUE(IsTrajectoryId("exp_1234"));
  for (const char* name : {"exp_7", "exp_0007", "exp_-01", "exp_", "../exp_001", "exp_001/"})
    EXPECT_FALSE(IsTrajectoryId(name)) << name;
  EXPECT_TRUE(IsPlainFileName("kernel.cu"));
  for (const char* name : {"", "..", ".bashrc", "a/b", "-rf", "a\nb"}) EXPECT_FALSE(IsPlainFileName(name)) << name;
}

}  // namespace
}  // namespace sassay::agent
