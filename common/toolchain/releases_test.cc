#include "common/toolchain/releases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/base/files.h"

namespace sassay {
namespace {

using ::testing::HasSubstr;

class ReleasesTest : public ::testing::Test {
 protected:
  // A folder laid out like a toolkit of that version.
  std::string Toolkit(const std::string& version) {
    const std::filesystem::path home = folder_.path() / version;
    std::filesystem::create_directories(home / "bin");
    const std::filesystem::path ptxas = home / "bin/ptxas";
    std::ofstream(ptxas) << "#!/bin/sh\necho 'Cuda compilation tools, release x, V" << version << "'\n";
    chmod(ptxas.c_str(), 0755);
    return home.string();
  }
  void SetUp() override {
    newer_ = Toolkit("99.1.2");
    older_ = Toolkit("98.4.131");
    setenv("SASSAY_CUDA_HOME", newer_.c_str(), 1);
    setenv("CUDA_HOME", older_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("SASSAY_CUDA_HOME");
    unsetenv("CUDA_HOME");
  }

  TemporaryDirectory folder_ = *TemporaryDirectory::Create("releases");
  std::string newer_, older_;
};

TEST_F(ReleasesTest, OfSeveralTheOneAskedForIsTaken) {
  for (const char* release : {"98", "98.4", "98.4.131"}) EXPECT_EQ(*HomeOfRelease(release, ""), older_) << release;
  EXPECT_EQ(*HomeOfRelease("99.1", ""), newer_);
  EXPECT_EQ(*HomeOfRelease("98.4", older_), older_);
}

TEST_F(ReleasesTest, OneThatIsNotThereIsSaidWithThoseThatAre) {
  const absl::Status none = HomeOfRelease("9", "").status();
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  for (const std::string& said : {std::string("no CUDA 9 on this machine"), "99.1.2 in " + newer_,
                                  "98.4.131 in " + older_, std::string("--cuda-home")}) {
    EXPECT_THAT(std::string(none.message()), HasSubstr(said));
  }
  const absl::Status another = HomeOfRelease("98.4", newer_).status();
  EXPECT_THAT(std::string(another.message()), HasSubstr("no CUDA 98.4 in " + newer_ + "; there is 99.1.2"));
  EXPECT_THAT(std::string(HomeOfRelease("98", "/no/such/folder").status().message()), HasSubstr("none at all"));
}

}  // namespace
}  // namespace sassay
