#include "profiler_service/store/blob_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "common/base/files.h"
#include "common/base/sha256.h"

namespace sassay::store {
namespace {

using testing::HasSubstr;

class BlobStoreTest : public testing::Test {
 protected:
  void SetUp() override { Reopen({1 << 20, 64 << 10}); }
  void Reopen(const BlobLimits& limits) { store_ = *BlobStore::Open(directory_.path() / "store", limits); }
  absl::StatusOr<WriteStatus> Upload(const std::string& tenant, const std::string& bytes) {
    return store_->Write(tenant, Sha256Hex(bytes), bytes.size(), 0, bytes);
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("blob_store_test");
  std::unique_ptr<BlobStore> store_;
  const std::string bytes_ = "what a kernel is really made of";
  const std::string sha256_ = Sha256Hex(bytes_);
};

TEST_F(BlobStoreTest, WhatWasWrittenIsReadBackAfterReopening) {
  ASSERT_TRUE(Upload("ann", bytes_).ok());
  Reopen({});
  EXPECT_EQ(*store_->ReadAll("ann", sha256_), bytes_);
  EXPECT_EQ(*store_->Read("ann", sha256_, 5, 8), bytes_.substr(5, 8));
  EXPECT_EQ(*store_->Read("ann", sha256_, bytes_.size(), 8), "");
  EXPECT_TRUE(absl::IsOutOfRange(store_->Read("ann", sha256_, bytes_.size() + 1, 8).status()));
}

TEST_F(BlobStoreTest, AnUploadResumesWhereItBrokeOffEvenAfterARestart) {
  ASSERT_EQ(store_->Write("ann", sha256_, bytes_.size(), 0, bytes_.substr(0, 10))->committed_bytes, 10u);
  Reopen({});
  ASSERT_EQ(store_->Status("ann", sha256_)->committed_bytes, 10u);
  EXPECT_FALSE(store_->Status("ann", sha256_)->complete);
  ASSERT_TRUE(store_->Write("ann", sha256_, bytes_.size(), 10, bytes_.substr(10))->complete);
  EXPECT_EQ(*store_->ReadAll("ann", sha256_), bytes_);
}

TEST_F(BlobStoreTest, OverlappingChunksAreSkippedAndGapsRefused) {
  ASSERT_TRUE(store_->Write("ann", sha256_, bytes_.size(), 0, bytes_.substr(0, 10)).ok());
  const absl::Status gap = store_->Write("ann", sha256_, bytes_.size(), 11, bytes_.substr(11)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(gap));
  EXPECT_THAT(std::string(gap.message()), HasSubstr("expected at most 10"));
  EXPECT_TRUE(store_->Write("ann", sha256_, bytes_.size(), 4, bytes_.substr(4))->complete);
}

TEST_F(BlobStoreTest, BytesThatDoNotHashToTheDigestAreDropped) {
  const std::string wrong(bytes_.size(), 'x');
  const absl::Status status = store_->Write("ann", sha256_, wrong.size(), 0, wrong).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(Sha256Hex(wrong)));
  EXPECT_TRUE(absl::IsNotFound(store_->Status("ann", sha256_).status()));
  EXPECT_EQ(store_->TenantBytes("ann"), 0u);
  EXPECT_TRUE(Upload("ann", bytes_).ok());
}

TEST_F(BlobStoreTest, ATenantSeesABlobOnlyAfterUploadingIt) {
  ASSERT_TRUE(Upload("ann", bytes_).ok());
  EXPECT_FALSE(store_->Has("bob", sha256_));
  EXPECT_TRUE(absl::IsNotFound(store_->ReadAll("bob", sha256_).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->Status("bob", sha256_).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->Touch("bob", sha256_, absl::Now())));
  ASSERT_TRUE(Upload("bob", bytes_).ok());
  EXPECT_TRUE(store_->Has("bob", sha256_));
}

TEST_F(BlobStoreTest, IdenticalBytesOfTwoTenantsAreKeptOnce) {
  ASSERT_TRUE(Upload("ann", bytes_).ok());
  ASSERT_TRUE(Upload("bob", bytes_).ok());
  const auto blob = directory_.path() / "store" / "blobs" / sha256_.substr(0, 2) / sha256_;
  EXPECT_EQ(std::filesystem::hard_link_count(blob), 3u);
}

TEST_F(BlobStoreTest, AWrongDigestNeverReachesTheFileSystem) {
  for (const std::string& digest :
       {std::string("../../etc/passwd"), std::string(64, 'A'), std::string(63, 'a'), std::string()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Write("ann", digest, 1, 0, "x").status()));
    EXPECT_TRUE(absl::IsInvalidArgument(store_->ReadAll("ann", digest).status()));
    EXPECT_FALSE(store_->Has("ann", digest));
  }
}

TEST_F(BlobStoreTest, TenantNamesCannotLeaveTheDirectory) {
  ASSERT_TRUE(Upload("../../up", bytes_).ok());
  int entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory_.path())) ++entries;
  EXPECT_EQ(entries, 1);
}

TEST_F(BlobStoreTest, SizesThatAreOnlyDeclaredCostNoQuota) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(store_->Write("ann", Sha256Hex(std::to_string(i)), 40 << 10, 0, "x").ok());
    const absl::Status gap = store_->Write("ann", Sha256Hex(std::to_string(i)), 40 << 10, 39 << 10, "x").status();
    EXPECT_TRUE(absl::IsInvalidArgument(gap)) << gap;
  }
  EXPECT_EQ(store_->TenantBytes("ann"), 5 * 4096u);
  EXPECT_TRUE(Upload("ann", std::string(40 << 10, 'y')).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(store_->Write("ann", sha256_, 60 << 10, 0, "x").status()));
}

TEST_F(BlobStoreTest, TheQuotaCountsWhatArrivedAndIsGivenBack) {
  const std::string big(60 << 10, 'b');
  ASSERT_TRUE(store_->Write("ann", Sha256Hex(big), big.size(), 0, big.substr(0, (60 << 10) - 1)).ok());
  const absl::Status refused = store_->Write("ann", sha256_, 8 << 10, 0, bytes_).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--max-bytes-per-tenant"));
  EXPECT_TRUE(Upload("bob", bytes_).ok());
  ASSERT_TRUE(store_->Expire(absl::Now() + absl::Hours(1), absl::InfinitePast()).ok());
  EXPECT_TRUE(Upload("ann", bytes_).ok());
}

TEST_F(BlobStoreTest, ABlobPastTheLimitIsRefusedBeforeItsFirstByte) {
  const absl::Status refused = store_->Write("ann", sha256_, (1 << 20) + 1, 0, "x").status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--max-blob-bytes"));
}

TEST_F(BlobStoreTest, UnusedBlobsExpireAndUsedOnesStay) {
  const std::string other = "other";
  ASSERT_TRUE(Upload("ann", bytes_).ok());
  ASSERT_TRUE(Upload("ann", other).ok());
  ASSERT_TRUE(store_->Touch("ann", sha256_, absl::Now() + absl::Hours(48)).ok());
  ASSERT_TRUE(store_->Expire(absl::InfinitePast(), absl::Now() + absl::Hours(24)).ok());
  EXPECT_TRUE(store_->Has("ann", sha256_));
  EXPECT_FALSE(store_->Has("ann", Sha256Hex(other)));
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "store" / "blobs" / Sha256Hex(other).substr(0, 2) /
                                       Sha256Hex(other)));
  EXPECT_EQ(store_->TenantBytes("ann"), 4096u);
}

TEST_F(BlobStoreTest, AnEmptyBlobIsABlob) {
  ASSERT_TRUE(Upload("ann", "")->complete);
  EXPECT_EQ(*store_->ReadAll("ann", Sha256Hex("")), "");
}

TEST_F(BlobStoreTest, BytesThatTheDiskChangedAreNotHandedOutAndCanBeUploadedAgain) {
  ASSERT_TRUE(Upload("ann", bytes_).ok());
  ASSERT_TRUE(Upload("bob", bytes_).ok());
  std::ofstream(directory_.path() / "store" / "blobs" / sha256_.substr(0, 2) / sha256_, std::ios::in) << 'X';
  const absl::Status status = store_->ReadAll("ann", sha256_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_FALSE(store_->Has("bob", sha256_));
  EXPECT_EQ(store_->TotalBytes(), 0u);
  ASSERT_TRUE(Upload("ann", bytes_).ok());
  EXPECT_EQ(*store_->ReadAll("ann", sha256_), bytes_);
}

TEST_F(BlobStoreTest, AnUploadThatMeetsExpiryIsKept) {
  std::atomic<bool> done = false;
  std::thread expiry([&] {
    while (!done) EXPECT_TRUE(store_->Expire(absl::InfinitePast(), absl::InfiniteFuture()).ok());
  });
  for (int round = 0; round < 300; ++round) {
    const auto written = Upload("ann", bytes_);
    EXPECT_TRUE(written.ok()) << written.status();
  }
  done = true;
  expiry.join();
}

// Two streams of one tenant that declare different sizes: one must not write while the other's bytes are hashed and
// published, or a blob would not be what its digest says, for other tenants too.
TEST_F(BlobStoreTest, StreamsThatDeclareDifferentSizesNeverPublishWrongBytes) {
  const std::string garbage(bytes_.size(), 'x');
  for (int round = 0; round < 200; ++round) {
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

TEST_F(BlobStoreTest, ANameLeftByACrashIsNoWayIntoThePublishedBlob) {
  ASSERT_TRUE(Upload("ann", bytes_).ok());
  const auto store = directory_.path() / "store";
  const auto blob = store / "blobs" / sha256_.substr(0, 2) / sha256_;
  std::filesystem::create_directories(store / "partial" / "626f62");  // of bob, who was about to get the blob
  std::filesystem::create_hard_link(blob, store / "partial" / "626f62" / sha256_);
  Reopen({});
  store_->Write("bob", sha256_, bytes_.size() + 4, bytes_.size(), "tail").status().IgnoreError();
  EXPECT_EQ(*store_->ReadAll("ann", sha256_), bytes_);
}

TEST_F(BlobStoreTest, StreamsThatRaceForOneBlobEndWithTheRightBytes) {
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
  EXPECT_EQ(store_->TenantBytes("ann"), bytes.size());
}

}  // namespace
}  // namespace sassay::store
