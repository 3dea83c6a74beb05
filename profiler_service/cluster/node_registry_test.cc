#include "profiler_service/cluster/node_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "common/base/files.h"
#include "profiler_service/store/sqlite/sqlite_store.h"
#include "profiler_service/store/testing/forwarding_store.h"

namespace sassay::cluster {
namespace {

using testing::HasSubstr;

sassay::v1::NodeFacts With(const std::vector<std::string>& gpus) {
  sassay::v1::NodeFacts facts;
  for (const std::string& gpu : gpus) facts.add_gpus()->set_uuid(gpu);
  return facts;
}

class NodeRegistryTest : public testing::Test {
 protected:
  NodeRegistry AnotherFrontEnd() {
    return NodeRegistry(*store_, [this] { return now_; });
  }
  std::vector<std::string> Living() {
    std::vector<std::string> names;
    for (const auto& node : AnotherFrontEnd().Living()) names.push_back(node->name);
    return names;
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("node_registry_test");
  const std::unique_ptr<store::Store> store_ = *store::OpenSqliteStore(directory_.path() / "db");
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  NodeRegistry registry_{*store_, [this] { return now_; }};
};

TEST_F(NodeRegistryTest, WhatOneFrontEndWasToldAnotherKnows) {
  ASSERT_TRUE(registry_.Register("pool/a", "i", With({"GPU-1"})).ok());
  EXPECT_THAT(Living(), testing::ElementsAre("pool/a"));
  EXPECT_TRUE(AnotherFrontEnd().IsOfLivingNode("GPU-1"));
  EXPECT_FALSE(AnotherFrontEnd().IsOfLivingNode("GPU-2"));
  EXPECT_TRUE(AnotherFrontEnd().Find("pool/a", "i").ok());
  EXPECT_TRUE(absl::IsNotFound(AnotherFrontEnd().Find("pool/a", "j").status()));
  EXPECT_TRUE(absl::IsNotFound(AnotherFrontEnd().Find("other/a", "i").status()));
}

TEST_F(NodeRegistryTest, ANodeLivesWhileItIsHeardOf) {
  ASSERT_TRUE(registry_.Register("pool/a", "i", With({"GPU-1"})).ok());
  now_ += NodeRegistry::kSilence - absl::Seconds(1);
  ASSERT_TRUE(AnotherFrontEnd().Beat("pool/a", "i", false).ok());
  now_ += NodeRegistry::kSilence - absl::Seconds(1);
  EXPECT_THAT(Living(), testing::SizeIs(1));
  now_ += absl::Seconds(1);
  EXPECT_THAT(Living(), testing::IsEmpty());
  EXPECT_THAT(AnotherFrontEnd().Known(), testing::SizeIs(1));
  now_ += NodeRegistry::kForgotten;
  EXPECT_THAT(AnotherFrontEnd().Known(), testing::IsEmpty());
  registry_.KeepHouse();
  EXPECT_THAT(*store_->Nodes(), testing::IsEmpty());
}

TEST_F(NodeRegistryTest, ANameAndAGpuBelongToOneLivingProcess) {
  ASSERT_TRUE(registry_.Register("pool/a", "i", With({"GPU-1"})).ok());
  const absl::Status same_name = AnotherFrontEnd().Register("pool/a", "j", With({"GPU-2"}));
  EXPECT_TRUE(absl::IsAlreadyExists(same_name));
  EXPECT_THAT(std::string(same_name.message()), HasSubstr("--node-name"));
  const absl::Status same_gpu = AnotherFrontEnd().Register("pool/b", "j", With({"GPU-2", "GPU-1"}));
  EXPECT_TRUE(absl::IsAlreadyExists(same_gpu));
  EXPECT_THAT(std::string(same_gpu.message()), HasSubstr("pool/a"));
  EXPECT_TRUE(registry_.Register("pool/a", "i", With({"GPU-1", "GPU-3"})).ok()) << "the same process again";
  now_ += NodeRegistry::kSilence;
  EXPECT_TRUE(AnotherFrontEnd().Register("pool/a", "j", With({"GPU-1"})).ok());
  EXPECT_TRUE(absl::IsNotFound(registry_.Beat("pool/a", "i", false))) << "its name was taken over";
}

// As where one host's node was started under another name while the old process was paused.
TEST_F(NodeRegistryTest, ASilentNodeWhoseGpuIsAnothersNowMustComeAgain) {
  ASSERT_TRUE(registry_.Register("pool/a", "i", With({"GPU-1"})).ok());
  now_ += NodeRegistry::kSilence;
  ASSERT_TRUE(AnotherFrontEnd().Register("pool/b", "j", With({"GPU-1"})).ok());
  EXPECT_TRUE(absl::IsNotFound(registry_.Beat("pool/a", "i", false)));
  EXPECT_TRUE(absl::IsNotFound(AnotherFrontEnd().Find("pool/a", "i").status()));
  EXPECT_THAT(Living(), testing::ElementsAre("pool/b"));
  EXPECT_TRUE(absl::IsAlreadyExists(registry_.Register("pool/a", "i", With({"GPU-1"}))));
  ASSERT_TRUE(AnotherFrontEnd().Leave("pool/b", "j").ok());
  EXPECT_TRUE(registry_.Register("pool/a", "i", With({"GPU-1"})).ok());
  EXPECT_THAT(Living(), testing::ElementsAre("pool/a"));
}

TEST_F(NodeRegistryTest, ASilentNodeThatLostNothingGoesOn) {
  ASSERT_TRUE(registry_.Register("pool/a", "i", With({"GPU-1"})).ok());
  now_ += NodeRegistry::kSilence;
  ASSERT_TRUE(AnotherFrontEnd().Register("pool/b", "j", With({"GPU-2"})).ok());
  EXPECT_TRUE(registry_.Beat("pool/a", "i", false).ok());
  EXPECT_THAT(Living(), testing::ElementsAre("pool/a", "pool/b"));
}

// A store whose first PutNode comes after another front end has let a node in.
class Overtaken : public store::ForwardingStore {
 public:
  Overtaken(store::Store& real, std::function<void()> first) : ForwardingStore(real), first_(std::move(first)) {}
  absl::Status PutNode(const store::NodeRecord& node) override {
    if (first_ != nullptr) std::exchange(first_, nullptr)();
    return ForwardingStore::PutNode(node);
  }

 private:
  std::function<void()> first_;
};

TEST_F(NodeRegistryTest, TwoFrontEndsDoNotLetInOneGpuTwice) {
  Overtaken overtaken(*store_, [this] { ASSERT_TRUE(registry_.Register("pool/a", "i", With({"GPU-1"})).ok()); });
  NodeRegistry late(overtaken, [this] { return now_; });
  const absl::Status second = late.Register("pool/b", "j", With({"GPU-1"}));
  EXPECT_TRUE(absl::IsAlreadyExists(second)) << second;
  EXPECT_THAT(std::string(second.message()), HasSubstr("pool/a"));
  EXPECT_THAT(Living(), testing::ElementsAre("pool/a"));
  EXPECT_TRUE(registry_.Beat("pool/a", "i", false).ok());
  EXPECT_TRUE(absl::IsNotFound(late.Beat("pool/b", "j", false)));
}

TEST_F(NodeRegistryTest, WhoeverLeavesIsKnownAndMakesRoomAtOnce) {
  ASSERT_TRUE(registry_.Register("pool/a", "i", With({"GPU-1"})).ok());
  ASSERT_TRUE(registry_.Leave("pool/a", "i").ok());
  ASSERT_TRUE(registry_.Leave("pool/a", "i").ok());
  EXPECT_THAT(Living(), testing::IsEmpty());
  EXPECT_THAT(AnotherFrontEnd().Known(), testing::SizeIs(1));
  EXPECT_TRUE(absl::IsNotFound(AnotherFrontEnd().Find("pool/a", "").status()) ||
              AnotherFrontEnd().Find("pool/a", "")->get()->instance.empty());
  EXPECT_TRUE(AnotherFrontEnd().Register("pool/b", "j", With({"GPU-1"})).ok());
}

TEST_F(NodeRegistryTest, EmulatedGpusCarryTheNameOfTheirNode) {
  EXPECT_TRUE(registry_.Register("pool/a", "i", With({"emulated:sm_90a#0@a"})).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(registry_.Register("pool/b", "j", With({"emulated:sm_90a#0@a"}))));
  EXPECT_TRUE(absl::IsInvalidArgument(registry_.Register("pool/b", "j", With({"emulated:sm_90a#0"}))));
}

TEST_F(NodeRegistryTest, WhatANodeSaysOfItselfIsBounded) {
  EXPECT_TRUE(absl::IsInvalidArgument(registry_.Register("pool/a", "i", With({}))));
  EXPECT_TRUE(absl::IsInvalidArgument(registry_.Register("pool/a", "i", With({"GPU-1", "GPU-1"}))));
  EXPECT_TRUE(absl::IsInvalidArgument(registry_.Register("pool/a", "i", With({std::string(200, 'x')}))));
  EXPECT_TRUE(absl::IsInvalidArgument(registry_.Register("pool/a", "i", With(std::vector<std::string>(65, "x")))));
  sassay::v1::NodeFacts large = With({"GPU-1"});
  large.set_host(std::string(70'000, 'x'));
  EXPECT_TRUE(absl::IsInvalidArgument(registry_.Register("pool/a", "i", large)));
}

}  // namespace
}  // namespace sassay::cluster
