#include "common/toolchain/vendor_libraries.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "common/base/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A machine of which nothing is known but what a test puts there.
class VendorLibraries : public testing::Test {
 protected:
  VendorLibraries() {
    search_.ask_linker = false;
    search_.explicit_folders = {Folder("explicit")};
    search_.linker_folders = {Folder("linker")};
    search_.toolkits = {Folder("toolkit")};
    search_.site_packages = {Folder("packages")};
  }

  std::string Folder(const std::string& below) const { return (directory_.path() / below).string(); }

  std::string Put(const std::string& below, const std::string& content = "no library") {
    const fs::path path = directory_.path() / below;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << content;
    chmod(path.c_str(), 0755);
    return path.string();
  }

  // A library that loads on every machine, under a vendor's name.
  std::string PutLibrary(const std::string& below) {
    const fs::path path = directory_.path() / below;
    fs::create_directories(path.parent_path());
    fs::copy_file(LibM(), path);
    return path.string();
  }

  VendorSearch search_;

 private:
  // The C library's own mathematics: a real shared object without dependencies of its own.
  static fs::path LibM() {
    void* handle = dlopen("libm.so.6", RTLD_NOW);
    Dl_info info = {};
    dladdr(dlsym(handle, "cos"), &info);
    return fs::canonical(info.dli_fname);
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("vendor-libraries-test");
};

TEST_F(VendorLibraries, AreLookedForInTheOrderOfTheManual) {
  const std::string wheel = Put("packages/nvidia/cudnn/lib/libnvidia-ml.so.1", "1");
  const std::string toolkit = Put("toolkit/targets/x86_64-linux/lib/libnvidia-ml.so.1", "2");
  const std::string linker = Put("linker/libnvidia-ml.so.1", "3");
  const std::string explicit_one = Put("explicit/libnvidia-ml.so.1", "4");
  EXPECT_THAT(LocateVendorLibrary(VendorLibrary::kNvml, search_), ElementsAre(explicit_one, linker, toolkit, wheel));
}

TEST_F(VendorLibraries, TheOperatorsFolderDecidesEvenOverANewerAbi) {
  const std::string asked_for = Put("explicit/libcublasLt.so.12");
  const std::string newer = Put("packages/nvidia/cu13/lib/libcublasLt.so.13");
  EXPECT_THAT(LocateVendorLibrary(VendorLibrary::kCublasLt, search_), ElementsAre(asked_for, newer));
}

TEST_F(VendorLibraries, TheSameFileUnderTwoNamesIsOneLibrary) {
  const std::string file = Put("linker/libcudnn.so.9");
  fs::create_directories(Folder("toolkit"));
  fs::create_directory_symlink(Folder("linker"), Folder("toolkit/lib64"));
  EXPECT_THAT(LocateVendorLibrary(VendorLibrary::kCudnn, search_), ElementsAre(file));
}

TEST_F(VendorLibraries, TheNewestToolIsTaken) {
  Put("toolkit/bin/ncu", "#!/bin/sh\necho 'Version 2025.3.1.0 (build 1)'\n");
  const std::string newer = Put("packages/nvidia/ncu/bin/ncu", "#!/bin/sh\necho 'Version 2025.10.0.0 (build 1)'\n");
  EXPECT_EQ(FindVendorTool("ncu", search_).value_or(""), newer);
}

TEST_F(VendorLibraries, AToolOfALaterCudaThanTheDriversDoesNotWin) {
  const std::string fits = Put("cuda-13.0/bin/ncu", "#!/bin/sh\necho 'Version 2025.3.1.0 (build 1)'\n");
  Put("cuda-14.0/bin/ncu", "#!/bin/sh\necho 'Version 2027.1.0.0 (build 1)'\n");
  search_.toolkits = {Folder("cuda-14.0"), Folder("cuda-13.0")};
  search_.driver_cuda = "13.0";
  EXPECT_EQ(FindVendorTool("ncu", search_).value_or(""), fits);
}

TEST_F(VendorLibraries, TheToolOfTheToolkitThatWasAskedForDecides) {
  search_.explicit_toolkit = Folder("mine");
  const std::string mine = Put("mine/bin/ncu", "#!/bin/sh\necho 'Version 2024.1.0.0 (build 1)'\n");
  Put("toolkit/bin/ncu", "#!/bin/sh\necho 'Version 2025.3.1.0 (build 1)'\n");
  EXPECT_EQ(FindVendorTool("ncu", search_).value_or(""), mine);
}

TEST_F(VendorLibraries, WhatIsNowhereSaysWhatMendsIt) {
  EXPECT_THAT(LocateVendorLibrary(VendorLibrary::kCudnn, search_), IsEmpty());
  const absl::Status status = LoadVendorLibrary(VendorLibrary::kCudnn, search_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("pip install nvidia-cudnn-cu13"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("SASSAY_CUDA_LIBRARY_PATH"));
}

TEST_F(VendorLibraries, AFileThatIsNoLibraryIsPassedOver) {
  Put("linker/libnvidia-ml.so.1");
  const std::string good = PutLibrary("toolkit/lib64/libnvidia-ml.so.1");
  const auto loaded = LoadVendorLibrary(VendorLibrary::kNvml, search_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->path, good);
  EXPECT_TRUE(loaded->Symbol<double (*)(double)>("cos").ok());
  EXPECT_EQ(loaded->Symbol<void (*)()>("nvmlNoSuchThing").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(VendorLibraries, TheOperatorsFolderIsNotPassedOver) {
  const std::string broken = Put("explicit/libcupti.so.13");
  PutLibrary("toolkit/extras/CUPTI/lib64/libcupti.so.13");
  const absl::Status status = LoadVendorLibrary(VendorLibrary::kCupti, search_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr(broken));
}

TEST_F(VendorLibraries, TheReportHasALineForEachThingFoundOrNot) {
  PutLibrary("toolkit/lib64/libnvidia-ml.so.1");
  const std::string other = PutLibrary("packages/nvidia/cu13/lib/libnvidia-ml.so.1");
  const std::string sanitizer =
      Put("toolkit/compute-sanitizer/compute-sanitizer", "#!/bin/sh\necho 'Version 2025.3.1.0 (build 1)'\n");
  const std::vector<VendorFinding> findings = FindVendorLibraries(search_);
  ASSERT_EQ(findings.size(), 8u);
  for (const VendorFinding& finding : findings) {
    EXPECT_FALSE(finding.purpose.empty()) << finding.name;
    EXPECT_EQ(finding.path.empty(), !finding.missing.empty()) << finding.name;
    EXPECT_EQ(finding.path.empty(), finding.name != "NVML" && finding.name != "compute-sanitizer") << finding.name;
  }
  EXPECT_THAT(findings[3].others, ElementsAre(other + " (found later)"));
  EXPECT_EQ(findings[4].path, sanitizer);
  EXPECT_EQ(findings[4].version, "2025.3.1.0");
}

TEST(VendorLibrariesHere, TellTheirVersions) {
  int found = 0;
  for (const VendorLibrary library :
       {VendorLibrary::kCublasLt, VendorLibrary::kCudnn, VendorLibrary::kNvrtc, VendorLibrary::kCudart}) {
    const auto loaded = LoadVendorLibrary(library);
    if (!loaded.ok()) continue;
    ++found;
    EXPECT_THAT(loaded->version, testing::MatchesRegex("[1-9][0-9]*\\.[0-9]+(\\.[0-9]+)?")) << loaded->path;
  }
  if (found == 0) GTEST_SKIP() << "this machine has none of NVIDIA's libraries";
}

}  // namespace
}  // namespace sassay
