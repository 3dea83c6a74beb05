#include "common/base/foreign/path_below.h"

#include "common/base/files.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;

class PathBelowTest : public ::testing::Test {
 protected:
  PathBelowTest() {
    fs::create_directories(Folder() / "sub");
    fs::create_directories(directory_.path() / "outside");
    for (const fs::path& file : {Folder() / "sub/file", directory_.path() / "outside/secret"})
      EXPECT_TRUE(WriteFileAtomically(file, "x").ok());
  }

  fs::path Folder() const { return directory_.path() / "folder"; }
  absl::StatusCode CodeOf(const char* path) const { return PathBelow(Folder(), path).status().code(); }

  const TemporaryDirectory directory_ = *TemporaryDirectory::Create("below");
};

TEST_F(PathBelowTest, FindsWhatLiesBelow) {
  EXPECT_EQ(*PathBelow(Folder(), "sub/../sub/file"), fs::canonical(Folder() / "sub/file"));
  fs::create_symlink("sub/file", Folder() / "link");
  EXPECT_EQ(*PathBelow(Folder(), "link"), fs::canonical(Folder() / "sub/file"));
  EXPECT_EQ(CodeOf("missing"), absl::StatusCode::kNotFound);
}

TEST_F(PathBelowTest, NothingLeadsOut) {
  fs::create_symlink("../outside", Folder() / "door");
  fs::create_symlink("../outside/secret", Folder() / "window");
  const std::string absolute = (directory_.path() / "outside/secret").string();
  for (const char* path : {"../outside/secret", "door/secret", "window", "sub/../../outside/secret", absolute.c_str()})
    EXPECT_EQ(CodeOf(path), absl::StatusCode::kInvalidArgument) << path;
}

}  // namespace
}  // namespace sassay
