#include "common/sandbox/remedy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/files.h"

namespace sassay::sandbox_internal {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class RemedyTest : public ::testing::Test {
 protected:
  // As the kernel writes it.
  void Set(const std::string& name, const std::string& value) {
    std::filesystem::create_directories((sys_.path() / name).parent_path());
    ASSERT_TRUE(WriteFileAtomically(sys_.path() / name, value + "\n").ok());
  }
  std::string Remedy(bool root = false) const { return RemedyFor(sys_.path(), root, "/usr/bin/bwrap"); }

  TemporaryDirectory sys_ = *TemporaryDirectory::Create("remedy_test");
};

TEST_F(RemedyTest, NamesTheSwitchThatStandsInTheWay) {
  Set("user/max_user_namespaces", "0");
  EXPECT_THAT(Remedy(), StartsWith("sudo sysctl -w user.max_user_namespaces=15000 "));
  Set("user/max_user_namespaces", "96364");
  Set("kernel/unprivileged_userns_clone", "0");
  EXPECT_THAT(Remedy(), StartsWith("sudo sysctl -w kernel.unprivileged_userns_clone=1 "));
}

// Ubuntu 24.04: a profile for one program first, as Ubuntu means it.
TEST_F(RemedyTest, WritesAnAppArmorProfileForBubblewrap) {
  Set("user/max_user_namespaces", "96364");
  Set("kernel/unprivileged_userns_clone", "1");
  Set("kernel/apparmor_restrict_unprivileged_userns", "1");
  EXPECT_THAT(Remedy(), HasSubstr("printf 'abi <abi/4.0>,\\nprofile sassay-bwrap /usr/bin/bwrap flags=(unconfined) {\\n"
                                  "  userns,\\n}\\n' | sudo tee /etc/apparmor.d/sassay-bwrap"));
  EXPECT_THAT(Remedy(), HasSubstr("sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 "));
}

TEST_F(RemedyTest, WhereNoSwitchIsOffItIsAContainer) {
  Set("user/max_user_namespaces", "96364");
  EXPECT_THAT(Remedy(), StartsWith("in a container: docker run"));
  Set("kernel/apparmor_restrict_unprivileged_userns", "1");
  EXPECT_THAT(Remedy(/*root=*/true), StartsWith("in a container: docker run"));
}

}  // namespace
}  // namespace sassay::sandbox_internal
