#include "agent/submit/upload.h"

#include "agent/submit/fake_profiler.h"
#include "common/base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;

class UploadTest : public ::testing::Test {
 protected:
  UploadTest()
      : connection_(*Connection::Open(profiler_.Options())), bytes_(1'000'000, 'x'), sha256_(Sha256Hex(bytes_)) {}
  absl::StatusOr<UploadOutcome> Run() { return Upload(*connection_, bytes_, sha256_, policy_, stopper_); }

  FakeProfiler profiler_;
  std::unique_ptr<Connection> connection_;
  std::string bytes_;
  std::string sha256_;
  RetryPolicy policy_ = {absl::Milliseconds(1), absl::Milliseconds(5), absl::Seconds(30)};
  Stopper stopper_;
};

TEST_F(UploadTest, SendsAllBytesInChunks) {
  const UploadOutcome outcome = *Run();
  EXPECT_FALSE(outcome.already_known);
  EXPECT_EQ(outcome.sent_bytes, bytes_.size());
  EXPECT_EQ(profiler_.blobs[sha256_], bytes_);
}

TEST_F(UploadTest, NeverSendsAKnownBlobAgain) {
  ASSERT_TRUE(Run().ok());
  const UploadOutcome outcome = *Run();
  EXPECT_TRUE(outcome.already_known);
  EXPECT_EQ(outcome.sent_bytes, 0u);
  EXPECT_EQ(profiler_.write_offsets.size(), 1u);
}

TEST_F(UploadTest, GoesOnWhereTheConnectionBroke) {
  profiler_.break_write_after_bytes = 300'000;
  const UploadOutcome outcome = *Run();
  EXPECT_EQ(outcome.resumed, 1);
  EXPECT_THAT(profiler_.write_offsets, ElementsAre(0u, 524'288u));
  EXPECT_EQ(profiler_.blobs[sha256_], bytes_);
}

TEST_F(UploadTest, GoesOnAfterTheDeadlineOfOneWrite) {
  profiler_.stall_write_after_bytes = 300'000;
  policy_.write_timeout = absl::Milliseconds(300);
  policy_.give_up_after = absl::Milliseconds(200);
  const absl::StatusOr<UploadOutcome> outcome = Run();
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->resumed, 1);
  EXPECT_EQ(profiler_.blobs[sha256_], bytes_);
}

TEST_F(UploadTest, EmptyBlobIsABlob) {
  bytes_.clear();
  sha256_ = Sha256Hex("");
  EXPECT_TRUE(Run().ok());
  EXPECT_EQ(profiler_.blobs.count(sha256_), 1u);
}

TEST_F(UploadTest, WrongDigestIsRefusedWithoutRetry) {
  sha256_ = Sha256Hex("other");
  EXPECT_EQ(Run().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(profiler_.write_offsets.size(), 1u);
}

TEST_F(UploadTest, StopperEndsIt) {
  stopper_.Stop();
  EXPECT_EQ(Run().status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace sassay::agent
