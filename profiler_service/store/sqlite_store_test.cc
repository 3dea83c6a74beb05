#include "profiler_service/store/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/sqlite_db.h"
#include "profiler_service/store/sqlite_operations.h"
#include "profiler_service/store/store_conformance.h"

namespace sassay::store {
namespace {

class SqliteBed : public StoreBed {
 public:
  std::unique_ptr<Store> Open() override {
    auto store = OpenSqliteStore(directory_.path() / "sassay.db");
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }

 private:
  TemporaryDirectory directory_ = *TemporaryDirectory::Create("sqlite_store_test");
};

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreConformance,
                         testing::Values(std::make_pair(std::string("Sqlite"), StoreBedFactory([] {
                                                          return std::make_unique<SqliteBed>();
                                                        }))));

class SqliteFile : public testing::Test {
 protected:
  std::string path() const { return directory_.path() / "sassay.db"; }
  TemporaryDirectory directory_ = *TemporaryDirectory::Create("sqlite_store_test");
};

TEST_F(SqliteFile, ASecondOpenerIsToldWhoIsInTheWay) {
  const auto first = OpenSqliteStore(path());
  ASSERT_TRUE(first.ok());
  const absl::Status second = OpenSqliteStore(path()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second));
  EXPECT_THAT(std::string(second.message()), testing::HasSubstr("another profiler-service"));
}

TEST_F(SqliteFile, ADatabaseOfANewerBuildIsRefused) {
  ASSERT_TRUE((*Db::Open(path()))->Execute("PRAGMA user_version=1000").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(OpenSqliteStore(path()).status()));
}

TEST_F(SqliteFile, CommitsAreSyncedToDisk) {
  auto db = *Db::Open(path());
  Query synchronous = db->Prepare("PRAGMA synchronous");
  ASSERT_TRUE(*synchronous.Step());
  EXPECT_EQ(synchronous.Int(0), 2);
  Query journal = db->Prepare("PRAGMA journal_mode");
  ASSERT_TRUE(*journal.Step());
  EXPECT_EQ(journal.Text(0), "wal");
}

TEST_F(SqliteFile, AuditRecordsCannotBeChangedOrRemoved) {
  auto db = *Db::Open(path());
  ASSERT_TRUE(MigrateSchema(*db).ok());
  ASSERT_TRUE(sqlite::Audit(*db, {0, absl::UnixEpoch(), "a", "b", "c", "OK", ""}).ok());
  EXPECT_FALSE(db->Execute("UPDATE audit SET actor = 'x'").ok());
  EXPECT_FALSE(db->Execute("DELETE FROM audit").ok());
}

TEST_F(SqliteFile, AFinishedSubmissionCannotBeReopened) {
  auto db = *Db::Open(path());
  ASSERT_TRUE(MigrateSchema(*db).ok());
  ASSERT_TRUE(db->Execute("INSERT INTO tenants (name) VALUES ('t')").ok());
  ASSERT_TRUE(db->Execute("INSERT INTO submissions (id, tenant, request_id, request, accepted_at, queue_deadline, "
                          "run_deadline) VALUES ('s', 't', 'r', x'', 0, 0, 0)")
                  .ok());
  ASSERT_TRUE(db->Execute("UPDATE submissions SET state = 2").ok());
  EXPECT_FALSE(db->Execute("UPDATE submissions SET state = 0").ok());
}

TEST_F(SqliteFile, MigratingTwiceChangesNothing) {
  auto db = *Db::Open(path());
  ASSERT_TRUE(MigrateSchema(*db).ok());
  EXPECT_TRUE(MigrateSchema(*db).ok());
}

}  // namespace
}  // namespace sassay::store
