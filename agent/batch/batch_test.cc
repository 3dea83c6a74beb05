#include "agent/batch/batch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "common/base/files.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// CORRECT but for sources that say otherwise; one that says "wait" waits to be stopped or released.
class FakeJudge final : public Judge {
 public:
  absl::StatusOr<Judgement> Run(const JudgeJob& job, const JudgeListener& listener, Stopper& stopper) override {
    const std::string source = job.files.empty() ? "" : job.files[0].content();
    {
      absl::MutexLock lock(&mutex_);
      requests_.push_back(absl::StrCat(source, " ", job.request_id));
    }
    listener.on_step("compile");
    listener.on_step("evaluate");
    listener.on_accepted(absl::StrCat("sub-", source));
    if (source == "wait") {
      if (waiting) waiting->Notify();
      if (!stopper.Sleep(absl::Minutes(1))) return absl::CancelledError("stopped");
    }
    if (source == "after" && release) release->WaitForNotification();
    Judgement judgement;
    judgement.verdict.set_status(source == "wrong"   ? v1::VERDICT_STATUS_INCORRECT_NUMERICAL
                                 : source == "infra" ? v1::VERDICT_STATUS_INFRA_ERROR
                                                     : v1::VERDICT_STATUS_CORRECT);
    if (fail) {
      if (const absl::Status status = fail(source); !status.ok()) return status;
    }
    if (verdict) verdict(job, judgement.verdict);
    return judgement;
  }
  void Close() override {}
  std::vector<std::string> requests() const {
    absl::MutexLock lock(&mutex_);
    return requests_;
  }

  absl::Notification* waiting = nullptr;
  absl::Notification* release = nullptr;
  std::function<absl::Status(const std::string&)> fail;
  std::function<void(const JudgeJob&, v1::Verdict&)> verdict;

 private:
  mutable absl::Mutex mutex_;
  std::vector<std::string> requests_ ABSL_GUARDED_BY(mutex_);
};

std::string Item(const std::string& id, const std::string& source) {
  return absl::StrCat("{\"id\": \"", id, "\", \"workload\": \"w\", \"source\": \"", source, "\"}\n");
}

class BatchTest : public ::testing::Test {
 protected:
  BatchTest() : folder_(*TemporaryDirectory::Create("batch")) {
    options_.concurrency = 4;
    options_.working_directory = folder_.path();
    options_.retry.first_wait = absl::Milliseconds(1);
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    reader_ = UniqueFd(ends[0]);
    writer_ = UniqueFd(ends[1]);
  }

  BatchParts Parts(const RecordFile* found = nullptr) {
    return {judge_,
            [](const std::string& name) -> absl::StatusOr<v1::Workload> {
              if (name == "nothing") return absl::NotFoundError("no workload \"nothing\"");
              v1::Workload workload;
              workload.set_name(name);
              return workload;
            },
            [this](const v1::BatchRecord& record) {
              absl::MutexLock lock(&mutex_);
              records_.push_back(record);
              return emit_;
            },
            found};
  }
  void Write(const std::string& text) {
    ASSERT_EQ(write(writer_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  absl::Status Run(const std::string& input, const RecordFile* found = nullptr) {
    Write(input);
    writer_.reset();
    LineReader reader(reader_.get());
    Batch batch(Parts(found), options_);
    const absl::Status status = batch.Run(reader);
    counts_ = batch.progress().counts;
    return status;
  }
  std::vector<std::string> Ids() const {
    std::vector<std::string> ids;
    for (const v1::BatchRecord& record : records_) ids.push_back(record.id());
    return ids;
  }

  TemporaryDirectory folder_;
  FakeJudge judge_;
  BatchOptions options_;
  UniqueFd reader_, writer_;
  absl::Mutex mutex_;
  std::vector<v1::BatchRecord> records_;
  absl::Status emit_;
  v1::BatchSummary counts_;
};

TEST_F(BatchTest, EveryLineGetsItsRecordAndABadOneStopsNothing) {
  ASSERT_TRUE(
      Run(absl::StrCat(Item("a", "right"), "\n", "nonsense\n", Item("b", "wrong"), Item("a", "again"),
                       "{\"source\": \"x\"}\n", "{\"id\": \"n\", \"workload\": \"nothing\", \"source\": \"x\"}\n",
                       Item("c", "infra"), "{\"path\": \"no.cu\", \"workload\": \"w\"}\n"))
          .ok());
  ASSERT_THAT(records_, SizeIs(8));
  std::map<uint64_t, v1::BatchRecord> by_line;
  for (const v1::BatchRecord& record : records_) by_line[record.line()] = record;
  EXPECT_EQ(by_line[1].verdict().status(), v1::VERDICT_STATUS_CORRECT);
  EXPECT_EQ(by_line[3].failure().exit_status(), 2u);
  EXPECT_EQ(by_line[3].id(), "3");
  EXPECT_EQ(by_line[4].verdict().status(), v1::VERDICT_STATUS_INCORRECT_NUMERICAL);
  EXPECT_THAT(by_line[5].failure().message(), HasSubstr("\"a\" stands in line 1 already"));
  EXPECT_THAT(by_line[6].failure().message(), HasSubstr("\"workload\" is needed"));
  EXPECT_EQ(by_line[7].failure().error(), "NOT_FOUND");
  EXPECT_EQ(by_line[8].verdict().status(), v1::VERDICT_STATUS_INFRA_ERROR);
  EXPECT_EQ(by_line[9].failure().exit_status(), 2u);
  EXPECT_EQ(counts_.items(), 8u);
  EXPECT_EQ(counts_.correct(), 1u);
  EXPECT_EQ(counts_.at_fault(), 1u);
  EXPECT_EQ(counts_.not_judged(), 1u);
  EXPECT_EQ(counts_.unusable(), 5u);
}

TEST_F(BatchTest, RecordsComeAsTheyAreDecidedOrInOrder) {
  for (const bool keep_order : {false, true}) {
    absl::Notification release;
    judge_.release = &release;
    records_.clear();
    options_.keep_order = keep_order;
    judge_.verdict = [&](const JudgeJob& job, v1::Verdict&) {
      if (job.files[0].content() == "second") release.Notify();
    };
    ASSERT_TRUE(Run(absl::StrCat(Item("1", "after"), Item("2", "second"), "bad\n")).ok());
    if (keep_order) {
      EXPECT_THAT(Ids(), ElementsAre("1", "2", "3"));
    } else {
      EXPECT_THAT(Ids(), UnorderedElementsAre("1", "2", "3"));
      EXPECT_NE(Ids().front(), "1");
    }
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    reader_ = UniqueFd(ends[0]);
    writer_ = UniqueFd(ends[1]);
  }
}

TEST_F(BatchTest, AnItemIsCancelledAndTheOthersGoOn) {
  absl::Notification waiting;
  judge_.waiting = &waiting;
  Write(Item("w", "wait"));
  LineReader reader(reader_.get());
  Batch batch(Parts(), options_);
  absl::Status status;
  std::thread running([&] { status = batch.Run(reader); });
  waiting.WaitForNotification();
  Write(absl::StrCat("{\"cancel\": \"w\"}\n{\"cancel\": \"unknown\"}\n", Item("b", "right")));
  writer_.reset();
  running.join();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(Ids(), UnorderedElementsAre("w", "b"));
  for (const v1::BatchRecord& record : records_) {
    if (record.id() != "w") continue;
    EXPECT_EQ(record.failure().error(), "CANCELLED");
    EXPECT_EQ(record.failure().exit_status(), 3u);
    EXPECT_EQ(record.failure().submission_id(), "sub-wait");
  }
}

TEST_F(BatchTest, AnInterruptedBatchGoesOnWhereItStopped) {
  absl::Notification waiting;
  judge_.waiting = &waiting;
  const std::string input = absl::StrCat(Item("a", "right"), Item("b", "wrong"), Item("w", "wait"));
  std::string batch_id;
  {
    const auto file = *RecordFile::Open(folder_.path() / "out.jsonl");
    batch_id = file->batch_id();
    options_.concurrency = 1;  // so that the others are done
    Write(input);
    LineReader reader(reader_.get());
    BatchParts parts = Parts(file.get());
    parts.emit = [&](const v1::BatchRecord& record) { return file->Append(record); };
    Batch batch(std::move(parts), options_);
    std::thread interrupter([&] {
      waiting.WaitForNotification();
      batch.Interrupt();
    });
    EXPECT_TRUE(absl::IsCancelled(batch.Run(reader)));
    interrupter.join();
  }
  const auto file = *RecordFile::Open(folder_.path() / "out.jsonl");
  judge_.waiting = nullptr;
  judge_.verdict = [first = true](const JudgeJob& job, v1::Verdict& verdict) mutable {
    // The service remembers what the interruption has cancelled.
    if (std::exchange(first, false)) verdict.set_status(v1::VERDICT_STATUS_CANCELLED);
  };
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  reader_ = UniqueFd(ends[0]);
  writer_ = UniqueFd(ends[1]);
  const std::string changed = absl::StrCat(Item("a", "right"), Item("b", "wrong"), Item("w", "right"));
  ASSERT_TRUE(Run(changed, file.get()).ok());
  EXPECT_THAT(Ids(), ElementsAre("w"));
  EXPECT_EQ(records_[0].verdict().status(), v1::VERDICT_STATUS_CORRECT);
  EXPECT_EQ(counts_.found(), 2u);
  EXPECT_EQ(counts_.correct(), 2u);
  EXPECT_EQ(counts_.at_fault(), 1u);
  const std::vector<std::string> requests = judge_.requests();
  ASSERT_THAT(requests, SizeIs(5));
  EXPECT_THAT(requests[3], testing::StartsWith(absl::StrCat("right ", batch_id, "/")));
  EXPECT_THAT(requests[3], testing::EndsWith("/0"));
  EXPECT_THAT(requests[4], testing::EndsWith("/1"));
}

TEST_F(BatchTest, WhatTheServiceRefusesForNowIsAskedForAgain) {
  int refused = 0;
  judge_.fail = [&](const std::string&) {
    ++refused;
    if (refused == 1) return absl::UnavailableError("restarting");
    return refused == 2 ? absl::ResourceExhaustedError("the queue is full") : absl::OkStatus();
  };
  ASSERT_TRUE(Run(Item("a", "right")).ok());
  ASSERT_THAT(records_, SizeIs(1));
  EXPECT_EQ(records_[0].verdict().status(), v1::VERDICT_STATUS_CORRECT);
  const std::vector<std::string> requests = judge_.requests();
  ASSERT_THAT(requests, SizeIs(3));
  EXPECT_EQ(requests[0], requests[2]) << "the same request id submits nothing twice";
}

TEST_F(BatchTest, PatienceEnds) {
  options_.retry.give_up_after = absl::Milliseconds(20);
  judge_.fail = [&](const std::string&) { return absl::UnavailableError("gone"); };
  ASSERT_TRUE(Run(Item("a", "right")).ok());
  EXPECT_EQ(records_[0].failure().error(), "UNAVAILABLE");
  EXPECT_EQ(counts_.not_judged(), 1u);
}

TEST_F(BatchTest, ARecordThatCannotBeWrittenEndsTheBatch) {
  emit_ = absl::UnavailableError("disk full");
  options_.concurrency = 1;
  std::string input;
  for (int i = 0; i < 50; ++i) absl::StrAppend(&input, Item(absl::StrCat(i), "right"));
  EXPECT_TRUE(absl::IsUnavailable(Run(input)));
  EXPECT_THAT(records_, SizeIs(1));
}

TEST_F(BatchTest, ACandidateIsTakenOutOfAnAnswer) {
  ASSERT_TRUE(Run("{\"id\": \"a\", \"workload\": \"w\", \"answer\": \"Here:\\n```cuda\\nwrong\\n```\\n\"}\n"
                  "{\"id\": \"b\", \"workload\": \"w\", \"answer\": \"I cannot do that.\"}\n")
                  .ok());
  ASSERT_THAT(records_, SizeIs(2));
  for (const v1::BatchRecord& record : records_) {
    EXPECT_EQ(record.has_verdict(), record.id() == "a");
    EXPECT_EQ(record.no_candidate().empty(), record.id() == "a");
  }
  EXPECT_THAT(judge_.requests(), ElementsAre(testing::StartsWith("wrong")));
  EXPECT_EQ(counts_.unusable() + counts_.not_judged(), 0u);
}

TEST_F(BatchTest, TheDigestFollowsWhatDecides) {
  ASSERT_TRUE(Run(absl::StrCat(Item("a", "x"), Item("b", "x"), Item("c", "y"),
                               "{\"id\": \"d\", \"workload\": \"other\", \"source\": \"x\"}\n"))
                  .ok());
  std::map<std::string, std::string> digests;
  for (const v1::BatchRecord& record : records_) digests[record.id()] = record.item_sha256();
  EXPECT_EQ(digests["a"], digests["b"]);
  EXPECT_NE(digests["a"], digests["c"]);
  EXPECT_NE(digests["a"], digests["d"]);
}

}  // namespace
}  // namespace sassay::agent
