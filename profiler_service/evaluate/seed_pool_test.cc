#include "profiler_service/evaluate/seed_pool.h"

#include <sys/stat.h>

#include "common/base/files.h"
#include "gtest/gtest.h"

namespace sassay::evaluate {
namespace {

TEST(SeedPool, AReplayIdBringsTheSameSeedsBack) {
  const SeedPool pool("sixteen bytes or more");
  const Seeds fresh = pool.Fresh();
  const auto again = pool.Replay(fresh.replay_id());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(fresh.Get("inputs", 3), again->Get("inputs", 3));
  EXPECT_EQ(fresh.replay_id(), again->replay_id());
}

TEST(SeedPool, SeedsDifferByPurposeIndexAndEvaluation) {
  const SeedPool pool("sixteen bytes or more");
  const Seeds a = pool.Fresh(), b = pool.Fresh();
  EXPECT_NE(a.Get("inputs", 0), a.Get("inputs", 1));
  EXPECT_NE(a.Get("inputs", 0), a.Get("poison", 0));
  EXPECT_NE(a.Get("inputs", 0), b.Get("inputs", 0));
  EXPECT_NE(a.replay_id(), b.replay_id());
}

TEST(SeedPool, AnotherServicesOrForgedIdsAreRefused) {
  const SeedPool pool("sixteen bytes or more"), other("another secret, also long");
  std::string id = pool.Fresh().replay_id();
  EXPECT_FALSE(other.Replay(id).ok());
  id.back() = id.back() == '0' ? '1' : '0';
  EXPECT_FALSE(pool.Replay(id).ok());
  for (const char* bad : {"", "r1-", "r1-zz", "r2-00", "\n"}) EXPECT_FALSE(pool.Replay(bad).ok()) << bad;
}

TEST(SeedPool, TheSecretOutlivesARestartAndIsPrivate) {
  const auto directory = TemporaryDirectory::Create("seed_pool_test");
  const auto path = directory->path() / "secret";
  const std::string id = SeedPool::FromFile(path)->Fresh().replay_id();
  EXPECT_TRUE(SeedPool::FromFile(path)->Replay(id).ok());
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

}  // namespace
}  // namespace sassay::evaluate
