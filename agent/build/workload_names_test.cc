#include "agent/build/workload_names.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;

TEST(SplitWorkloadNamesTest, AxesStayWithTheirName) {
  EXPECT_THAT(SplitWorkloadNames("a/M=1,N=2,b/M=3"), ElementsAre("a/M=1,N=2", "b/M=3"));
  EXPECT_THAT(SplitWorkloadNames("a, b/M=3 ,,"), ElementsAre("a", "b/M=3"));
  EXPECT_THAT(SplitWorkloadNames("M=3"), ElementsAre("M=3"));
  EXPECT_THAT(SplitWorkloadNames(""), ElementsAre());
}

TEST(ResolveWorkloadTest, DefinitionAloneMeansItsFirstSuggestedSize) {
  EXPECT_EQ(ResolveWorkload(WorkloadCatalog::BuiltIn(), "gemm_n256_k256")->name(), "gemm_n256_k256/M=256");
  EXPECT_EQ(ResolveWorkload(WorkloadCatalog::BuiltIn(), "gemm_n256_k256/M=32")->name(), "gemm_n256_k256/M=32");
  EXPECT_FALSE(ResolveWorkload(WorkloadCatalog::BuiltIn(), "nothing").ok());
}

}  // namespace
}  // namespace sassay::agent
