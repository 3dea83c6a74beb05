#include "profiler_service/wire/gpu_nodes.h"

#include <gtest/gtest.h>

#include "common/base/files.h"

namespace sassay::wire {
namespace {

namespace fs = std::filesystem;

class GpuNodesTest : public testing::Test {
 protected:
  void AddGpu(const std::string& bus_id, int minor, const std::string& uuid, bool node) {
    const fs::path folder = root() / "proc/driver/nvidia/gpus" / bus_id;
    fs::create_directories(folder);
    fs::create_directories(root() / "dev");
    ASSERT_TRUE(WriteFileAtomically(folder / "information", "Model: \t\t NVIDIA H200\nIRQ:   \t\t 31\nGPU UUID: \t " +
                                                                uuid + "\nBus Location: \t " + bus_id +
                                                                "\nDevice Minor: \t " + std::to_string(minor) + "\n")
                    .ok());
    if (!node) return;
    ASSERT_TRUE(WriteFileAtomically(root() / "dev" / ("nvidia" + std::to_string(minor)), "").ok());
  }
  const fs::path& root() const { return directory_->path(); }

  absl::StatusOr<TemporaryDirectory> directory_ = TemporaryDirectory::Create("gpu_nodes_test");
};

TEST_F(GpuNodesTest, MachineWithoutDriverHasNoGpus) { EXPECT_TRUE(ListGpuNodes(root()).empty()); }

TEST_F(GpuNodesTest, GpusComeInPciOrderWithTheNodeThatTheDriverNames) {
  AddGpu("0000:3b:00.0", 0, "GPU-b", true);
  AddGpu("0000:1b:00.0", 5, "GPU-a", true);
  const auto gpus = ListGpuNodes(root());
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].uuid, "GPU-a");
  EXPECT_EQ(gpus[0].node, (root() / "dev/nvidia5").string());
  EXPECT_EQ(gpus[0].model, "NVIDIA H200");
  EXPECT_EQ(gpus[1].uuid, "GPU-b");
}

TEST_F(GpuNodesTest, GpuOfAnotherJobIsLeftOut) {
  AddGpu("0000:1b:00.0", 0, "GPU-a", false);
  AddGpu("0000:3b:00.0", 1, "GPU-b", true);
  const auto gpus = ListGpuNodes(root());
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(gpus[0].uuid, "GPU-b");
}

TEST_F(GpuNodesTest, GpuIsFoundByIndexAndByUuidAndNothingElse) {
  AddGpu("0000:1b:00.0", 0, "GPU-a", true);
  AddGpu("0000:3b:00.0", 1, "GPU-b", true);
  EXPECT_EQ(FindGpu("cuda:1", root())->uuid, "GPU-b");
  EXPECT_EQ(FindGpu("cuda:GPU-a", root())->bus_id, "0000:1b:00.0");
  EXPECT_FALSE(FindGpu("cuda:2", root()).has_value());
  EXPECT_FALSE(FindGpu("cuda:GPU-c", root()).has_value());
  EXPECT_FALSE(FindGpu("emulated:sm_90a", root()).has_value());
}

TEST_F(GpuNodesTest, StableNameStillMeansTheSameGpuWhenAnotherOneIsLost) {
  AddGpu("0000:1b:00.0", 0, "GPU-a", true);
  AddGpu("0000:3b:00.0", 1, "GPU-b", true);
  const std::string second = StableName("cuda:1", root());
  EXPECT_EQ(second, "cuda:GPU-b");
  fs::remove(root() / "dev/nvidia0");
  EXPECT_EQ(FindGpu(second, root())->node, (root() / "dev/nvidia1").string());
  EXPECT_EQ(StableName(second, root()), second);
}

TEST_F(GpuNodesTest, WhatIsNoGpuOfThisHostKeepsItsName) {
  EXPECT_EQ(StableName("cuda:7", root()), "cuda:7");
  EXPECT_EQ(StableName("emulated:sm_90a", root()), "emulated:sm_90a");
}

}  // namespace
}  // namespace sassay::wire
