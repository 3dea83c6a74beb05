#include "profiler_service/store/open_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/files.h"

namespace sassay::store {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(StoreAddress, AFileOrAUriIsUnderstoodAndNothingElse) {
  EXPECT_TRUE(CheckStoreAddress("sqlite:/var/lib/sassay/sassay.db").ok());
  EXPECT_TRUE(CheckStoreAddress("postgres://sassay@db.lab:5433/sassay?sslmode=verify-full&sslrootcert=/ca.pem").ok());
  EXPECT_TRUE(CheckStoreAddress("postgresql:///sassay?host=/run/postgresql&passfile=/etc/sassay/pgpass").ok());
  for (const char* wrong : {"", "sqlite:", "/var/lib/sassay.db", "mysql://db/sassay", "postgres://db/sassay?no=such",
                            "postgres://[::1/sassay"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckStoreAddress(wrong))) << wrong;
    EXPECT_TRUE(absl::IsInvalidArgument(OpenStore(wrong).status())) << wrong;
  }
}

TEST(StoreAddress, APasswordInItIsRefusedAndNeverShown) {
  for (const char* address : {"postgres://sassay:s3cret@db/sassay", "postgres://db/sassay?user=sassay&password=s3cret",
                              "mysql://sassay:s3cret@db/sassay"}) {
    const absl::Status status = CheckStoreAddress(address);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << address;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("s3cret")));
    EXPECT_THAT(DescribeStoreAddress(address), testing::AnyOf(Not(HasSubstr("s3cret")), HasSubstr("mysql")));
  }
  EXPECT_THAT(std::string(CheckStoreAddress("postgres://u:p@db/d").message()), HasSubstr("PGPASSFILE"));
}

TEST(StoreAddress, LogsShowHostAndDatabase) {
  EXPECT_EQ(DescribeStoreAddress("postgres://sassay@db.lab/sassay"), "PostgreSQL at db.lab/sassay");
  EXPECT_EQ(DescribeStoreAddress("sqlite:/a.db"), "sqlite:/a.db");
}

TEST(BlobAddress, AFolderOrTheDatabaseOfTheStore) {
  EXPECT_TRUE(CheckBlobAddress("dir:/var/lib/sassay/blobs", "sqlite:/a.db").ok());
  EXPECT_TRUE(CheckBlobAddress("postgres", "postgres://db/sassay").ok());
  EXPECT_TRUE(CheckBlobAddress("postgres+dir:/mnt/blobs", "postgres://db/sassay").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(CheckBlobAddress("postgres+dir:/mnt/blobs", "sqlite:/a.db")));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckBlobAddress("postgres+dir:", "postgres://db/sassay")));
  for (const char* wrong : {"", "dir:", "/var/lib/sassay/blobs", "postgres"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckBlobAddress(wrong, "sqlite:/a.db"))) << wrong;
  }
  const auto directory = *TemporaryDirectory::Create("open_store_test");
  const auto blobs = OpenBlobs("dir:" + (directory.path() / "blobs").string(), "sqlite:/a.db", {});
  EXPECT_TRUE(blobs.ok()) << blobs.status();
}

TEST(StoreAddress, OpensWhatItSays) {
  const auto directory = *TemporaryDirectory::Create("open_store_test");
  const std::string address = "sqlite:" + (directory.path() / "sassay.db").string();
  {
    const auto store = OpenStore(address);
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_FALSE((*store)->shared());
    ASSERT_TRUE((*store)->Audit({0, absl::UnixEpoch(), "root", "a", "b", "OK", ""}).ok());
  }
  EXPECT_EQ(ReadAuditLogOf(address, 0, 10)->size(), 1u);
  EXPECT_TRUE(
      absl::IsUnavailable(OpenStore("postgres:///sassay?host=" + directory.path().string() + "&user=sassay").status()));
}

}  // namespace
}  // namespace sassay::store
