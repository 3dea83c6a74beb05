#include "agent/batch/record_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;

class RecordFileTest : public ::testing::Test {
 protected:
  RecordFileTest() : folder_(*TemporaryDirectory::Create("record_file")), path_(folder_.path() / "out.jsonl") {}
  static v1::BatchRecord Record(const std::string& id, v1::VerdictStatus status, const std::string& batch_id) {
    v1::BatchRecord record;
    record.set_id(id);
    record.set_line(1);
    record.set_item_sha256("abc");
    record.set_request_id(batch_id + "/x/0");
    record.mutable_verdict()->set_status(status);
    return record;
  }
  std::string Text() const { return *ReadFile(path_); }

  TemporaryDirectory folder_;
  std::filesystem::path path_;
};

TEST_F(RecordFileTest, WhatWasWrittenIsFoundAgain) {
  std::string batch_id;
  {
    const auto file = *RecordFile::Open(path_);
    batch_id = file->batch_id();
    EXPECT_EQ(batch_id.size(), 6u + 32);
    ASSERT_TRUE(file->Append(Record("a", v1::VERDICT_STATUS_CORRECT, batch_id)).ok());
    ASSERT_TRUE(file->Append(Record("b", v1::VERDICT_STATUS_RUNTIME_ERROR, batch_id)).ok());
    ASSERT_TRUE(file->Append(Record("c", v1::VERDICT_STATUS_INFRA_ERROR, batch_id)).ok());
    v1::BatchRecord excluded = Record("d", v1::VERDICT_STATUS_CORRECT, batch_id);
    excluded.mutable_verdict()->mutable_excluded()->set_reason("hot");
    ASSERT_TRUE(file->Append(excluded).ok());
  }
  const auto file = *RecordFile::Open(path_);
  EXPECT_EQ(file->batch_id(), batch_id);
  EXPECT_TRUE(file->Find("a", "abc")->judged && file->Find("a", "abc")->correct);
  EXPECT_TRUE(file->Find("b", "abc")->judged);
  EXPECT_FALSE(file->Find("b", "abc")->correct);
  EXPECT_FALSE(file->Find("c", "abc")->judged);
  EXPECT_FALSE(file->Find("d", "abc")->judged);
  EXPECT_EQ(file->Find("c", "abc")->attempts, 1u);
  EXPECT_EQ(file->Find("a", "other"), nullptr) << "another candidate under the same id";
  EXPECT_EQ(file->Find("e", "abc"), nullptr);
}

TEST_F(RecordFileTest, ATornLastLineIsCutOff) {
  std::string whole;
  {
    const auto file = *RecordFile::Open(path_);
    ASSERT_TRUE(file->Append(Record("a", v1::VERDICT_STATUS_CORRECT, file->batch_id())).ok());
    whole = Text();
    ASSERT_TRUE(file->Append(Record("b", v1::VERDICT_STATUS_CORRECT, file->batch_id())).ok());
  }
  const std::string both = Text();
  for (size_t cut = 1; cut < both.size(); ++cut) {
    ASSERT_TRUE(WriteNamedFile(path_, both.substr(0, cut)).ok());
    const auto file = RecordFile::Open(path_);
    if (cut < 6) continue;  // no text of ours yet
    ASSERT_TRUE(file.ok()) << cut << ": " << file.status();
    EXPECT_EQ(Text(), cut < whole.size() ? "" : whole) << cut;
    EXPECT_EQ((*file)->Find("a", "abc") != nullptr, cut >= whole.size()) << cut;
  }
}

TEST_F(RecordFileTest, AnotherFileIsNotTouched) {
  for (const char* text : {"{\"id\": \"a\", \"source\": \"x\"}\n", "hello\n", "hello", "[]\n"}) {
    ASSERT_TRUE(WriteNamedFile(path_, text).ok());
    const absl::Status status = RecordFile::Open(path_).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("out.jsonl:1 is no record of a batch"));
    EXPECT_EQ(Text(), text);
  }
}

TEST_F(RecordFileTest, TwoProcessesDoNotWriteOneFile) {
  const auto first = RecordFile::Open(path_);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(RecordFile::Open(path_).status()));
}

TEST_F(RecordFileTest, AnExclusionOfAVerdictThatWasCorrectedChangesNothing) {
  {
    const auto file = *RecordFile::Open(path_);
    v1::BatchRecord record = Record("a", v1::VERDICT_STATUS_CORRECT, file->batch_id());
    record.mutable_verdict()->set_submission_id("sub");
    for (uint32_t attempt : {1, 2}) {
      record.mutable_verdict()->set_attempt(attempt);
      ASSERT_TRUE(file->Append(record).ok());
    }
  }
  const auto file = *RecordFile::Open(path_);
  EXPECT_EQ(file->Find("a", "abc")->attempts, 1u) << "both records are of one request";
  v1::Event event;
  event.set_submission_id("sub");
  event.mutable_excluded()->set_attempt(1);
  file->Exclude(event);
  EXPECT_TRUE(file->Find("a", "abc")->judged);
  event.mutable_excluded()->set_attempt(2);
  file->Exclude(event);
  EXPECT_FALSE(file->Find("a", "abc")->judged);
}

TEST_F(RecordFileTest, WhatWasExcludedSinceIsJudgedAgain) {
  {
    const auto file = *RecordFile::Open(path_);
    for (const char* id : {"again", "once more", "other"}) {
      v1::BatchRecord record = Record(id, v1::VERDICT_STATUS_CORRECT, file->batch_id());
      record.mutable_verdict()->set_submission_id(absl::StrCat("sub-", id));
      record.mutable_verdict()->set_attempt(2);
      record.mutable_verdict()->mutable_decided_at()->set_seconds(1'800'000'000);
      ASSERT_TRUE(file->Append(record).ok());
    }
  }
  const auto file = *RecordFile::Open(path_);
  EXPECT_EQ(absl::ToUnixSeconds(file->oldest()), 1'800'000'000);
  v1::Event event;
  const auto exclude = [&](const char* submission, uint32_t attempt, bool rerun) {
    event.set_submission_id(submission);
    event.mutable_excluded()->set_attempt(attempt);
    event.mutable_excluded()->set_rerun(rerun);
    file->Exclude(event);
    file->Exclude(event);
  };
  exclude("sub-again", 2, true);
  exclude("sub-once more", 2, false);
  exclude("sub-other", 1, true);
  exclude("somebody else's", 2, true);
  EXPECT_FALSE(file->Find("again", "abc")->judged);
  EXPECT_EQ(file->Find("again", "abc")->attempts, 0u) << "the service runs it again under the same request id";
  EXPECT_FALSE(file->Find("once more", "abc")->judged);
  EXPECT_EQ(file->Find("once more", "abc")->attempts, 1u);
  EXPECT_TRUE(file->Find("other", "abc")->judged) << "an attempt before the one that was written";
}

}  // namespace
}  // namespace sassay::agent
