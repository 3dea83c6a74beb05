#include "profiler_service/store/testing/blob_conformance.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/time/clock.h"

namespace sassay::store {

using testing::HasSubstr;

TEST_P(BlobConformance, WhatWasWrittenIsReadBackAfterReopening) {
  ASSERT_TRUE(Upload("ann", bytes_).ok());
  Reopen({});
  EXPECT_EQ(*store_->ReadAll("ann", sha256_), bytes_);
  EXPECT_EQ(*store_->Read("ann", sha256_, 5, 8), bytes_.substr(5, 8));
  EXPECT_EQ(*store_->Read("ann", sha256_, bytes_.size(), 8), "");
  EXPECT_TRUE(absl::IsOutOfRange(store_->Read("ann", sha256_, bytes_.size() + 1, 8).status()));
}

TEST_P(BlobConformance, AnUploadResumesWhereItBrokeOffEvenAfterARestart) {
  ASSERT_EQ(store_->Write("ann", sha256_, bytes_.size(), 0, bytes_.substr(0, 10))->committed_bytes, 10u);
  Reopen({});
  ASSERT_EQ(store_->Status("ann", sha256_)->committed_bytes, 10u);
  EXPECT_FALSE(store_->Status("ann", sha256_)->complete);
  ASSERT_TRUE(store_->Write("ann", sha256_, bytes_.size(), 10, bytes_.substr(10))->complete);
  EXPECT_EQ(*store_->ReadAll("ann", sha256_), bytes_);
}

TEST_P(BlobConformance, OverlappingChunksAreSkippedAndGapsRefused) {
  ASSERT_TRUE(store_->Write("ann", sha256_, bytes_.size(), 0, bytes_.substr(0, 10)).ok());
  const absl::Status gap = store_->Write("ann", sha256_, bytes_.size(), 11, bytes_.substr(11)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(gap));
  EXPECT_THAT(std::string(gap.message()), HasSubstr("expected at most 10"));
  EXPECT_TRUE(store_->Write("ann", sha256_, bytes_.size(), 4, bytes_.substr(4))->complete);
}

TEST_P(BlobConformance, BytesThatDoNotHashToTheDigestAreDropped) {
  const std::string wrong(bytes_.size(), 'x');
  const absl::Status status = store_->Write("ann", sha256_, wrong.size(), 0, wrong).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(Sha256Hex(wrong)));
  EXPECT_TRUE(absl::IsNotFound(store_->Status("ann", sha256_).status()));
  EXPECT_EQ(*store_->TenantBytes("ann"), 0u);
  EXPECT_TRUE(Upload("ann", bytes_).ok());
}

TEST_P(BlobConformance, ATenantSeesABlobOnlyAfterUploadingIt) {
  ASSERT_TRUE(Upload("ann", bytes_).ok());
  EXPECT_FALSE(store_->Has("bob", sha256_));
  EXPECT_TRUE(absl::IsNotFound(store_->ReadAll("bob", sha256_).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->Status("bob", sha256_).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->Touch("bob", sha256_, absl::Now())));
  ASSERT_TRUE(Upload("bob", bytes_).ok());
  EXPECT_TRUE(store_->Has("bob", sha256_));
}

TEST_P(BlobConformance, AWrongDigestNeverReachesTheFileSystem) {
  for (const std::string& digest :
       {std::string("../../etc/passwd"), std::string(64, 'A'), std::string(63, 'a'), std::string()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Write("ann", digest, 1, 0, "x").status()));
    EXPECT_TRUE(absl::IsInvalidArgument(store_->ReadAll("ann", digest).status()));
    EXPECT_FALSE(store_->Has("ann", digest));
  }
}

TEST_P(BlobConformance, SizesThatAreOnlyDeclaredCostNoQuota) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(store_->Write("ann", Sha256Hex(std::to_string(i)), 40 << 10, 0, "x").ok());
    const absl::Status gap = store_->Write("ann", Sha256Hex(std::to_string(i)), 40 << 10, 39 << 10, "x").status();
    EXPECT_TRUE(absl::IsInvalidArgument(gap)) << gap;
  }
  EXPECT_EQ(*store_->TenantBytes("ann"), 5 * 4096u);
  EXPECT_TRUE(Upload("ann", std::string(40 << 10, 'y')).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(store_->Write("ann", sha256_, 60 << 10, 0, "x").status()));
}

TEST_P(BlobConformance, TheQuotaCountsWhatArrivedAndIsGivenBack) {
  const std::string big(60 << 10, 'b');
  ASSERT_TRUE(store_->Write("ann", Sha256Hex(big), big.size(), 0, big.substr(0, (60 << 10) - 1)).ok());
  const absl::Status refused = store_->Write("ann", sha256_, 8 << 10, 0, bytes_).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--max-bytes-per-tenant"));
  EXPECT_TRUE(Upload("bob", bytes_).ok());
  ASSERT_TRUE(store_->Expire(absl::Now() + absl::Hours(1), absl::InfinitePast()).ok());
  EXPECT_TRUE(Upload("ann", bytes_).ok());
}

TEST_P(BlobConformance, ABlobPastTheLimitIsRefusedBeforeItsFirstByte) {
  const absl::Status refused = store_->Write("ann", sha256_, (1 << 20) + 1, 0, "x").status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--max-blob-bytes"));
}

TEST_P(BlobConformance, UnusedBlobsExpireAndUsedOnesStay) {
  const std::string other = "other";
  ASSERT_TRUE(Upload("ann", bytes_).ok());
  ASSERT_TRUE(Upload("ann", other).ok());
  ASSERT_TRUE(store_->Touch("ann", sha256_, absl::Now() + absl::Hours(48)).ok());
  ASSERT_TRUE(store_->Expire(absl::InfinitePast(), absl::Now() + absl::Hours(24)).ok());
  EXPECT_TRUE(store_->Has("ann", sha256_));
  EXPECT_FALSE(store_->Has("ann", Sha256Hex(other)));
  EXPECT_EQ(*store_->TenantBytes("ann"), 4096u);
}

TEST_P(BlobConformance, AnEmptyBlobIsABlob) {
  ASSERT_TRUE(Upload("ann", "")->complete);
  EXPECT_EQ(*store_->ReadAll("ann", Sha256Hex("")), "");
}

TEST_P(BlobConformance, AnUploadThatMeetsExpiryIsKept) {
  std::atomic<bool> done = false;
  std::thread expiry([&] {
    while (!done) EXPECT_TRUE(store_->Expire(absl::InfinitePast(), absl::InfiniteFuture()).ok());
  });
  for (int round = 0; round < bed_->rounds(); ++round) {
    const auto written = Upload("ann", bytes_);
    EXPECT_TRUE(written.ok()) << written.status();
  }
  done = true;
  expiry.join();
}

// Two streams of one tenant that declare different sizes: one must not write while the other's bytes are hashed and
// published, or a blob would not be what its digest says, for other tenants too.
TEST_P(BlobConformance, StreamsThatDeclareDifferentSizesNeverPublishWrongBytes) {
  const std::string garbage(bytes_.size(), 'x');
  for (int round = 0; round < bed_->rounds(); ++round) {
    const std::string bytes = bytes_ + std::to_string(round), sha256 = Sha256Hex(bytes);
    std::thread other([&] {
      store_->Write("ann", sha256, bytes.size() + 1, 0, garbage).status().IgnoreError();
      store_->Write("ann", sha256, bytes.size() + 2, 0, garbage).status().IgnoreError();
    });
    for (int i = 0; i < 3; ++i) store_->Write("ann", sha256, bytes.size(), 0, bytes).status().IgnoreError();
    other.join();
    if (store_->Has("ann", sha256)) {
      EXPECT_EQ(Sha256Hex(*store_->ReadAll("ann", sha256)), sha256) << "round " << round;
    }
    Reopen({});
  }
}

TEST_P(BlobConformance, StreamsThatRaceForOneBlobEndWithTheRightBytes) {
  std::string bytes(32 << 10, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  const std::string sha256 = Sha256Hex(bytes);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (size_t at = 0; at < bytes.size(); at += 1024) {
        EXPECT_TRUE(store_->Write("ann", sha256, bytes.size(), at, bytes.substr(at, 1024)).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*store_->ReadAll("ann", sha256), bytes);
  EXPECT_EQ(*store_->TenantBytes("ann"), bytes.size());
}

}  // namespace sassay::store
