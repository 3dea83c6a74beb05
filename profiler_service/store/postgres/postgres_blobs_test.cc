#include "profiler_service/store/postgres/postgres_blobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "common/base/files.h"
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

class FolderBed : public BlobBed {
 public:
  std::unique_ptr<BlobStore> Open(const BlobLimits& limits) override {
    auto blobs = OpenPostgresBlobs(uri_, limits, 2, directory_.path() / "blobs");
    EXPECT_TRUE(blobs.ok()) << blobs.status();
    return blobs.ok() ? *std::move(blobs) : nullptr;
  }
  int rounds() const override { return 20; }

 private:
  const TemporaryDirectory directory_ = *TemporaryDirectory::Create("postgres_blobs_test");
  const std::string uri_ = EmptiedStore().uri;
};

INSTANTIATE_TEST_SUITE_P(PostgresFolder, BlobConformance,
                         testing::Values(std::make_pair(std::string("Folder"),
                                                        BlobBedFactory([] { return std::make_unique<FolderBed>(); }))));

// Two front ends that mount one folder.
class SharedFolder : public testing::Test {
 protected:
  void SetUp() override {
    for (std::unique_ptr<BlobStore>& blobs : blobs_) {
      auto opened = OpenPostgresBlobs(uri_, {1 << 20, 1 << 20}, 2, folder());
      ASSERT_TRUE(opened.ok()) << opened.status();
      blobs = *std::move(opened);
    }
  }
  std::string folder() const { return directory_.path() / "blobs"; }
  absl::StatusOr<WriteStatus> Upload(int front_end, const std::string& tenant) {
    return blobs_[front_end]->Write(tenant, sha256_, bytes_.size(), 0, bytes_);
  }
  // Blobs' files, without the folder's own.
  std::vector<std::filesystem::path> Files() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder())) {
      if (entry.is_regular_file() && entry.path().filename() != "sassay-blobs") files.push_back(entry.path());
    }
    return files;
  }

  const TemporaryDirectory directory_ = *TemporaryDirectory::Create("postgres_blobs_test");
  const std::string uri_ = EmptiedStore().uri;
  const std::string bytes_ = "what a kernel is really made of", sha256_ = Sha256Hex(bytes_);
  std::unique_ptr<BlobStore> blobs_[2];
};

TEST_F(SharedFolder, WhatOneFrontEndKeptTheOtherReads) {
  ASSERT_TRUE(blobs_[0]->Write("ann", sha256_, bytes_.size(), 0, bytes_.substr(0, 10)).ok());
  EXPECT_TRUE(Files().empty());
  ASSERT_TRUE(blobs_[1]->Write("ann", sha256_, bytes_.size(), 10, bytes_.substr(10))->complete);
  EXPECT_EQ(*blobs_[0]->ReadAll("ann", sha256_), bytes_);
  EXPECT_EQ(*blobs_[0]->Read("ann", sha256_, 5, 6), bytes_.substr(5, 6));
  EXPECT_TRUE(absl::IsNotFound(blobs_[0]->ReadAll("bob", sha256_).status()));
  EXPECT_EQ(Files().size(), 1u);
}

TEST_F(SharedFolder, BytesAreKeptOnceAndGoWithTheLastWhoHasThem) {
  ASSERT_TRUE(Upload(0, "ann").ok());
  ASSERT_TRUE(Upload(1, "bob").ok());
  EXPECT_EQ(Files().size(), 1u);
  ASSERT_TRUE(blobs_[0]->Touch("bob", sha256_, absl::Now() + absl::Hours(2)).ok());
  ASSERT_TRUE(blobs_[1]->Expire(absl::InfinitePast(), absl::Now() + absl::Hours(1)).ok());
  EXPECT_EQ(*blobs_[0]->ReadAll("bob", sha256_), bytes_);
  ASSERT_TRUE(blobs_[1]->Expire(absl::InfinitePast(), absl::Now() + absl::Hours(3)).ok());
  EXPECT_TRUE(Files().empty());
}

TEST_F(SharedFolder, WhatIsUploadedOrTouchedWhileOthersExpireIsThere) {
  std::atomic<bool> done = false;
  std::thread expiry([&] {
    while (!done) EXPECT_TRUE(blobs_[1]->Expire(absl::InfinitePast(), absl::Now() + absl::Hours(1)).ok());
  });
  for (int round = 0; round < 40; ++round) {
    const auto written = Upload(0, "ann");
    ASSERT_TRUE(written.ok() && written->complete) << written.status();
    if (!blobs_[0]->Touch("ann", sha256_, absl::Now() + absl::Hours(2)).ok()) continue;
    const auto read = blobs_[0]->ReadAll("ann", sha256_);
    EXPECT_TRUE(read.ok()) << round << ": " << read.status();
    blobs_[0]->Touch("ann", sha256_, absl::Now()).IgnoreError();  // old again
  }
  done = true;
  expiry.join();
}

TEST_F(SharedFolder, FilesOfNobodyAreSweptAndOthersStay) {
  ASSERT_TRUE(Upload(0, "ann").ok());
  const std::filesystem::path used = Files().front();
  const std::filesystem::path orphan = std::filesystem::path(folder()) / "aa" / std::string(32, 'a');
  std::filesystem::create_directories(orphan.parent_path());
  ASSERT_TRUE(WriteFileAtomically(orphan, "nobody's").ok());
  ASSERT_TRUE(blobs_[1]->Expire(absl::Now() - absl::Hours(24), absl::InfinitePast()).ok());
  EXPECT_EQ(Files().size(), 2u) << "it may be about to become somebody's";
  ASSERT_TRUE(blobs_[1]->Expire(absl::Now() + absl::Hours(24), absl::InfinitePast()).ok());
  EXPECT_THAT(Files(), testing::ElementsAre(used));
}

TEST_F(SharedFolder, ALostOrDamagedFileIsDroppedForEverybodyAndCanBeUploadedAgain) {
  for (const bool lost : {true, false}) {
    ASSERT_TRUE(Upload(0, "ann").ok());
    ASSERT_TRUE(Upload(0, "bob").ok());
    for (const auto& file : Files()) {
      if (lost) {
        std::filesystem::remove(file);
      } else {
        ASSERT_TRUE(WriteFileAtomically(file, std::string(bytes_.size(), 'x')).ok());
      }
    }
    EXPECT_TRUE(absl::IsDataLoss(blobs_[1]->ReadAll("ann", sha256_).status()));
    EXPECT_FALSE(blobs_[0]->Has("bob", sha256_));
  }
  ASSERT_TRUE(Upload(0, "ann").ok());
  EXPECT_EQ(*blobs_[1]->ReadAll("ann", sha256_), bytes_);
}

// Nothing may be taken for lost because a front end looks at the wrong place.
TEST_F(SharedFolder, AFolderThatIsNotTheOneIsRefusedAndOneThatGoesAwayLosesNothing) {
  ASSERT_TRUE(Upload(0, "ann").ok());
  const absl::Status refused = OpenPostgresBlobs(uri_, {}, 1, directory_.path() / "empty").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("not mounted"));
  std::filesystem::rename(folder(), folder() + ".away");
  std::filesystem::create_directory(folder());
  EXPECT_TRUE(absl::IsUnavailable(blobs_[0]->ReadAll("ann", sha256_).status()));
  std::filesystem::remove_all(folder());
  std::filesystem::rename(folder() + ".away", folder());
  EXPECT_EQ(*blobs_[0]->ReadAll("ann", sha256_), bytes_);
}

TEST_F(SharedFolder, WhatLiesInTheDatabaseIsReadBesideIt) {
  const auto plain = *OpenPostgresBlobs(uri_, {}, 1);
  ASSERT_TRUE(plain->Write("ann", sha256_, bytes_.size(), 0, bytes_)->complete);
  EXPECT_EQ(*blobs_[0]->ReadAll("ann", sha256_), bytes_);
  ASSERT_TRUE(Upload(0, "bob").ok());
  EXPECT_TRUE(Files().empty());
  const std::string other = "other";
  ASSERT_TRUE(blobs_[0]->Write("ann", Sha256Hex(other), other.size(), 0, other)->complete);
  const absl::Status blind = plain->ReadAll("ann", Sha256Hex(other)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(blind)) << blind;
}

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
