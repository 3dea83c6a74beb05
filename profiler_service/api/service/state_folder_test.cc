#include "profiler_service/api/service/state_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/files.h"

namespace sassay::api {
namespace {

TEST(StateFolder, BelongsToOneServiceAtATimeAndToItsOwnerOnly) {
  const TemporaryDirectory directory = *TemporaryDirectory::Create("state_folder_test");
  const auto path = directory.path() / "deep" / "state";
  {
    const auto first = StateFolder::Take(path);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
    const absl::Status second = StateFolder::Take(path).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(second));
    EXPECT_THAT(std::string(second.message()), testing::HasSubstr("another profiler-service"));
  }
  EXPECT_TRUE(StateFolder::Take(path).ok());
}

TEST(StateFolder, WhatCannotBeMadeIsNamed) {
  const TemporaryDirectory directory = *TemporaryDirectory::Create("state_folder_test");
  ASSERT_TRUE(WriteFileAtomically(directory.path() / "file", "").ok());
  const absl::Status status = StateFolder::Take(directory.path() / "file" / "state").status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("--state"));
}

TEST(StateFolder, HasOneIdentityForEver) {
  const TemporaryDirectory directory = *TemporaryDirectory::Create("state_folder_test");
  std::string first;
  {
    const StateFolder folder = *StateFolder::Take(directory.path() / "a");
    first = *folder.Identity();
    EXPECT_EQ(*folder.Identity(), first);
  }
  EXPECT_EQ(*StateFolder::Take(directory.path() / "a")->Identity(), first);
  EXPECT_NE(*StateFolder::Take(directory.path() / "b")->Identity(), first);
}

}  // namespace
}  // namespace sassay::api
