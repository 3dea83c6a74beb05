#include "profiler_service/store/directory_blobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "common/base/files.h"
#include "common/base/sha256.h"
#include "profiler_service/store/testing/blob_conformance.h"

namespace sassay::store {
namespace {

class DirectoryBed : public BlobBed {
 public:
  std::unique_ptr<BlobStore> Open(const BlobLimits& limits) override {
    return *DirectoryBlobs::Open(directory_.path() / "store", limits);
  }

 private:
  TemporaryDirectory directory_ = *TemporaryDirectory::Create("directory_blobs_test");
};

INSTANTIATE_TEST_SUITE_P(Directory, BlobConformance,
                         testing::Values(std::make_pair(std::string("Directory"), BlobBedFactory([] {
                                                          return std::make_unique<DirectoryBed>();
                                                        }))));

class DirectoryBlobsTest : public testing::Test {
 protected:
  void SetUp() override { Reopen({1 << 20, 64 << 10}); }
  void Reopen(const BlobLimits& limits) {
    store_.reset();
    store_ = *DirectoryBlobs::Open(directory_.path() / "store", limits);
  }
  absl::StatusOr<WriteStatus> Upload(const std::string& tenant, const std::string& bytes) {
    return store_->Write(tenant, Sha256Hex(bytes), bytes.size(), 0, bytes);
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("directory_blobs_test");
  std::unique_ptr<BlobStore> store_;
  const std::string bytes_ = "what a kernel is really made of";
  const std::string sha256_ = Sha256Hex(bytes_);
};

TEST_F(DirectoryBlobsTest, IdenticalBytesOfTwoTenantsAreKeptOnce) {
  ASSERT_TRUE(Upload("ann", bytes_).ok());
  ASSERT_TRUE(Upload("bob", bytes_).ok());
  const auto blob = directory_.path() / "store" / "blobs" / sha256_.substr(0, 2) / sha256_;
  EXPECT_EQ(std::filesystem::hard_link_count(blob), 3u);
}

TEST_F(DirectoryBlobsTest, TenantNamesCannotLeaveTheDirectory) {
  ASSERT_TRUE(Upload("../../up", bytes_).ok());
  int entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory_.path())) ++entries;
  EXPECT_EQ(entries, 1);
}

TEST_F(DirectoryBlobsTest, BytesThatTheDiskChangedAreNotHandedOutAndCanBeUploadedAgain) {
  ASSERT_TRUE(Upload("ann", bytes_).ok());
  ASSERT_TRUE(Upload("bob", bytes_).ok());
  std::ofstream(directory_.path() / "store" / "blobs" / sha256_.substr(0, 2) / sha256_, std::ios::in) << 'X';
  const absl::Status status = store_->ReadAll("ann", sha256_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_FALSE(store_->Has("bob", sha256_));
  EXPECT_EQ(*store_->TotalBytes(), 0u);
  ASSERT_TRUE(Upload("ann", bytes_).ok());
  EXPECT_EQ(*store_->ReadAll("ann", sha256_), bytes_);
}

TEST_F(DirectoryBlobsTest, ANameLeftByACrashIsNoWayIntoThePublishedBlob) {
  ASSERT_TRUE(Upload("ann", bytes_).ok());
  const auto store = directory_.path() / "store";
  const auto blob = store / "blobs" / sha256_.substr(0, 2) / sha256_;
  std::filesystem::create_directories(store / "partial" / "626f62");  // of bob, who was about to get the blob
  std::filesystem::create_hard_link(blob, store / "partial" / "626f62" / sha256_);
  Reopen({});
  store_->Write("bob", sha256_, bytes_.size() + 4, bytes_.size(), "tail").status().IgnoreError();
  EXPECT_EQ(*store_->ReadAll("ann", sha256_), bytes_);
}

TEST_F(DirectoryBlobsTest, ASecondProcessIsToldHowSeveralShareBlobs) {
  const absl::Status second = DirectoryBlobs::Open(directory_.path() / "store", {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
  EXPECT_THAT(std::string(second.message()), testing::HasSubstr("--blobs postgres"));
}

TEST_F(DirectoryBlobsTest, BytesThatNobodyHoldsAreGivenBackToTheDisk) {
  ASSERT_TRUE(Upload("ann", bytes_).ok());
  ASSERT_TRUE(store_->Expire(absl::InfinitePast(), absl::Now() + absl::Hours(24)).ok());
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "store" / "blobs" / sha256_.substr(0, 2) / sha256_));
}

}  // namespace
}  // namespace sassay::store
