#include "profiler_service/api/auth/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/base/files.h"
#include "common/base/sha256.h"

namespace sassay::api {
namespace {

using testing::HasSubstr;
using testing::Not;

class TokensTest : public testing::Test {
 protected:
  std::string Add(const std::string& name, Role role) { return *AddToken(file_, name, role); }
  static std::string Bearer(const std::string& token) { return "Bearer " + token; }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("tokens_test");
  const std::filesystem::path file_ = directory_.path() / "tokens";
};

TEST_F(TokensTest, ATokenIsKnownByItsDigestOnly) {
  const std::string token = Add("ann", Role::kTenant);
  const std::string content = *ReadFile(file_);
  EXPECT_THAT(content, Not(HasSubstr(token)));
  EXPECT_THAT(content, HasSubstr(absl::StrCat("ann tenant sha256:", Sha256Hex(token))));
}

TEST_F(TokensTest, TheRegistryKnowsWhoIsWho) {
  const std::string ann = Add("ann", Role::kTenant), root = Add("root", Role::kAdmin);
  const auto registry = *TokenRegistry::Open(file_);
  EXPECT_EQ(registry->Authenticate(Bearer(ann))->tenant, "ann");
  EXPECT_EQ(registry->Authenticate(Bearer(ann))->role, Role::kTenant);
  EXPECT_EQ(registry->Authenticate(Bearer(root))->role, Role::kAdmin);
}

TEST_F(TokensTest, StrangersAreTurnedAway) {
  const std::string ann = Add("ann", Role::kTenant);
  const auto registry = *TokenRegistry::Open(file_);
  for (const std::string& header : {std::string(), ann, Bearer(""), Bearer(ann + "0"), Bearer(Sha256Hex(ann)),
                                    "Basic " + ann, Bearer(std::string(5000, 'x'))}) {
    EXPECT_TRUE(absl::IsUnauthenticated(registry->Authenticate(header).status())) << header;
  }
}

TEST_F(TokensTest, ARevokedTokenStopsWorkingWithoutARestart) {
  const std::string ann = Add("ann", Role::kTenant), bob = Add("bob", Role::kTenant);
  const auto registry = *TokenRegistry::Open(file_);
  const Caller caller = *registry->Authenticate(Bearer(ann));
  absl::Mutex mutex;
  bool revoked = false;
  registry->OnChange([&](const TokenChange&) {
    absl::MutexLock lock(&mutex);
    revoked = !registry->StillValid(caller);
  });
  ASSERT_TRUE(RevokeTokens(file_, "ann").ok());
  {
    absl::MutexLock lock(&mutex);
    ASSERT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&revoked), absl::Seconds(30)));
  }
  EXPECT_TRUE(absl::IsUnauthenticated(registry->Authenticate(Bearer(ann)).status()));
  EXPECT_TRUE(registry->Authenticate(Bearer(bob)).ok());
}

TEST_F(TokensTest, TwoTokensOfOneTenantAllowRotation) {
  const std::string old_token = Add("ann", Role::kTenant), new_token = Add("ann", Role::kTenant);
  const auto registry = *TokenRegistry::Open(file_);
  EXPECT_EQ(registry->Authenticate(Bearer(old_token))->tenant, "ann");
  EXPECT_EQ(registry->Authenticate(Bearer(new_token))->tenant, "ann");
}

TEST_F(TokensTest, AMalformedChangeKeepsTheFormerTokens) {
  const std::string ann = Add("ann", Role::kTenant);
  const auto registry = *TokenRegistry::Open(file_);
  ASSERT_TRUE(WriteFileAtomically(file_, "ann boss sha256:1\n").ok());
  const absl::Status status = registry->Reload();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("line 1"));
  EXPECT_TRUE(registry->Authenticate(Bearer(ann)).ok());
}

TEST_F(TokensTest, ARemovedFileAdmitsNobody) {
  const std::string ann = Add("ann", Role::kTenant);
  const auto registry = *TokenRegistry::Open(file_);
  std::filesystem::remove(file_);
  ASSERT_TRUE(registry->Reload().ok());
  EXPECT_FALSE(registry->Authenticate(Bearer(ann)).ok());
}

TEST_F(TokensTest, AFileThatCannotBeReadAdmitsNobody) {
  const std::string ann = Add("ann", Role::kTenant);
  const auto registry = *TokenRegistry::Open(file_);
  std::filesystem::remove(file_);
  std::filesystem::create_directory(file_);  // unreadable for root, too
  ASSERT_TRUE(registry->Reload().ok());
  EXPECT_FALSE(registry->Authenticate(Bearer(ann)).ok());
}

TEST_F(TokensTest, ChangesKeepOwnerAndModeForTheServiceThatReads) {
  Add("ann", Role::kTenant);
  struct stat facts {};
  ASSERT_EQ(stat(file_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0644u);
  ASSERT_EQ(chmod(file_.c_str(), 0640), 0);
  const bool given_away = getuid() == 0 && chown(file_.c_str(), 65534, 65534) == 0;
  Add("bob", Role::kTenant);
  ASSERT_TRUE(RevokeTokens(file_, "ann").ok());
  ASSERT_EQ(stat(file_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0640u);
  EXPECT_EQ(facts.st_uid, given_away ? 65534 : getuid());
}

TEST_F(TokensTest, RevocationReadsLinesAsTheServiceDoes) {
  const std::string digest = Sha256Hex("x");
  ASSERT_TRUE(WriteFileAtomically(file_, absl::StrCat("ann tenant sha256:", digest, "\r\n  ann admin sha256:",
                                                      Sha256Hex("y"), "\n# ann\nbob tenant sha256:", digest, "\r\n"))
                  .ok());
  ASSERT_TRUE(RevokeTokens(file_, "ann").ok());
  EXPECT_EQ(*ReadFile(file_), absl::StrCat("# ann\nbob tenant sha256:", digest, "\r\n"));
}

TEST_F(TokensTest, ALinkStaysALinkAndWhatChangesBehindItIsSeen) {
  const auto real = directory_.path() / "elsewhere" / "tokens", link = directory_.path() / "link";
  std::filesystem::create_directory(real.parent_path());
  const std::string ann = *AddToken(real, "ann", Role::kTenant);
  std::filesystem::create_symlink(real, link);
  const std::string bob = *AddToken(link, "bob", Role::kTenant);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  const auto registry = *TokenRegistry::Open(link, absl::Milliseconds(1));
  const Caller caller = *registry->Authenticate(Bearer(ann));
  absl::Mutex mutex;
  bool revoked = false;
  registry->OnChange([&](const TokenChange&) {
    absl::MutexLock lock(&mutex);
    revoked = !registry->StillValid(caller);
  });
  ASSERT_TRUE(RevokeTokens(real, "ann").ok());
  absl::MutexLock lock(&mutex);
  EXPECT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&revoked), absl::Seconds(30)));
}

TEST_F(TokensTest, AReadingSaysWhatChanged) {
  Add("ann", Role::kTenant);
  Add("bob", Role::kAdmin);
  const auto registry = *TokenRegistry::Open(file_);
  absl::Mutex mutex;
  TokenChange seen;
  registry->OnChange([&](const TokenChange& change) {
    absl::MutexLock lock(&mutex);
    for (const std::string& name : change.added) seen.added.push_back(name);
    for (const std::string& name : change.removed) seen.removed.push_back(name);
  });
  ASSERT_TRUE(RevokeTokens(file_, "bob").ok());
  Add("eve", Role::kTenant);
  ASSERT_TRUE(registry->Reload().ok());
  absl::MutexLock lock(&mutex);
  EXPECT_THAT(seen.added, testing::ElementsAre("eve tenant"));
  EXPECT_THAT(seen.removed, testing::ElementsAre("bob admin"));
}

TEST_F(TokensTest, TokensMadeAtTheSameTimeAreAllKept) {
  std::vector<std::thread> makers;
  for (int i = 0; i < 20; ++i) {
    makers.emplace_back([this, i] { Add(absl::StrCat("tenant", i), Role::kTenant); });
  }
  for (std::thread& maker : makers) maker.join();
  EXPECT_EQ(ParseTokenFile(*ReadFile(file_))->size(), 20u);
}

TEST_F(TokensTest, NamesAndRolesAreChecked) {
  EXPECT_TRUE(absl::IsInvalidArgument(AddToken(file_, "a b", Role::kTenant).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(AddToken(file_, "", Role::kTenant).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(RoleFromName("root").status()));
  EXPECT_TRUE(absl::IsNotFound(TokenRegistry::Open(file_).status()));
  Add("ann", Role::kTenant);
  EXPECT_TRUE(absl::IsNotFound(RevokeTokens(file_, "bob")));
}

TEST_F(TokensTest, CommentsAndEmptyLinesAreSkipped) {
  const std::string digest = Sha256Hex("x");
  const auto entries = ParseTokenFile(absl::StrCat("# who\n\n  ann  admin\tsha256:", digest, "\n"));
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->front().sha256, digest);
}

}  // namespace
}  // namespace sassay::api
