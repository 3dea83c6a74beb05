#include "agent/cli/follow/artifacts.h"

#include "common/base/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ArtifactsTest : public ::testing::Test {
 protected:
  void Add(const std::string& name) { verdict_.add_diagnoses()->add_artifacts()->set_name(name); }

  std::vector<std::string> Save() {
    std::vector<std::string> said;
    SaveArtifacts(
        verdict_, std::filesystem::path(home_.path()) / "new/folder",
        [this](const v1::Artifact& artifact) -> absl::StatusOr<std::string> {
          fetched_.push_back(artifact.name());
          if (artifact.name() == "gone") return absl::NotFoundError("the blob is not kept any more");
          return "the bytes";
        },
        [&](absl::string_view line) { said.emplace_back(line); });
    return said;
  }

  const TemporaryDirectory home_ = *TemporaryDirectory::Create("artifacts");
  v1::Verdict verdict_;
  std::vector<std::string> fetched_;
};

TEST_F(ArtifactsTest, EveryFileIsSavedAndSaid) {
  Add("s1.ncu-rep");
  EXPECT_THAT(Save(), ElementsAre(HasSubstr("new/folder/s1.ncu-rep")));
  EXPECT_EQ(*ReadFile(std::filesystem::path(home_.path()) / "new/folder/s1.ncu-rep"), "the bytes");
}

TEST_F(ArtifactsTest, NamesThatLeaveTheFolderAreNotEvenFetched) {
  for (const char* name : {"../x", "/etc/x", ".bashrc", "a/b", "", "-rf", "a\nb"}) Add(name);
  for (const std::string& line : Save()) EXPECT_THAT(line, HasSubstr("no plain file name"));
  EXPECT_TRUE(fetched_.empty());
}

TEST_F(ArtifactsTest, OneThatIsGoneDoesNotKeepTheNextFromBeingSaved) {
  Add("gone");
  Add("here");
  EXPECT_THAT(Save(), ElementsAre(HasSubstr("not kept any more"), HasSubstr("saved")));
}

}  // namespace
}  // namespace sassay::agent
