#include "profiler_service/api/ports/cluster/cluster_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/bundle/bundle.h"

namespace sassay::api {
namespace {

using sassay::v1::GetCapabilitiesResponse;
using testing::AllOf;
using testing::HasSubstr;

cluster::NodeRegistry::NodePtr NodeOf(const std::string& name, const std::vector<std::string>& gpus,
                                      const std::string& model, const std::string& arch,
                                      const std::string& toolkit = "13.0") {
  auto node = std::make_shared<cluster::Node>();
  node->name = name;
  node->facts.set_provenance_toolkit(toolkit);
  node->facts.set_sassay_version("0.1.0");
  for (const std::string& uuid : gpus) {
    sassay::v1::NodeGpu& gpu = *node->facts.add_gpus();
    gpu.set_uuid(uuid);
    gpu.mutable_device()->set_model(model);
    gpu.mutable_device()->set_driver_version("580.1");
    gpu.mutable_device()->add_archs(arch);
  }
  return node;
}

std::string BundleFor(const std::string& arch) {
  sassay::v1::Bundle bundle;
  bundle.set_source_sha256(std::string(32, 's'));
  bundle.mutable_compilation()->set_arch(arch);
  return SerializeBundle(bundle)->substr(0, kPeekBytes);
}

const Nodes kNodes = {NodeOf("pool/a", {"GPU-1", "GPU-2"}, "NVIDIA H200", "sm_90a"),
                      NodeOf("pool/b", {"GPU-3"}, "NVIDIA B200", "sm_100a"),
                      NodeOf("pool/c", {"GPU-4"}, "NVIDIA H200", "sm_90a")};

TEST(ClusterDevices, CapabilitiesAreTheUnionOfAllNodes) {
  GetCapabilitiesResponse capabilities;
  capabilities.add_devices()->set_model("own");
  AddDevices(kNodes, capabilities);
  ASSERT_EQ(capabilities.devices_size(), 5);
  EXPECT_EQ(capabilities.devices(0).node(), "");
  EXPECT_EQ(capabilities.devices(1).node(), "pool/a");
  EXPECT_EQ(capabilities.devices(3).model(), "NVIDIA B200");
  EXPECT_EQ(capabilities.devices(3).node(), "pool/b");
  EXPECT_EQ(capabilities.provenance_toolkit(), "13.0");
}

TEST(ClusterDevices, NodesThatDifferInTheirToolkitPromiseNone) {
  GetCapabilitiesResponse capabilities;
  AddDevices({kNodes[0], NodeOf("pool/d", {"GPU-5"}, "NVIDIA H200", "sm_90a", "")}, capabilities);
  EXPECT_EQ(capabilities.provenance_toolkit(), "");
}

TEST(ClusterDevices, AGpuIsNamedWithItsNodeAndWhatRunsThere) {
  sassay::v1::Gpu gpu, unknown;
  gpu.set_uuid("GPU-3");
  AddNode(kNodes, gpu);
  EXPECT_EQ(gpu.node(), "pool/b");
  EXPECT_EQ(gpu.sassay_version(), "0.1.0");
  EXPECT_EQ(gpu.driver_version(), "580.1");
  unknown.set_uuid("GPU-9");
  AddNode(kNodes, unknown);
  EXPECT_EQ(unknown.node(), "");
}

TEST(ClusterDevices, ABundleWaitsInThePoolOfItsArchitecture) {
  EXPECT_EQ(*PoolFor(BundleFor("sm_90a"), "", {}, kNodes), "sm_90a");
  EXPECT_EQ(*PoolFor(BundleFor("sm_100a"), "NVIDIA B200", {}, kNodes), "sm_100a");
  GetCapabilitiesResponse own;
  own.add_devices()->add_archs("sm_80");
  EXPECT_EQ(*PoolFor(BundleFor("sm_80"), "", own, kNodes), "sm_80");
}

TEST(ClusterDevices, WhatNoNodeRunsIsRefusedWithWhatItWouldTake) {
  const absl::Status arch = PoolFor(BundleFor("sm_120a"), "", {}, kNodes).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(arch)) << arch;
  EXPECT_THAT(std::string(arch.message()),
              AllOf(HasSubstr("one that runs sm_120a"), HasSubstr("1 × NVIDIA B200 (sm_100a) on pool/b"),
                    HasSubstr("3 × NVIDIA H200 (sm_90a) on pool/a and 1 other nodes")));
  const absl::Status model = PoolFor(BundleFor("sm_90a"), "NVIDIA B200", {}, kNodes).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(model)) << model;
  EXPECT_THAT(std::string(model.message()), HasSubstr("one of model 'NVIDIA B200' that runs sm_90a"));
}

TEST(ClusterDevices, WhatNoDriverRunsIsRefusedInWords) {
  sassay::v1::Bundle bundle;
  bundle.mutable_compilation()->set_arch("sm_90a");
  bundle.mutable_compilation()->set_toolkit_version("13.0.88");
  const std::string bytes = *SerializeBundle(bundle);
  GetCapabilitiesResponse own;
  sassay::v1::DeviceCapability& gpu = *own.add_devices();
  gpu.add_archs("sm_90a");
  gpu.set_driver_version("570.86.10");
  gpu.set_cuda_version("12.8");
  const absl::Status refused = PoolFor(bytes, "", own, {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("CUDA 13.0, which needs driver 580 or newer"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--cuda 12.8"));
  EXPECT_EQ(*PoolFor(bytes, "", own, kNodes), "sm_90a") << "nodes that do not tell may run it";
}

TEST(ClusterDevices, WhereNoNodeHasJoinedYetOneTriesAgain) {
  EXPECT_TRUE(absl::IsUnavailable(PoolFor(BundleFor("sm_90a"), "", {}, {}).status()));
}

TEST(ClusterDevices, WhatIsNoBundleGoesToSomePoolAndAdmissionSaysWhatItIs) {
  EXPECT_EQ(*PoolFor("nonsense", "", {}, kNodes), "sm_90a");
  EXPECT_EQ(*PoolFor("nonsense", "NVIDIA B200", {}, kNodes), "sm_100a");
  EXPECT_TRUE(absl::IsFailedPrecondition(PoolFor("nonsense", "NVIDIA A100", {}, kNodes).status()));
}

}  // namespace
}  // namespace sassay::api
