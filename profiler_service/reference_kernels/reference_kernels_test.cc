#include "profiler_service/reference_kernels/reference_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/workload/catalog.h"
#include "profiler_service/admission/admission.h"

namespace sassay::reference_kernels {
namespace {

using sassay::v1::Workload;
using ::testing::HasSubstr;

constexpr char kDecode[] = "gqa_paged_decode_h4_kv2_d32_ps4/batch_size=6,num_pages=32,len_indptr=7,num_kv_indices=20";

Workload Named(const char* name) { return *WorkloadCatalog::BuiltIn().Resolve(name); }

admission::DeviceFacts Device(const std::string& arch) {
  admission::DeviceFacts device;
  device.arch = arch;
  device.model = arch == "sm_90a" ? "NVIDIA H200" : "NVIDIA B200";
  device.multiprocessors = 132;
  device.memory_bytes = uint64_t{139} << 30;
  return device;
}

std::vector<Workload> Judged() {
  std::vector<Workload> workloads;
  for (const Workload& workload : WorkloadCatalog::BuiltIn().List()) {
    if (workload.reference().rfind("kernel:", 0) == 0) workloads.push_back(workload);
  }
  return workloads;
}

TEST(ReferenceKernels, EveryShippedWorkloadThatNamesOneIsAdmittedOnEveryArchitecture) {
  ASSERT_EQ(Judged().size(), 15u);
  for (const Workload& workload : Judged()) {
    for (const char* arch : {"sm_90a", "sm_100a"}) {
      SCOPED_TRACE(absl::StrCat(workload.name(), " on ", arch));
      const auto bundle = BundleFor(workload, arch);
      ASSERT_TRUE(bundle.ok()) << bundle.status();
      const auto result = admission::Admit(*bundle, workload, admission::Limits(), Device(arch));
      const auto* refused = std::get_if<admission::Rejection>(&result);
      EXPECT_EQ(refused, nullptr) << refused->Line();
    }
  }
}

TEST(ReferenceKernels, EveryNameOfADefinitionHasAKernel) {
  std::set<std::string> used;
  for (const Workload& workload : Judged()) used.insert(workload.reference());
  for (const absl::string_view name : kKernelReferences)
    EXPECT_EQ(used.count(absl::StrCat("kernel:", name)), 1u) << name;
}

TEST(ReferenceKernels, OneWarpWorksOnEachHeadOfEachToken) {
  const auto bundle = BundleFor(Named(kDecode), "sm_90a");
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  sassay::v1::Bundle parsed;
  ASSERT_TRUE(parsed.ParseFromString(*bundle));
  const auto& launch = parsed.plans(0).steady(0).launch();
  EXPECT_EQ(launch.grid().x() * launch.block().x(), 6u * 4 * 32);
  // q, k, v, kv_indptr, kv_indices, kv_last_page_len, output, lse; no qo_indptr.
  EXPECT_EQ(launch.arguments(0).relocations_size(), 8);
}

TEST(ReferenceKernels, ADefinitionOfOnesOwnMayOrderTensorsAsItLikes) {
  const Definition* shipped = WorkloadCatalog::BuiltIn().FindDefinition("gqa_ragged_prefill_causal_h4_kv2_d32");
  // The order of inputs is the order of run()'s parameters: v before k.
  const auto definition = ParseDefinition(absl::StrReplaceAll(
      shipped->canonical_json, {{"\"k\":{\"shape\"", "\"v\":{\"shape\""}, {"\"v\":{\"shape\"", "\"k\":{\"shape\""}}));
  ASSERT_TRUE(definition.ok()) << definition.status();
  ASSERT_EQ(definition->inputs[1].name, "v");
  const auto workload = MakeWorkload(*definition, {{"len_indptr", 6}, {"total_q", 20}, {"total_kv", 32}});
  ASSERT_TRUE(workload.ok()) << workload.status();
  const auto bundle = BundleFor(*workload, "sm_90a");
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  sassay::v1::Bundle parsed;
  ASSERT_TRUE(parsed.ParseFromString(*bundle));
  // Fields in the order of the kernel's struct: q, k, v.
  const auto& relocations = parsed.plans(0).steady(0).launch().arguments(0).relocations();
  EXPECT_EQ(relocations[1].pointer().buffer(), 2u);
  EXPECT_EQ(relocations[2].pointer().buffer(), 1u);
}

std::string Error(const Workload& workload, const char* arch = "sm_90a") {
  return std::string(BundleFor(workload, arch).status().message());
}

TEST(ReferenceKernels, WhatTheyCannotJudgeIsSaid) {
  Workload workload = Named(kDecode);
  workload.mutable_inputs(0)->set_dtype(sassay::v1::DTYPE_FLOAT16);
  EXPECT_THAT(Error(workload), HasSubstr("q is float16, expected bfloat16"));
  workload = Named(kDecode);
  workload.mutable_inputs(2)->set_shape(0, 31);
  EXPECT_THAT(Error(workload), HasSubstr("v_cache is [31,4,2,32], expected [32,4,2,32]"));
  workload = Named(kDecode);
  workload.mutable_inputs(4)->set_name("indices");
  EXPECT_THAT(Error(workload), HasSubstr("kv_indices is missing"));
  workload = Named(kDecode);
  workload.mutable_inputs(0)->set_shape(2, 48);
  EXPECT_THAT(Error(workload), HasSubstr("q is of head size 48, expected a multiple of 32 up to 256"));
  workload = Named(kDecode);
  workload.mutable_inputs(0)->set_shape(0, 5);
  EXPECT_THAT(Error(workload), HasSubstr("kv_indptr is not one longer than q"));
  EXPECT_THAT(Error(Named(kDecode), "sm_80"), HasSubstr("for sm_90a, sm_100a, none for sm_80"));
  EXPECT_FALSE(BundleFor(Named("gemm_n256_k256/M=64"), "sm_90a").ok());
}

}  // namespace
}  // namespace sassay::reference_kernels
