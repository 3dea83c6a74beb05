#include "common/toolchain/toolchain.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/base/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A folder laid out like a toolkit whose tools print `version`.
class FakeToolkit {
 public:
  explicit FakeToolkit(std::initializer_list<const char*> tools, const std::string& version = "12.9.86") {
    fs::create_directories(root() / "bin");
    for (const char* tool : tools) {
      fs::path path = root() / "bin" / tool;
      std::ofstream(path) << "#!/bin/sh\necho 'Cuda compilation tools, release 12.9, V" << version << "'\n";
      chmod(path.c_str(), 0755);
    }
  }
  fs::path root() const { return directory_.path() / "toolkit"; }

 private:
  TemporaryDirectory directory_ = *TemporaryDirectory::Create("toolchain-test");
};

TEST(ParseToolVersion, ReadsWhatTheToolsPrint) {
  EXPECT_EQ(
      ParseToolVersion("nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\nBuild x")
          .value(),
      "13.0.88");
  EXPECT_EQ(ParseToolVersion("NVIDIA (R) Compute Sanitizer\nVersion 2025.3.1.0 (build 1)").value(), "2025.3.1.0");
  EXPECT_FALSE(ParseToolVersion("").ok());
  EXPECT_FALSE(ParseToolVersion("hello, Vxyz").ok());
}

TEST(FindToolchain, TakesTheHomeAskedFor) {
  FakeToolkit kit({"ptxas", "nvcc", "nvdisasm"});
  auto found = FindToolchain({kit.root().string(), true});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->root, kit.root().string());
  EXPECT_EQ(found->version, "12.9.86");
  EXPECT_EQ(found->nvcc, (kit.root() / "bin/nvcc").string());
  EXPECT_EQ(found->nvdisasm, (kit.root() / "bin/nvdisasm").string());
  EXPECT_EQ(found->cuobjdump, "");
}

TEST(FindToolchain, GoesOnWithoutNvcc) {
  FakeToolkit kit({"ptxas"});
  auto found = FindToolchain({kit.root().string(), true});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->nvcc, "");
  EXPECT_THAT(found->missing, ::testing::Contains(HasSubstr("nvidia-cuda-nvdisasm")));
}

TEST(FindToolchain, RefusesAnExplicitHomeWithoutPtxas) {
  FakeToolkit kit({"nvcc"});
  auto found = FindToolchain({kit.root().string()});
  EXPECT_EQ(found.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(found.status().message()), HasSubstr(kit.root().string()));
}

TEST(FindToolchain, HonoursTheEnvironmentBeforeTheUsualPlaces) {
  FakeToolkit kit({"ptxas"}, "99.1.2");
  setenv("SASSAY_CUDA_HOME", kit.root().c_str(), 1);
  auto found = FindToolchain();
  setenv("SASSAY_CUDA_HOME", "/no/such/folder", 1);
  auto wrong = FindToolchain();
  unsetenv("SASSAY_CUDA_HOME");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->version, "99.1.2");
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("SASSAY_CUDA_HOME is /no/such/folder"));
}

TEST(FindToolchain, SkipsAToolkitWhosePtxasDoesNotRun) {
  FakeToolkit broken({}), good({"ptxas"});
  std::ofstream(broken.root() / "bin/ptxas") << "#!/bin/sh\nexit 1\n";
  chmod((broken.root() / "bin/ptxas").c_str(), 0755);
  setenv("CUDA_HOME", broken.root().c_str(), 1);
  auto found = FindToolchain({good.root().string()});
  auto only = FindToolchain({broken.root().string(), true});
  unsetenv("CUDA_HOME");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->root, good.root().string());
  EXPECT_THAT(std::string(only.status().message()), HasSubstr("no CUDA toolkit"));
}

TEST(FindToolchain, FindsTheToolkitOfThisMachine) {
  auto found = FindToolchain();
  if (!found.ok()) GTEST_SKIP() << found.status().message();
  EXPECT_TRUE(fs::exists(found->ptxas));
  EXPECT_THAT(found->version, ::testing::ContainsRegex("[0-9]+[.][0-9]+[.][0-9]+"));
}

TEST(ToolMounts, ShowTheToolkitAtAFixedPlace) {
  Toolchain toolchain;
  toolchain.root = "/opt/cuda-13";
  toolchain.nvcc = "/opt/cuda-13/bin/nvcc";
  toolchain.nvdisasm = "/home/me/.venv/cuda/bin/nvdisasm";
  EXPECT_EQ(ToolInside(toolchain, toolchain.nvcc), "/cuda/bin/nvcc");
  EXPECT_THAT(ToolMounts(toolchain, toolchain.nvcc), ::testing::ElementsAre(::testing::Pair("/opt/cuda-13", "/cuda")));
  EXPECT_THAT(ToolMounts(toolchain, toolchain.nvdisasm),
              ::testing::ElementsAre(::testing::Pair("/home/me/.venv/cuda/bin/nvdisasm", "/tools/nvdisasm")));
}

}  // namespace
}  // namespace sassay
