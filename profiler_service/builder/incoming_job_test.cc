#include "profiler_service/builder/incoming_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sassay::builder {
namespace {

using sassay::v1::BuildRequest;
using testing::HasSubstr;

BuildRequest Settings() {
  BuildRequest part;
  part.mutable_settings()->set_arch("sm_90a");
  part.mutable_settings()->add_workloads()->set_name("gemm/M=1");
  return part;
}

BuildRequest Piece(const std::string& path, const std::string& content) {
  BuildRequest part;
  part.mutable_source()->set_path(path);
  part.mutable_source()->set_content(content);
  return part;
}

std::string Refusal(std::vector<BuildRequest> parts, JobLimits limits = {}) {
  IncomingJob job(limits);
  for (BuildRequest& part : parts) {
    if (const absl::Status added = job.Add(std::move(part)); !added.ok()) return std::string(added.message());
  }
  const auto taken = job.Take();
  return taken.ok() ? "" : std::string(taken.status().message());
}

TEST(IncomingJob, PutsPiecesTogether) {
  IncomingJob job;
  for (BuildRequest part : {Settings(), Piece("a.cu", "one "), Piece("a.cu", "two"), Piece("lib/b.cuh", "three")}) {
    ASSERT_TRUE(job.Add(std::move(part)).ok());
  }
  const auto taken = job.Take();
  ASSERT_TRUE(taken.ok()) << taken.status();
  ASSERT_EQ(taken->sources_size(), 2);
  EXPECT_EQ(taken->sources(0).content(), "one two");
  EXPECT_EQ(taken->sources(1).path(), "lib/b.cuh");
  EXPECT_EQ(taken->settings().arch(), "sm_90a");
}

TEST(IncomingJob, OrderMatters) {
  EXPECT_THAT(Refusal({Piece("a.cu", "")}), HasSubstr("before the settings"));
  EXPECT_THAT(Refusal({Settings(), Settings()}), HasSubstr("twice"));
  EXPECT_THAT(Refusal({Settings(), Piece("a", ""), Piece("b", ""), Piece("a", "")}), HasSubstr("\"a\" came twice"));
  EXPECT_THAT(Refusal({Settings(), BuildRequest()}), HasSubstr("neither"));
  EXPECT_THAT(Refusal({Settings()}), HasSubstr("no source"));
  EXPECT_THAT(Refusal({}), HasSubstr("settings are missing"));
}

TEST(IncomingJob, NoNameLeadsOut) {
  for (const char* path : {"", "/etc/passwd", "../a.cu", "a/../../b.cu", "a//b.cu", "./a.cu", "a/.", "-o", "a b.cu",
                           "a\nb.cu", "a\\b.cu", "~/a.cu", "a/"}) {
    EXPECT_FALSE(CheckSourcePath(path).ok()) << path;
    EXPECT_THAT(Refusal({Settings(), Piece(path, "")}), HasSubstr("source path")) << path;
  }
  EXPECT_FALSE(CheckSourcePath(std::string("a\0.cu", 5)).ok());
  EXPECT_FALSE(CheckSourcePath(std::string(201, 'a')).ok());
  for (const char* path : {"kernel.cu", "lib/x.cuh", "a+b/c_d-e.h", "..a/b..c"})
    EXPECT_TRUE(CheckSourcePath(path).ok());
}

TEST(IncomingJob, EverythingIsBounded) {
  JobLimits limits;
  limits.files = 2;
  limits.source_bytes = 10;
  limits.piece_bytes = 8;
  limits.workloads = 1;
  limits.defines = 1;
  limits.text_bytes = 20;
  limits.definition_bytes = 30;
  EXPECT_THAT(Refusal({Settings(), Piece("a", ""), Piece("b", ""), Piece("c", "")}, limits), HasSubstr("source files"));
  EXPECT_THAT(Refusal({Settings(), Piece("a", "12345678"), Piece("a", "123")}, limits), HasSubstr("bytes of source"));
  EXPECT_THAT(Refusal({Settings(), Piece("a", "123456789")}, limits), HasSubstr("one piece"));
  BuildRequest settings = Settings();
  settings.mutable_settings()->add_welcome();
  settings.mutable_settings()->add_welcome();
  EXPECT_THAT(Refusal({settings}, limits), HasSubstr("settings.welcome"));
  settings = Settings();
  settings.mutable_settings()->add_defines("A");
  settings.mutable_settings()->add_defines("B");
  EXPECT_THAT(Refusal({settings}, limits), HasSubstr("settings.defines"));
  settings = Settings();
  settings.mutable_settings()->set_device(std::string(21, 'x'));
  EXPECT_THAT(Refusal({settings}, limits), HasSubstr("settings.device"));
  settings = Settings();
  settings.mutable_settings()->mutable_workloads(0)->set_definition_json(std::string(31, 'x'));
  EXPECT_THAT(Refusal({settings}, limits), HasSubstr("definition_json"));
  settings = Settings();
  settings.mutable_settings()->clear_workloads();
  EXPECT_THAT(Refusal({settings}), HasSubstr("workloads is empty"));
}

TEST(IncomingJob, ADeadlineThatThisBuilderDoesNotGiveIsRefusedWithTheOneItGives) {
  BuildRequest settings = Settings();
  settings.mutable_settings()->mutable_compile_deadline()->set_seconds(3600);
  EXPECT_THAT(Refusal({settings}), HasSubstr("up to 10m"));
  for (const int64_t seconds : {int64_t{0}, int64_t{-5}, std::numeric_limits<int64_t>::min()}) {
    settings.mutable_settings()->mutable_compile_deadline()->set_seconds(seconds);
    EXPECT_THAT(Refusal({settings}), HasSubstr("--compile-deadline")) << seconds;
  }
}

TEST(IncomingJob, TextIsText) {
  EXPECT_THAT(Refusal({Settings(), Piece("a.cu", "ok\n\xff")}), HasSubstr("not UTF-8, at byte 3"));
  BuildRequest settings = Settings();
  settings.mutable_settings()->add_defines(std::string("A\0B", 3));
  EXPECT_THAT(Refusal({settings}), HasSubstr("NUL"));
  // A character may be cut by pieces.
  EXPECT_EQ(Refusal({Settings(), Piece("a.cu", "\xc3"), Piece("a.cu", "\xa4")}), "");
}

}  // namespace
}  // namespace sassay::builder
