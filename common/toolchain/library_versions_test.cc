#include "common/toolchain/library_versions.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/toolchain/vendor_libraries.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What each file says, without a child.
AskVersion Says(std::map<std::string, absl::StatusOr<LibraryVersion>> answers) {
  return [answers = std::move(answers)](VendorLibrary, const std::string& file) { return answers.at(file); };
}

std::vector<std::string> Order(VendorLibrary library, const std::vector<std::string>& files, const char* driver,
                               const AskVersion& ask) {
  std::vector<std::string> order;
  for (const RankedLibrary& ranked : RankLibraries(library, files, driver, ask)) order.push_back(ranked.path);
  return order;
}

TEST(LibraryVersions, TheNewestWinsAndVersionsAreNumbers) {
  const AskVersion ask = Says({{"a", LibraryVersion{"9.9.0", "13.0"}},
                               {"b", LibraryVersion{"9.19.0", "13.1"}},
                               {"c", LibraryVersion{"9.14.0", "13.0"}}});
  EXPECT_THAT(Order(VendorLibrary::kCudnn, {"a", "b", "c"}, "13.0", ask), ElementsAre("b", "c", "a"));
}

TEST(LibraryVersions, AmongEqualsTheBetterPlaceWins) {
  const AskVersion ask = Says({{"a", LibraryVersion{"9.19.0", "13.1"}}, {"b", LibraryVersion{"9.19.0", "13.1"}}});
  EXPECT_THAT(Order(VendorLibrary::kCudnn, {"b", "a"}, "13.0", ask), ElementsAre("b", "a"));
}

TEST(LibraryVersions, ALibraryForALaterCudaThanTheDriversDoesNotWin) {
  const AskVersion ask = Says({{"old", LibraryVersion{"13.1.0", "13.0"}}, {"new", LibraryVersion{"14.0.0", "14.0"}}});
  const auto ranked = RankLibraries(VendorLibrary::kCublasLt, {"new", "old"}, "13.0", ask);
  EXPECT_EQ(ranked[0].path, "old");
  EXPECT_EQ(ranked[1].unusable, "is for CUDA 14.0, the driver runs 13.0");
  EXPECT_THAT(Order(VendorLibrary::kCublasLt, {"old", "new"}, "", ask), ElementsAre("new", "old"));
}

TEST(LibraryVersions, ALibraryOfTheDriversMajorReleaseWinsOverANewerOneOfAnEarlierRelease) {
  const AskVersion ask = Says({{"cu12", LibraryVersion{"9.20.0", "12.9"}}, {"cu13", LibraryVersion{"9.19.0", "13.1"}}});
  EXPECT_THAT(Order(VendorLibrary::kCudnn, {"cu12", "cu13"}, "13.0", ask), ElementsAre("cu13", "cu12"));
}

TEST(LibraryVersions, CuptiOfALaterMinorReleaseThanTheDriversIsTakenOnlyForWantOfAnother) {
  const AskVersion ask =
      Says({{"fits", LibraryVersion{"13.0.1", "13.0"}}, {"later", LibraryVersion{"13.2.0", "13.2"}}});
  EXPECT_THAT(Order(VendorLibrary::kCupti, {"later", "fits"}, "13.0", ask), ElementsAre("fits", "later"));
  EXPECT_THAT(Order(VendorLibrary::kCupti, {"fits", "later"}, "13.3", ask), ElementsAre("later", "fits"));
  EXPECT_EQ(RankLibraries(VendorLibrary::kCupti, {"later"}, "13.0", ask)[0].unusable, "");
}

TEST(LibraryVersions, WhatDoesNotLoadComesLastAndWhatDoesNotTellAfterWhatDoes) {
  const AskVersion ask = Says({{"broken", absl::UnavailableError("does not load: no ELF")},
                               {"silent", absl::NotFoundError("nobody to ask")},
                               {"good", LibraryVersion{"9.14.0", "13.0"}}});
  EXPECT_THAT(Order(VendorLibrary::kCudnn, {"broken", "silent", "good"}, "13.0", ask),
              ElementsAre("good", "silent", "broken"));
}

// Folders with fake releases of cuDNN (testing/), as a machine with two has them.
class TwoReleases : public testing::Test {
 protected:
  TwoReleases() {
    Put("linker", "91400");
    Put("packages/nvidia/cudnn/lib", "91900");
    search_.ask_linker = false;
    search_.linker_folders = {(directory_.path() / "linker").string()};
    search_.site_packages = {(directory_.path() / "packages").string()};
    search_.driver_cuda = "13.0";
  }

  void Put(const std::string& folder, const std::string& release) const {
    const fs::path to = directory_.path() / folder;
    fs::create_directories(to);
    for (const char* name : {"libcudnn.so.9", "libcudnn_graph.so.9"}) {
      fs::copy_file(fs::path(FAKE_LIBRARIES) / release / name, to / name, fs::copy_options::overwrite_existing);
    }
  }
  std::string File(const std::string& folder) const { return (directory_.path() / folder / "libcudnn.so.9").string(); }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("two-releases-test");
  VendorSearch search_;
};

TEST_F(TwoReleases, AChildTellsWhichIsWhich) {
  const auto older = AskLibraryVersion(VendorLibrary::kCudnn, File("linker"));
  ASSERT_TRUE(older.ok()) << older.status();
  EXPECT_EQ(older->version, "9.14.0");
  EXPECT_EQ(older->cuda, "13.0");
  const auto newer = AskLibraryVersion(VendorLibrary::kCudnn, File("packages/nvidia/cudnn/lib"));
  ASSERT_TRUE(newer.ok()) << newer.status();
  EXPECT_EQ(newer->version, "9.19.0");
  EXPECT_EQ(newer->cuda, "13.1");
}

TEST_F(TwoReleases, TheNewerIsFoundFirstWhereverItLies) {
  EXPECT_THAT(LocateVendorLibrary(VendorLibrary::kCudnn, search_),
              ElementsAre(File("packages/nvidia/cudnn/lib"), File("linker")));
}

TEST_F(TwoReleases, TheOperatorsFolderDecides) {
  search_.explicit_folders = search_.linker_folders;
  EXPECT_EQ(LocateVendorLibrary(VendorLibrary::kCudnn, search_).front(), File("linker"));
}

TEST_F(TwoReleases, AFileThatIsNoLibraryIsPassedOverWithItsReason) {
  std::ofstream(File("packages/nvidia/cudnn/lib")) << "no library";
  const auto ranked = RankLibraries(VendorLibrary::kCudnn, LocateVendorLibrary(VendorLibrary::kCudnn, search_), "13.0",
                                    AskLibraryVersion);
  EXPECT_EQ(ranked.front().path, File("linker"));
  EXPECT_THAT(ranked.back().unusable, HasSubstr("does not load"));
}

// Loads into this process for good, so that no other test here may.
TEST_F(TwoReleases, TheNewerIsLoadedWithPartsOfItsOwnFolderAndTheReportSaysWhyNotTheOther) {
  const auto loaded = LoadVendorLibrary(VendorLibrary::kCudnn, search_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->path, fs::canonical(File("packages/nvidia/cudnn/lib")));
  EXPECT_EQ(loaded->version, "9.19.0");
  const auto shim = loaded->Symbol<size_t (*)()>("ShimRelease");
  ASSERT_TRUE(shim.ok()) << shim.status();
  EXPECT_EQ((*shim)(), 91900u);
  const std::vector<VendorFinding> findings = FindVendorLibraries(search_);
  EXPECT_EQ(findings[1].version, "9.19.0");
  EXPECT_THAT(findings[1].others,
              ElementsAre(absl::StrCat(fs::canonical(File("linker")).string(), " (9.14.0, for CUDA 13.0)")));
}

TEST(VendorLibraryVersion, RefusesWhatItDoesNotKnow) {
  char program[] = "vendor-library-version", key[] = "cufft", file[] = "/no/file";
  char* arguments[] = {program, key, file};
  EXPECT_EQ(RunVendorLibraryVersion(3, arguments), 2);
}

}  // namespace
}  // namespace sassay
