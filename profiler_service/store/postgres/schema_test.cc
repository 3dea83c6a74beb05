#include "profiler_service/store/postgres/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "profiler_service/store/postgres/postgres_testing.h"

namespace sassay::store::postgres {
namespace {

using testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

class Schema : public testing::Test {
 protected:
  void SetUp() override {
    const auto server = PostgresServer::OfThisProgram();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *server;
    const auto uri = server_->NewDatabase();
    ASSERT_TRUE(uri.ok()) << uri.status();
    options_.uri = *uri;
    options_.readers = 1;
  }
  std::string Ask(const std::string& sql) {
    const auto answer = server_->Run({"psql", "-qAt", "-d", options_.uri, "-c", sql});
    return answer.ok() ? *answer : answer.status().ToString();
  }

  PostgresServer* server_ = nullptr;
  PostgresOptions options_;
};

TEST_F(Schema, ProcessesThatStartTogetherMigrateOnce) {
  std::vector<absl::Status> opened(4);
  OnThreads(4, [&](int thread) { opened[static_cast<size_t>(thread)] = OpenPostgresStore(options_).status(); });
  for (const absl::Status& status : opened) EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(Ask("SELECT version FROM sassay.schema_version"), absl::StrCat(SchemaVersion(), "\n"));
}

TEST_F(Schema, ADatabaseOfANewerBuildIsRefusedWithBothVersions) {
  ASSERT_TRUE(OpenPostgresStore(options_).ok());
  Ask("UPDATE sassay.schema_version SET version = 1000");
  const absl::Status status = OpenPostgresStore(options_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 1000"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("knows ", SchemaVersion())));
}

TEST_F(Schema, WhatNeverChangesCannotBeChangedByHandEither) {
  const auto store = *OpenPostgresStore(options_);
  ASSERT_TRUE(SubmitTo(*store, SubmissionOf("ann", "r", "s")).ok());
  ASSERT_TRUE(FinishIn(*store, **AcquireFrom(*store), "g").ok());
  ASSERT_TRUE(store->Audit({0, kNow, "root", "a", "b", "OK", ""}).ok());
  ASSERT_TRUE(store->RecordIncident({}).ok());
  EXPECT_THAT(Ask("UPDATE sassay.submissions SET state = 0"), HasSubstr("stays finished"));
  EXPECT_THAT(Ask("UPDATE sassay.audit SET actor = 'x'"), HasSubstr("never change"));
  EXPECT_THAT(Ask("DELETE FROM sassay.audit"), HasSubstr("never change"));
  EXPECT_THAT(Ask("UPDATE sassay.attempts SET gpu_ns = 0"), HasSubstr("never change"));
  EXPECT_THAT(Ask("DELETE FROM sassay.incidents"), HasSubstr("never change"));
}

TEST_F(Schema, ADamagedRequestDoesNotHoldUpTheOthers) {
  const auto store = *OpenPostgresStore(options_);
  for (const char* id : {"bad", "good"}) ASSERT_TRUE(SubmitTo(*store, SubmissionOf("ann", id, id)).ok());
  Ask("UPDATE sassay.submissions SET request = '\\xff' WHERE id = 'bad'");
  EXPECT_FALSE((*AcquireFrom(*store))->submission.readable);
  EXPECT_TRUE((*AcquireFrom(*store))->submission.readable);
}

// testdata/schema_vN.sql: a dump of version N with a queued, a finished and an excluded submission of "ann", a hold and
// an audit record, made by the build that had this version.
TEST_F(Schema, WhatEveryReleasedVersionKeptMeansTheSame) {
  const std::filesystem::path folder =
      std::filesystem::path(getenv("SASSAY_TEST_SOURCE")) / "profiler_service/store/postgres/testdata";
  for (int64_t version = 1; version <= SchemaVersion(); ++version) {
    SetUp();
    const auto dump = ReadFile(folder / absl::StrCat("schema_v", version, ".sql"));
    ASSERT_TRUE(dump.ok()) << dump.status();
    ASSERT_TRUE(server_->Feed({"psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", options_.uri}, *dump).ok());
    const auto opened = OpenPostgresStore(options_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    Store& store = **opened;
    EXPECT_EQ(store.CountDepths()->queued, 1u);
    EXPECT_EQ(store.Events("finished", 0, 10)->size(), 3u);
    EXPECT_TRUE(store.Events("finished", 0, 10)->back().last());
    EXPECT_EQ(store.AttemptsOf("excluded")->front().excluded->incident_id(), "i");
    EXPECT_EQ(store.Usage("ann", kNow)->front().verdicts(), 1u);
    EXPECT_EQ(store.Usage("ann", kNow)->front().excluded_verdicts(), 1u);
    EXPECT_EQ(store.Holds()->front().actor, "root");
    EXPECT_EQ(store.AuditLog(0, 10)->front().actor, "root");
    const auto lease = AcquireFrom(store);
    ASSERT_TRUE(lease.ok() && lease->has_value()) << lease.status();
    EXPECT_EQ((*lease)->submission.id, "queued");
    EXPECT_TRUE(FinishIn(store, **lease, "h").ok());
  }
}

// Writes the dump of this version where SASSAY_WRITE_DUMP says; how testdata/ is made.
TEST_F(Schema, ADumpOfThisVersionCanBeMade) {
  const auto store = *OpenPostgresStore(options_);
  for (const char* id : {"finished", "excluded", "queued"}) {
    ASSERT_TRUE(SubmitTo(*store, SubmissionOf("ann", id, id)).ok());
  }
  const Lease finished = **AcquireFrom(*store), excluded = **AcquireFrom(*store);
  ASSERT_TRUE(AppendTo(*store, finished).ok());
  ASSERT_TRUE(FinishIn(*store, finished, "h").ok());
  ASSERT_TRUE(FinishIn(*store, excluded, "g").ok());
  ASSERT_TRUE(Await<Exclusions>([&](Callback<Exclusions> done) {
                store->Exclude({"g", kNow, absl::InfiniteFuture(), "i", "hot"}, 0, kNow, std::move(done));
              }).ok());
  ASSERT_TRUE(store->PlaceHold({"g", "operator", sassay::v1::GPU_STATE_PAUSED, "", "", kNow, "root"}).ok());
  ASSERT_TRUE(store->Audit({0, kNow, "root", "a", "b", "OK", ""}).ok());
  const auto dump = server_->Run({"pg_dump", "--no-owner", "--no-privileges", "--schema=sassay", options_.uri});
  ASSERT_TRUE(dump.ok()) << dump.status();
  EXPECT_THAT(*dump, HasSubstr("CREATE TABLE sassay.submissions"));
  const char* path = getenv("SASSAY_WRITE_DUMP");
  if (path == nullptr) return;
  ASSERT_TRUE(WriteFileAtomically(path, *dump).ok());
}

}  // namespace
}  // namespace sassay::store::postgres
