#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/workload/catalog.h"
#include "profiler_service/judge/baseline/shapes.h"
#include "profiler_service/judge/baseline/testing/workloads.h"

namespace sassay::judge {
namespace {

using sassay::v1::Workload;
using ::testing::HasSubstr;

Workload BuiltIn(const char* name) { return *WorkloadCatalog::BuiltIn().Resolve(name); }

TEST(GemmShape, IsThatOfTheDefinition) {
  const auto shape = GemmShapeOf(BuiltIn("gemm_n7168_k5120/M=232"));
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->m, 232);
  EXPECT_EQ(shape->n, 7168);
  EXPECT_EQ(shape->k, 5120);
}

TEST(GemmShape, RefusesTensorsThatAreNoProduct) {
  Workload workload = GemmWorkload(64, 32, 16);
  workload.mutable_inputs(1)->set_shape(1, 17);
  const absl::Status status = GemmShapeOf(workload).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("needs B as bfloat16[32,16], got bfloat16[32,17]"));
  workload.mutable_inputs()->RemoveLast();
  EXPECT_EQ(GemmShapeOf(workload).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(GemmShape, TakesHalfPrecisionAlone) {
  Workload workload = GemmWorkload(64, 32, 16);
  workload.mutable_outputs(0)->set_dtype(sassay::v1::DTYPE_FLOAT32);
  EXPECT_TRUE(GemmShapeOf(workload).ok());
  workload.mutable_outputs(0)->set_dtype(sassay::v1::DTYPE_INT32);
  EXPECT_EQ(GemmShapeOf(workload).status().code(), absl::StatusCode::kUnimplemented);
  for (auto& input : *workload.mutable_inputs()) input.set_dtype(sassay::v1::DTYPE_FLOAT32);
  EXPECT_EQ(GemmShapeOf(workload).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(AttentionShape, TakesMaskAndDirectionFromTheReference) {
  for (const char* name : {"mha_with_lse_d128", "mha_with_lse_d128_causal", "mha_bwd_d128", "mha_bwd_d128_causal"}) {
    const auto shape = AttentionShapeOf(BuiltIn(absl::StrCat(name, "/B=4,H=48,S=512").c_str()));
    ASSERT_TRUE(shape.ok()) << shape.status();
    EXPECT_EQ(shape->batch, 4);
    EXPECT_EQ(shape->heads, 48);
    EXPECT_EQ(shape->sequence, 512);
    EXPECT_EQ(shape->head_size, 128);
    EXPECT_EQ(shape->causal, absl::StrContains(name, "causal")) << name;
    EXPECT_EQ(shape->backward, absl::StrContains(name, "bwd")) << name;
  }
}

TEST(AttentionShape, RefusesAnOperatorItDoesNotKnowAndTensorsThatDoNotFit) {
  Workload workload = AttentionWorkload({1, 2, 256, 64, sassay::v1::DTYPE_BFLOAT16, true, true});
  workload.mutable_outputs(2)->set_shape(2, 128);
  EXPECT_EQ(AttentionShapeOf(workload).status().code(), absl::StatusCode::kInvalidArgument);
  workload.set_reference("bundle:sha256:00");
  EXPECT_EQ(AttentionShapeOf(workload).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace sassay::judge
