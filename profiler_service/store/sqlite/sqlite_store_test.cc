#include "profiler_service/store/sqlite/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/sql/operations.h"
#include "profiler_service/store/sqlite/sqlite_db.h"
#include "profiler_service/store/testing/store_conformance.h"

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
  ASSERT_TRUE((*SqliteDb::Open(path()))->Execute("PRAGMA user_version=1000").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(OpenSqliteStore(path()).status()));
}

TEST_F(SqliteFile, CommitsAreSyncedToDisk) {
  auto db = *SqliteDb::Open(path());
  sql::Query synchronous = db->Prepare("PRAGMA synchronous");
  ASSERT_TRUE(*synchronous.Step());
  EXPECT_EQ(synchronous.Int(0), 2);
  sql::Query journal = db->Prepare("PRAGMA journal_mode");
  ASSERT_TRUE(*journal.Step());
  EXPECT_EQ(journal.Text(0), "wal");
}

TEST_F(SqliteFile, AuditRecordsCannotBeChangedOrRemoved) {
  auto db = *SqliteDb::Open(path());
  ASSERT_TRUE(MigrateSchema(*db).ok());
  ASSERT_TRUE(sql::Audit(*db, {0, absl::UnixEpoch(), "a", "b", "c", "OK", ""}).ok());
  EXPECT_FALSE(db->Execute("UPDATE audit SET actor = 'x'").ok());
  EXPECT_FALSE(db->Execute("DELETE FROM audit").ok());
}

TEST_F(SqliteFile, AFinishedSubmissionCannotBeReopened) {
  auto db = *SqliteDb::Open(path());
  ASSERT_TRUE(MigrateSchema(*db).ok());
  ASSERT_TRUE(db->Execute("INSERT INTO tenants (name) VALUES ('t')").ok());
  ASSERT_TRUE(db->Execute("INSERT INTO submissions (id, tenant, request_id, request, accepted_at, queue_deadline, "
                          "run_deadline) VALUES ('s', 't', 'r', x'', 0, 0, 0)")
                  .ok());
  ASSERT_TRUE(db->Execute("UPDATE submissions SET state = 2").ok());
  EXPECT_FALSE(db->Execute("UPDATE submissions SET state = 0").ok());
  // Not even beside the exclusion of an earlier attempt, or of one that is not run again.
  ASSERT_TRUE(db->Execute("UPDATE submissions SET attempt = 2").ok());
  ASSERT_TRUE(db->Execute("INSERT INTO exclusions VALUES (1, 's', 1, 't', 0, 'i', 'r', 1, 1)").ok());
  EXPECT_FALSE(db->Execute("UPDATE submissions SET state = 0").ok());
  ASSERT_TRUE(db->Execute("INSERT INTO exclusions VALUES (2, 's', 2, 't', 0, 'i', 'r', 0, 2)").ok());
  EXPECT_FALSE(db->Execute("UPDATE submissions SET state = 0").ok());
}

TEST_F(SqliteFile, OneWhoseLastAttemptWasExcludedGoesBackToTheQueueAndNowhereElse) {
  auto db = *SqliteDb::Open(path());
  ASSERT_TRUE(MigrateSchema(*db).ok());
  ASSERT_TRUE(db->Execute("INSERT INTO tenants (name) VALUES ('t');"
                          "INSERT INTO submissions (id, tenant, request_id, request, accepted_at, queue_deadline, "
                          "run_deadline, attempt) VALUES ('s', 't', 'r', x'', 0, 0, 0, 1);"
                          "UPDATE submissions SET state = 2;"
                          "INSERT INTO exclusions VALUES (1, 's', 1, 't', 0, 'i', 'r', 1, 1)")
                  .ok());
  EXPECT_FALSE(db->Execute("UPDATE submissions SET state = 1").ok());
  EXPECT_TRUE(db->Execute("UPDATE submissions SET state = 0").ok());
}

TEST_F(SqliteFile, ADamagedRequestDoesNotHoldUpTheOthers) {
  {
    const auto store = *OpenSqliteStore(path());
    for (const char* id : {"bad", "good"}) {
      NewSubmission submission{id, "ann", {}, absl::UnixEpoch(), absl::InfiniteFuture(), absl::Minutes(1), {10, 10}};
      submission.request.set_request_id(id);
      ASSERT_TRUE(Await<Submitted>([&](Callback<Submitted> done) { store->Submit(submission, std::move(done)); }).ok());
    }
  }
  ASSERT_TRUE((*SqliteDb::Open(path()))->Execute("UPDATE submissions SET request = x'ff' WHERE id = 'bad'").ok());
  const auto store = *OpenSqliteStore(path());
  std::vector<bool> readable;
  for (int i = 0; i < 2; ++i) {
    const auto lease = Await<absl::optional<Lease>>([&](Callback<absl::optional<Lease>> done) {
      store->Acquire("me", absl::UnixEpoch(), absl::UnixEpoch(), std::move(done));
    });
    ASSERT_TRUE(lease.ok() && lease->has_value()) << lease.status();
    readable.push_back((*lease)->submission.readable);
  }
  EXPECT_THAT(readable, testing::ElementsAre(false, true));
  EXPECT_EQ(store->LeasesExpiredBy(absl::InfiniteFuture())->size(), 2u);
}

TEST_F(SqliteFile, TenantsDataIsNobodyElsesOnTheMachine) {
  const auto store = *OpenSqliteStore(path());
  ASSERT_TRUE(store->Audit({0, absl::UnixEpoch(), "a", "b", "c", "OK", ""}).ok());
  for (const auto& file : std::filesystem::directory_iterator(directory_.path())) {
    EXPECT_EQ(file.status().permissions() & static_cast<std::filesystem::perms>(0077), std::filesystem::perms::none)
        << file.path();
  }
}

TEST_F(SqliteFile, AFileSystemWithoutWalIsRefused) {
  sqlite3_vfs* const usual = sqlite3_vfs_find(nullptr);
  sqlite3_vfs_register(sqlite3_vfs_find("unix-dotfile"), 1);  // has no shared memory
  const absl::Status status = SqliteDb::Open(path()).status();
  sqlite3_vfs_register(usual, 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("local disk"));
}

TEST_F(SqliteFile, TheAuditLogCanBeReadBesideTheService) {
  const auto store = *OpenSqliteStore(path());
  ASSERT_TRUE(store->Audit({0, absl::UnixEpoch(), "root", "b", "c", "OK", ""}).ok());
  const auto records = ReadAuditLog(path(), 0, 10);
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_EQ(records->front().actor, "root");
  EXPECT_FALSE(ReadAuditLog(directory_.path() / "nothing.db", 0, 10).ok());
}

TEST_F(SqliteFile, ADatabaseOfEveryVersionIsBroughtUpToDateAndWhatWaitedThereIsRun) {
  for (int64_t version = 1; version <= 6; ++version) {
    const std::string file = directory_.path() / absl::StrCat("v", version, ".db");
    {
      const auto db = *SqliteDb::Open(file);
      ASSERT_TRUE(MigrateSchema(*db, version).ok());
      ASSERT_TRUE(db->Execute("INSERT INTO tenants (name) VALUES ('ann');"
                              "INSERT INTO submissions (id, tenant, request_id, request, accepted_at, queue_deadline, "
                              "run_deadline) VALUES ('s', 'ann', 'r', x'', 0, 9000000000000000000, 0)")
                      .ok());
    }
    const auto store = OpenSqliteStore(file);
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_TRUE((*store)->Holds().ok());
    const auto lease = Await<absl::optional<Lease>>([&](Callback<absl::optional<Lease>> done) {
      (*store)->Acquire("me", absl::UnixEpoch(), absl::InfiniteFuture(), std::move(done));
    });
    ASSERT_TRUE(lease.ok() && lease->has_value()) << lease.status();
    EXPECT_EQ((*lease)->submission.id, "s");
    const auto finished = Await<std::vector<sassay::v1::Event>>([&](Callback<std::vector<sassay::v1::Event>> done) {
      (*store)->Finish(**lease, VerdictOf(sassay::v1::VERDICT_STATUS_CORRECT), {}, std::move(done));
    });
    EXPECT_TRUE(finished.ok()) << finished.status();
  }
}

// A submission of version 3 that has ended: accepted, verdict.
void FinishInVersionThree(SqliteDb& db) {
  ASSERT_TRUE(db.Execute("INSERT INTO tenants (name) VALUES ('ann');"
                         "INSERT INTO submissions (id, tenant, request_id, request, accepted_at, queue_deadline, "
                         "run_deadline, last_sequence) VALUES ('s', 'ann', 'r', x'', 0, 0, 0, 2);"
                         "UPDATE submissions SET state = 2;"
                         "INSERT INTO verdicts (id, sequence, status, decided_at) VALUES ('s', 2, 1, 0);"
                         "INSERT INTO pause (only, at, actor, reason) VALUES (1, 5, 'root', 'hot')")
                  .ok());
  sassay::v1::Event accepted, verdict;
  accepted.mutable_accepted();
  verdict.mutable_verdict()->add_stages()->set_device_ns(70);
  verdict.mutable_verdict()->add_stages()->set_device_ns(7);
  for (const auto& [sequence, event] : {std::pair(1, accepted), std::pair(2, verdict)}) {
    ASSERT_TRUE(db.Prepare("INSERT INTO events (id, sequence, event) VALUES ('s', ?, ?)")
                    .Bind(sequence)
                    .BindBlob(event.SerializeAsString())
                    .Run()
                    .ok());
  }
}

TEST_F(SqliteFile, WhatVersionThreeKeptMeansTheSame) {
  {
    auto db = *SqliteDb::Open(path());
    ASSERT_TRUE(MigrateSchema(*db, 3).ok());
    FinishInVersionThree(*db);
  }
  const auto store = *OpenSqliteStore(path());
  const auto events = *store->Events("s", 0, 10);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_FALSE(events[0].last());
  EXPECT_TRUE(events[1].last()) << "its verdict is the last event";
  EXPECT_EQ(store->Usage("ann", absl::Now())->front().gpu_ns(), 77u);
  EXPECT_EQ(store->Usage("ann", absl::Now())->front().verdicts(), 1u);
  const auto holds = *store->Holds();
  ASSERT_EQ(holds.size(), 1u);
  EXPECT_EQ(holds[0].gpu, "");
  EXPECT_EQ(holds[0].holder, "operator");
  EXPECT_EQ(holds[0].actor, "root");
  EXPECT_EQ(holds[0].reason, "hot");
  EXPECT_EQ(holds[0].since, absl::FromUnixNanos(5));
  EXPECT_EQ(holds[0].state, sassay::v1::GPU_STATE_PAUSED);
}

TEST_F(SqliteFile, AttemptsExclusionsAndIncidentsCannotBeChanged) {
  auto db = *SqliteDb::Open(path());
  ASSERT_TRUE(MigrateSchema(*db).ok());
  ASSERT_TRUE(db->Execute("PRAGMA foreign_keys=OFF").ok());
  ASSERT_TRUE(db->Execute("INSERT INTO attempts VALUES ('s', 1, 'g', 0, 1, 1, 1)").ok());
  ASSERT_TRUE(db->Execute("INSERT INTO exclusions VALUES (1, 's', 1, 't', 0, 'i', 'r', 1, 2)").ok());
  ASSERT_TRUE(db->Execute("INSERT INTO incidents VALUES (1, 'i', 1, 0, x'')").ok());
  EXPECT_FALSE(db->Execute("UPDATE attempts SET gpu_ns = 0").ok());
  EXPECT_FALSE(db->Execute("UPDATE exclusions SET rerun = 0").ok());
  EXPECT_FALSE(db->Execute("UPDATE incidents SET revision = 2").ok());
  EXPECT_FALSE(db->Execute("DELETE FROM incidents").ok());
}

TEST_F(SqliteFile, MigratingTwiceChangesNothing) {
  auto db = *SqliteDb::Open(path());
  ASSERT_TRUE(MigrateSchema(*db).ok());
  EXPECT_TRUE(MigrateSchema(*db).ok());
}

}  // namespace
}  // namespace sassay::store
