#include "common/toolchain/places.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "common/base/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Places : public testing::Test {
 protected:
  std::string Make(const std::string& below) const {
    fs::create_directories(directory_.path() / below);
    return (directory_.path() / below).string();
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("places-test");
};

TEST_F(Places, ToolkitsAskedForComeFirstAndAFolderWithTwoNamesOnce) {
  const std::string home = Make("cuda"), link = (directory_.path() / "link").string();
  fs::create_directory_symlink(home, link);
  setenv("SASSAY_CUDA_HOME", home.c_str(), 1);
  setenv("CUDA_HOME", link.c_str(), 1);
  const std::vector<std::string> roots = ToolkitRoots();
  unsetenv("SASSAY_CUDA_HOME");
  unsetenv("CUDA_HOME");
  ASSERT_FALSE(roots.empty());
  EXPECT_EQ(roots[0], home);
  EXPECT_EQ(std::count(roots.begin(), roots.end(), link), 0);
}

TEST_F(Places, APythonEnvironmentIsLookedInto) {
  const std::string packages = Make("venv/lib/python3.12/site-packages");
  setenv("VIRTUAL_ENV", (directory_.path() / "venv").c_str(), 1);
  EXPECT_THAT(SitePackages(), Contains(packages));
  unsetenv("VIRTUAL_ENV");
}

TEST_F(Places, WhatDoesNotExistIsLeftOut) {
  setenv("SASSAY_CUDA_HOME", (directory_.path() / "nowhere").c_str(), 1);
  EXPECT_THAT(ToolkitRoots(), testing::Not(Contains((directory_.path() / "nowhere").string())));
  unsetenv("SASSAY_CUDA_HOME");
  EXPECT_THAT(GlobPaths((directory_.path() / "no*").string()), IsEmpty());
}

TEST_F(Places, PatternsAnswerInTheOrderOfNames) {
  const std::string b = Make("cuda-13.0"), a = Make("cuda-12.9");
  EXPECT_THAT(GlobPaths((directory_.path() / "cuda-*").string()), ElementsAre(a, b));
}

}  // namespace
}  // namespace sassay
