#include "profiler_service/store/postgres/postgres_blobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "profiler_service/store/postgres/postgres_testing.h"
#include "profiler_service/store/testing/blob_conformance.h"

namespace sassay::store {
namespace {

class PostgresBed : public BlobBed {
 public:
  std::unique_ptr<BlobStore> Open(const BlobLimits& limits) override {
    auto blobs = OpenPostgresBlobs(uri_, limits, 2);
    EXPECT_TRUE(blobs.ok()) << blobs.status();
    return blobs.ok() ? *std::move(blobs) : nullptr;
  }
  int rounds() const override { return 20; }

 private:
  const std::string uri_ = EmptiedStore().uri;
};

INSTANTIATE_TEST_SUITE_P(Postgres, BlobConformance,
                         testing::Values(std::make_pair(std::string("Postgres"), BlobBedFactory([] {
                                                          return std::make_unique<PostgresBed>();
                                                        }))));

class SharedBlobs : public testing::Test {
 protected:
  void SetUp() override {
    for (std::unique_ptr<BlobStore>& blobs : blobs_) {
      auto opened = OpenPostgresBlobs(uri_, {1 << 20, 64 << 10}, 2);
      ASSERT_TRUE(opened.ok()) << opened.status();
      blobs = *std::move(opened);
    }
  }
  std::string Ask(const std::string& sql) {
    const auto server = *PostgresServer::OfThisProgram();
    const auto answer = server->Run({"psql", "-qAt", "-d", uri_, "-c", sql});
    return answer.ok() ? *answer : answer.status().ToString();
  }

  const std::string uri_ = EmptiedStore().uri;
  std::unique_ptr<BlobStore> blobs_[2];
};

TEST_F(SharedBlobs, AnUploadGoesOnAtAnotherFrontEnd) {
  const std::string bytes = "what a kernel is really made of", sha256 = Sha256Hex(bytes);
  ASSERT_TRUE(blobs_[0]->Write("ann", sha256, bytes.size(), 0, bytes.substr(0, 10)).ok());
  EXPECT_EQ(blobs_[1]->Status("ann", sha256)->committed_bytes, 10u);
  ASSERT_TRUE(blobs_[1]->Write("ann", sha256, bytes.size(), 10, bytes.substr(10))->complete);
  EXPECT_EQ(*blobs_[0]->ReadAll("ann", sha256), bytes);
}

TEST_F(SharedBlobs, FrontEndsTogetherKeepATenantsQuota) {
  std::atomic<int> kept = 0;
  OnThreads(8, [&](int thread) {
    for (int i = 0; i < 4; ++i) {
      const std::string bytes = std::to_string(thread) + "-" + std::to_string(i);
      kept += blobs_[thread % 2]->Write("ann", Sha256Hex(bytes), bytes.size(), 0, bytes).ok();
    }
  });
  EXPECT_EQ(kept, 16);
  EXPECT_EQ(*blobs_[0]->TenantBytes("ann"), 64u << 10);
}

TEST_F(SharedBlobs, IdenticalBytesOfTwoTenantsAreKeptOnceAndGoWithTheLast) {
  const std::string bytes = "bytes", sha256 = Sha256Hex(bytes);
  for (const char* tenant : {"ann", "bob"}) {
    ASSERT_TRUE(blobs_[0]->Write(tenant, sha256, bytes.size(), 0, bytes).ok());
  }
  EXPECT_EQ(Ask("SELECT count(*) FROM sassay.blob_chunks"), "1\n");
  ASSERT_TRUE(blobs_[0]->Touch("bob", sha256, absl::Now() + absl::Hours(2)).ok());
  ASSERT_TRUE(blobs_[1]->Expire(absl::InfinitePast(), absl::Now() + absl::Hours(1)).ok());
  EXPECT_FALSE(blobs_[0]->Has("ann", sha256));
  EXPECT_EQ(*blobs_[0]->ReadAll("bob", sha256), bytes);
  ASSERT_TRUE(blobs_[1]->Expire(absl::InfinitePast(), absl::Now() + absl::Hours(3)).ok());
  EXPECT_EQ(Ask("SELECT count(*) FROM sassay.blob_chunks"), "0\n");
}

TEST_F(SharedBlobs, DamagedBytesAreDroppedForEverybodyAndCanBeUploadedAgain) {
  const std::string bytes = "bytes", sha256 = Sha256Hex(bytes);
  for (const char* tenant : {"ann", "bob"}) {
    ASSERT_TRUE(blobs_[0]->Write(tenant, sha256, bytes.size(), 0, bytes).ok());
  }
  Ask("UPDATE sassay.blob_chunks SET bytes = 'BYTES'");
  EXPECT_EQ(blobs_[1]->ReadAll("ann", sha256).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(blobs_[0]->Has("bob", sha256));
  ASSERT_TRUE(blobs_[0]->Write("ann", sha256, bytes.size(), 0, bytes).ok());
  EXPECT_EQ(*blobs_[1]->ReadAll("ann", sha256), bytes);
}

// More than one transaction forgets, of blobs and of broken uploads; what is in use stays.
TEST_F(SharedBlobs, AnyNumberOfUnusedBlobsIsForgotten) {
  constexpr int kBlobs = 50;
  for (int i = 0; i < kBlobs; ++i) {
    const std::string bytes = std::to_string(i), sha256 = Sha256Hex(bytes);
    ASSERT_TRUE(blobs_[0]->Write("whole" + bytes, sha256, bytes.size(), 0, bytes).ok());
    ASSERT_TRUE(blobs_[0]->Write("broken" + bytes, sha256, bytes.size() + 1, 0, bytes).ok());
  }
  const std::string used = Sha256Hex("7");
  ASSERT_TRUE(blobs_[0]->Touch("whole7", used, absl::Now() + absl::Hours(2)).ok());
  ASSERT_TRUE(blobs_[1]->Expire(absl::Now() + absl::Hours(1), absl::Now() + absl::Hours(1)).ok());
  EXPECT_EQ(Ask("SELECT count(*) FROM sassay.blobs"), "1\n");
  EXPECT_EQ(Ask("SELECT count(*) FROM sassay.blob_chunks"), "1\n");
  EXPECT_EQ(Ask("SELECT count(*) FROM sassay.blob_upload_chunks"), "0\n");
  EXPECT_EQ(*blobs_[0]->ReadAll("whole7", used), "7");
}

// A submission touches its bundle: afterwards it is there, or the client has been told to send it again.
TEST_F(SharedBlobs, WhatWasTouchedOrUploadedWhileOthersExpireIsThere) {
  const std::string bytes = "bytes", sha256 = Sha256Hex(bytes);
  std::atomic<bool> done = false;
  std::thread expiry([&] {
    while (!done) EXPECT_TRUE(blobs_[1]->Expire(absl::InfinitePast(), absl::Now() + absl::Hours(1)).ok());
  });
  for (int round = 0; round < 40; ++round) {
    const auto written = blobs_[0]->Write("ann", sha256, bytes.size(), 0, bytes);
    ASSERT_TRUE(written.ok() && written->complete) << written.status();
    const absl::Status touched = blobs_[0]->Touch("ann", sha256, absl::Now() + absl::Hours(2));
    if (touched.ok()) {
      EXPECT_TRUE(blobs_[0]->ReadAll("ann", sha256).ok()) << round;
      // Old again: expiry may be as quick as this call.
      const absl::Status old = blobs_[0]->Touch("ann", sha256, absl::Now());
      EXPECT_TRUE(old.ok() || absl::IsNotFound(old)) << old;
    } else {
      EXPECT_TRUE(absl::IsNotFound(touched)) << touched;
    }
  }
  done = true;
  expiry.join();
}

}  // namespace
}  // namespace sassay::store
