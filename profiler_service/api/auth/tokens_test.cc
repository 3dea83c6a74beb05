#include "profiler_service/api/auth/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

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
  registry->OnChange([&] {
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
