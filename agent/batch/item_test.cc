#include "agent/batch/item.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(BatchItemTest, EveryFormOfACandidateIsRead) {
  BatchItem item;
  ASSERT_TRUE(ParseBatchItem(R"({"id": "a", "workload": "w/M=1", "source": "code"})", 3, item).ok());
  EXPECT_EQ(item.id, "a");
  EXPECT_EQ(item.line, 3u);
  EXPECT_EQ(item.workload, "w/M=1");
  ASSERT_EQ(item.sources.size(), 1u);
  EXPECT_EQ(item.sources[0].path(), "kernel.cu");
  item = {};
  ASSERT_TRUE(ParseBatchItem(R"({"source": "code", "language": "triton"})", 3, item).ok());
  EXPECT_EQ(item.id, "3") << "the line's number";
  EXPECT_EQ(item.sources[0].path(), "kernel.py");
  item = {};
  ASSERT_TRUE(ParseBatchItem(R"({"id": 7, "source": {"a.cu": "x", "b.cuh": ""}})", 1, item).ok());
  EXPECT_EQ(item.id, "7");
  ASSERT_EQ(item.sources.size(), 2u);
  EXPECT_EQ(item.sources[1].path(), "b.cuh");
  item = {};
  ASSERT_TRUE(ParseBatchItem(R"({"paths": ["a.cu", "b.cuh"]})", 1, item).ok());
  EXPECT_THAT(item.paths, ElementsAre("a.cu", "b.cuh"));
  item = {};
  ASSERT_TRUE(ParseBatchItem(R"({"path": "a.cu"})", 1, item).ok());
  EXPECT_THAT(item.paths, ElementsAre("a.cu"));
  item = {};
  ASSERT_TRUE(ParseBatchItem(R"({"bundle": "k.bundle"})", 1, item).ok());
  EXPECT_EQ(item.bundle, "k.bundle");
  item = {};
  ASSERT_TRUE(ParseBatchItem(R"({"cancel": 7})", 1, item).ok());
  EXPECT_EQ(item.cancel, "7");
}

TEST(BatchItemTest, AnEmptySourceIsACandidateToo) {
  BatchItem item;
  EXPECT_TRUE(ParseBatchItem(R"({"source": ""})", 1, item).ok()) << "the compiler says what is wrong with it";
}

TEST(BatchItemTest, WhatIsWrongIsSaidAndTheIdIsKept) {
  const std::pair<std::string, const char*> wrong[] = {
      {"", "no JSON"},
      {"[1]", "no JSON object"},
      {std::string(100, '['), "nested too deeply"},
      {R"({"id": "x", "sorce": "a"})", "Did you mean \"source\"?"},
      {R"({"id": "x"})", "exactly one of source, answer, path, paths, bundle and cancel; this one has 0"},
      {R"({"id": "x", "source": "a", "path": "b"})", "this one has 2"},
      {R"({"id": "x", "source": 1})", "\"source\" must be a text, or an object of path and text, not number"},
      {R"({"id": "x", "answer": {}})", "\"answer\" must be a text, not object"},
      {R"({"id": "x", "source": {}})", "\"source\" must be"},
      {R"({"id": "x", "source": {"a.cu": null}})", "\"source/a.cu\" must be a text, not null"},
      {R"({"id": "x", "paths": "a"})", "\"paths\" must be a list of texts"},
      {R"({"id": "x", "path": "a", "workload": 3})", "\"workload\" must be a text"},
      {R"({"id": "x", "path": ""})", "\"path\" is empty"},
      {R"({"id": "x", "source": "a", "language": "cobol"})", "must be cuda or triton, not \"cobol\""},
      {R"({"id": "", "source": "a"})", "\"id\" must have 1 to 256 bytes"},
      {R"({"id": [], "source": "a"})", "\"id\" must be a text or a whole number, not array"},
  };
  for (const auto& [line, reason] : wrong) {
    BatchItem item;
    const absl::Status status = ParseBatchItem(line, 9, item);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << line;
    EXPECT_THAT(std::string(status.message()), HasSubstr(reason)) << line;
    EXPECT_EQ(item.id, line.find("\"x\"") == std::string::npos ? "9" : "x") << line;
  }
}

}  // namespace
}  // namespace sassay::agent
