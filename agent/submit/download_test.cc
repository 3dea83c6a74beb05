#include "agent/submit/download.h"

#include "agent/submit/fake_profiler.h"
#include "common/base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DownloadTest : public ::testing::Test {
 protected:
  DownloadTest() : connection_(*Connection::Open(profiler_.Options())), bytes_(10'500, 'x') {
    artifact_.set_name("s.ncu-rep");
    artifact_.set_sha256(Sha256Hex(bytes_));
    artifact_.set_size_bytes(bytes_.size());
    profiler_.blobs[artifact_.sha256()] = bytes_;
  }
  absl::StatusOr<std::string> Run() { return Download(*connection_, artifact_, policy_, stopper_); }

  FakeProfiler profiler_;
  std::unique_ptr<Connection> connection_;
  std::string bytes_;
  v1::Artifact artifact_;
  RetryPolicy policy_ = {absl::Milliseconds(1), absl::Milliseconds(5), absl::Seconds(30)};
  Stopper stopper_;
};

TEST_F(DownloadTest, BringsAllBytes) {
  EXPECT_EQ(*Run(), bytes_);
  EXPECT_THAT(profiler_.read_offsets, ElementsAre(0u));
}

TEST_F(DownloadTest, GoesOnWhereTheStreamBroke) {
  profiler_.break_read_after_bytes = 3000;
  EXPECT_EQ(*Run(), bytes_);
  EXPECT_THAT(profiler_.read_offsets, ElementsAre(0u, 3000u));
}

TEST_F(DownloadTest, BytesOfAnotherDigestAreRefused) {
  profiler_.blobs[artifact_.sha256()] = "something else";
  const auto bytes = Run();
  EXPECT_EQ(bytes.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(bytes.status().message()), HasSubstr("s.ncu-rep"));
}

TEST_F(DownloadTest, WhatIsGoneIsNotAskedForAgain) {
  profiler_.blobs.clear();
  EXPECT_EQ(Run().status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(profiler_.read_offsets.size(), 1u);
}

TEST_F(DownloadTest, WhatIsTooLargeIsNotFetched) {
  artifact_.set_size_bytes(kMaxArtifactBytes + 1);
  EXPECT_EQ(Run().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(profiler_.read_offsets.empty());
}

}  // namespace
}  // namespace sassay::agent
