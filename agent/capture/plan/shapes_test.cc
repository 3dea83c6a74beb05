// Every host-code shape that honest candidates use becomes a plan in strict.
#include <gmock/gmock.h>

#include "agent/capture/plan/capture_testing.h"

namespace sassay::capture {
namespace {

namespace v1 = sassay::v1;
using testing::HasSubstr;

class Shapes : public testing::TestWithParam<const char*> {
 protected:
  v1::LaunchPlan Plan(const std::string& entry) {
    const WorkloadCapture capture = CaptureOne(CandidateRequest(GetParam(), entry));
    EXPECT_TRUE(capture.captured()) << capture.verdict.ShortDebugString();
    return capture.plan.value_or(v1::LaunchPlan());
  }
};

// The second build lets the host compiler optimise: padding then holds other left-overs.
INSTANTIATE_TEST_SUITE_P(Builds, Shapes, testing::Values("shapes", "shapes_o2"),
                         [](const auto& info) { return std::string(info.param); });

std::vector<const v1::KernelLaunch*> Launches(const v1::LaunchPlan& plan) {
  std::vector<const v1::KernelLaunch*> launches;
  for (const v1::Step& step : plan.steady()) {
    if (step.has_launch()) launches.push_back(&step.launch());
  }
  return launches;
}

TEST_P(Shapes, PaddedAndPackedStructsKeepTheirPointersAndLoseTheirPadding) {
  const v1::LaunchPlan plan = Plan("structs");
  const auto launches = Launches(plan);
  ASSERT_EQ(launches.size(), 2u);
  ASSERT_EQ(launches[0]->arguments_size(), 4);
  const v1::RelocatableBytes& nested = launches[0]->arguments(0);
  ASSERT_EQ(nested.relocations_size(), 2);
  EXPECT_EQ(nested.relocations(0).at_bytes(), 0u);
  EXPECT_EQ(nested.relocations(0).pointer().buffer(), 0u);  // A
  EXPECT_EQ(nested.relocations(1).pointer().buffer(), 2u);  // C
  EXPECT_EQ(nested.data().substr(9, 7), std::string(7, '\0'));
  ASSERT_EQ(launches[0]->arguments(1).relocations_size(), 1);
  EXPECT_EQ(launches[0]->arguments(1).relocations(0).at_bytes(), 1u);  // packed
  EXPECT_EQ(launches[0]->arguments(2).data(), std::string(1, '\1'));   // bool
  EXPECT_EQ(launches[1]->arguments_size(), 0);
}

TEST_P(Shapes, HeapStructsArePaintedToo) { EXPECT_EQ(Launches(Plan("heap_struct")).size(), 1u); }

TEST_P(Shapes, LaunchAttributesAndOccupancyBecomeData) {
  const v1::LaunchPlan plan = Plan("attributes");
  const auto launches = Launches(plan);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0]->cluster().x(), 4u);
  EXPECT_TRUE(launches[0]->programmatic_stream_serialization());
  EXPECT_FALSE(launches[1]->has_cluster());  // __cluster_dims__ is the cubin's
  ASSERT_EQ(plan.assumptions_size(), 1);
  EXPECT_THAT(plan.assumptions(0).property(), HasSubstr("cudaOccupancyMaxActiveClusters"));
}

TEST_P(Shapes, TensorMapsAreRelocatedInParametersAndInStructs) {
  const v1::LaunchPlan plan = Plan("tensor_maps");
  ASSERT_EQ(plan.tensor_maps_size(), 2);
  EXPECT_EQ(plan.tensor_maps(0).base().buffer(), 0u);
  EXPECT_THAT(plan.tensor_maps(0).global_dim(), testing::ElementsAre(256, 64));
  const auto launches = Launches(plan);
  EXPECT_EQ(launches[0]->arguments(1).relocations(0).tensor_map(), 1u);
  ASSERT_EQ(launches[1]->arguments(0).relocations_size(), 2);
  EXPECT_EQ(launches[1]->arguments(0).relocations(1).at_bytes(), 128u);
}

TEST_P(Shapes, TensorMapsCopiedToTheDeviceAreRelocatedInTheUpload) {
  const v1::LaunchPlan plan = Plan("maps_copied");
  ASSERT_EQ(plan.setup_size(), 1);
  EXPECT_TRUE(plan.setup(0).has_allocate());
  ASSERT_TRUE(plan.steady(0).has_upload());
  EXPECT_EQ(plan.steady(0).upload().bytes().relocations_size(), 2);
}

TEST_P(Shapes, TensorMapsUploadedToSymbolsAreRelocatedWhereTheyLie) {
  const v1::LaunchPlan plan = Plan("maps_uploaded");
  ASSERT_EQ(plan.steady_size(), 4);
  ASSERT_EQ(plan.tensor_maps_size(), 2);
  EXPECT_EQ(plan.tensor_maps(1).base().buffer(), 1u);
  EXPECT_EQ(plan.tensor_maps(1).base().offset_bytes(), 64u * 256 * 2);
  const std::vector<std::pair<std::string, uint64_t>> places = {
      {"constant_maps", 0}, {"constant_maps", 128}, {"device_map", 0}};
  for (int i = 0; i < 3; ++i) {
    const v1::Upload& upload = plan.steady(i).upload();
    const v1::Buffer& symbol = plan.buffers(static_cast<int>(upload.destination().buffer()));
    EXPECT_EQ(symbol.kind(), v1::BUFFER_KIND_SYMBOL);
    EXPECT_EQ(symbol.name(), places[static_cast<size_t>(i)].first);
    EXPECT_EQ(upload.destination().offset_bytes(), places[static_cast<size_t>(i)].second);
    ASSERT_EQ(upload.bytes().relocations_size(), 1);
    EXPECT_EQ(upload.bytes().relocations(0).tensor_map(), i == 0 ? 0u : 1u);
  }
}

TEST_P(Shapes, ClustersOfALaunchTakeTensorMapsToo) {
  const v1::LaunchPlan plan = Plan("clusters_with_maps");
  const auto launches = Launches(plan);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0]->cluster().x(), 2u);
  EXPECT_EQ(launches[0]->dynamic_shared_bytes(), 200u * 1024);
  EXPECT_EQ(launches[0]->arguments(0).relocations(0).tensor_map(), 0u);
  EXPECT_EQ(launches[1]->cluster().x(), 16u);  // more than is portable, allowed by an attribute
  ASSERT_EQ(launches[1]->arguments(0).relocations_size(), 2);
  EXPECT_EQ(launches[1]->arguments(0).relocations(0).tensor_map(), 1u);
  EXPECT_EQ(launches[1]->arguments(0).relocations(1).tensor_map(), 0u);
}

TEST_P(Shapes, AClusterRequiredAtRunTimeIsNamedByTheLaunch) {
  const v1::LaunchPlan plan = Plan("required_cluster");
  const auto launches = Launches(plan);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0]->cluster().x(), 2u);
  EXPECT_EQ(launches[0]->cluster().y(), 1u);
}

// glibc's stack canary is random, and would be in the padding.
TEST_P(Shapes, WhatPrintfLeavesOnTheStackIsTheSameInEveryProcess) {
  const v1::LaunchPlan plan = Plan("prints_first");
  EXPECT_EQ(Launches(plan).size(), 2u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Plan("prints_first").SerializeAsString(), plan.SerializeAsString());
}

TEST_P(Shapes, LongWorkOnTheDefaultStreamKeepsFewDependencies) {
  const v1::LaunchPlan plan = Plan("default_stream");
  ASSERT_EQ(plan.steady_size(), 402);
  EXPECT_THAT(plan.steady(1).depends_on(), testing::ElementsAre(0));
  EXPECT_THAT(plan.steady(401).depends_on(), testing::ElementsAre(400));
}

TEST_P(Shapes, SetupStepsKeepTheirOrderOverStepsThatAreLeftOut) {
  const v1::LaunchPlan plan = Plan("ordered_setup");
  ASSERT_EQ(plan.setup_size(), 3);
  ASSERT_EQ(plan.steady_size(), 1);
  EXPECT_TRUE(plan.setup(1).has_memset());
  EXPECT_NE(plan.setup(2).stream(), plan.setup(1).stream());
  EXPECT_THAT(plan.setup(2).depends_on(), testing::ElementsAre(1));
}

TEST_P(Shapes, FreeMemoryIsTheSameInEveryCall) {
  const v1::LaunchPlan plan = Plan("memory_info");
  ASSERT_EQ(plan.steady_size(), 3);
  const v1::Buffer& workspace = plan.buffers(static_cast<int>(plan.steady(0).allocate().buffer()));
  EXPECT_GT(workspace.size_bytes(), uint64_t{64} << 30);
  EXPECT_EQ(plan.assumptions_size(), 2);
}

TEST_P(Shapes, WhatReallocHandsOutIsPaintedTheOtherWay) {
  const v1::LaunchPlan plan = Plan("reallocated");
  const auto launches = Launches(plan);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0]->arguments(0).data().substr(9, 7), std::string(7, '\0'));
}

TEST_P(Shapes, AFreedPointerThatMayBePaddingIsNullAndAWarning) {
  const v1::LaunchPlan plan = Plan("keeps_freed_pointer");
  const auto launches = Launches(plan);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0]->arguments(0).relocations_size(), 0);
  EXPECT_EQ(launches[0]->arguments(0).data().substr(0, 8), std::string(8, '\0'));
  EXPECT_THAT(plan.warnings(), testing::Contains(HasSubstr("256 bytes that was freed")));
}

TEST_P(Shapes, AHostPointerThatMayBePaddingIsAWarning) {
  const v1::LaunchPlan plan = Plan("keeps_host_pointer");
  EXPECT_THAT(plan.warnings(),
              testing::Contains(HasSubstr("take_inner: parameter 1 holds a pointer into page-locked host memory")));
}

TEST_P(Shapes, HarmlessQuestionsAreAnswered) { EXPECT_EQ(Launches(Plan("queries")).size(), 1u); }

TEST_P(Shapes, LeftOverHostAddressesArePadding) {
  const v1::LaunchPlan plan = Plan("leftover_host_address");
  const auto launches = Launches(plan);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0]->arguments(0).data()[8], 1);
}

TEST_P(Shapes, ReadingTheClockIsAWarning) {
  EXPECT_THAT(Plan("reads_clock").warnings(), testing::ElementsAre(HasSubstr("host code reads the clock (time)")));
}

TEST_P(Shapes, TheDriversLaunchKnowsClusters) {
  const v1::LaunchPlan plan = Plan("driver_clusters");
  const auto launches = Launches(plan);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0]->cluster().y(), 2u);
  EXPECT_EQ(launches[0]->arguments(1).relocations(0).tensor_map(), 1u);
}

TEST_P(Shapes, AllocationsOfACallStayInTheCall) {
  const v1::LaunchPlan plan = Plan("pipeline");
  EXPECT_EQ(plan.setup_size(), 0);
  EXPECT_EQ(plan.steady_size(), 7);
  ASSERT_EQ(plan.buffers_size(), 5);
  EXPECT_EQ(plan.buffers(3).kind(), v1::BUFFER_KIND_CALL_ALLOCATION);
  EXPECT_EQ(plan.buffers(3).size_bytes(), 4096u);
  if (std::string(GetParam()) == "shapes") {  // the other build inlines cudaMalloc's template
    EXPECT_THAT(plan.buffers(3).source_line(), HasSubstr("shapes.cu:"));
  }
  EXPECT_THAT(plan.warnings(), testing::Contains(HasSubstr("2 allocation(s)")));
}

TEST_P(Shapes, TemplatesStaticAnonymousAndLambdaKernelsHaveTheirSymbols) {
  const auto plan = Plan("kernel_kinds");
  const auto launches = Launches(plan);
  ASSERT_EQ(launches.size(), 4u);
  EXPECT_THAT(launches[0]->kernel(), HasSubstr("templated"));
  EXPECT_THAT(launches[2]->kernel(), HasSubstr("anonymous_kernel"));
  EXPECT_EQ(launches[3]->arguments(0).relocations_size(), 2);
}

TEST_P(Shapes, CooperativeLaunchesSaySo) {
  const auto plan = Plan("cooperative");
  ASSERT_EQ(Launches(plan).size(), 1u);
  EXPECT_TRUE(Launches(plan)[0]->cooperative());
}

TEST_P(Shapes, SymbolsAreBuffersAndTheirUploadsAreRelocated) {
  const v1::LaunchPlan plan = Plan("symbols");
  int symbols = 0, relocated = 0;
  for (const auto& buffer : plan.buffers()) symbols += buffer.kind() == v1::BUFFER_KIND_SYMBOL ? 1 : 0;
  for (const auto& step : plan.steady()) relocated += step.upload().bytes().relocations_size();
  EXPECT_EQ(symbols, 3);
  EXPECT_EQ(relocated, 1);
}

TEST_P(Shapes, StreamsAndEventsBecomeDependencies) {
  const v1::LaunchPlan plan = Plan("streams");
  ASSERT_EQ(plan.steady_size(), 4);
  EXPECT_EQ(plan.steady(1).stream(), 1u);
  EXPECT_THAT(plan.steady(1).depends_on(), testing::ElementsAre(0));
  EXPECT_EQ(plan.steady(2).stream(), 0u);
  EXPECT_EQ(plan.steady(2).depends_on_size(), 0);
  EXPECT_THAT(plan.steady(3).depends_on(), testing::ElementsAre(1));
}

TEST_P(Shapes, PointerArraysInDeviceMemoryAreRelocated) {
  const v1::LaunchPlan plan = Plan("pointers_in_memory");
  ASSERT_TRUE(plan.steady(1).has_upload());
  EXPECT_EQ(plan.steady(1).upload().bytes().relocations_size(), 3);
}

TEST_P(Shapes, TheDriverApiLaunchesTheSame) {
  const auto plan = Plan("driver_api");
  const auto launches = Launches(plan);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0]->arguments(1).relocations(0).pointer().buffer(), 2u);
  EXPECT_EQ(launches[1]->arguments(2).data(), std::string("\6\0\0\0", 4));
}

TEST_P(Shapes, StaticSemaphoresAreSetUpOnce) {
  const v1::LaunchPlan plan = Plan("split_k");
  EXPECT_EQ(plan.setup_size(), 3);
  ASSERT_EQ(plan.steady_size(), 1);
  EXPECT_EQ(plan.steady(0).launch().grid().x(), 132u);
  bool assumed = false;
  for (const auto& assumption : plan.assumptions()) {
    assumed |= assumption.property() == "cudaDevAttrMultiProcessorCount" && assumption.value() == 132;
  }
  EXPECT_TRUE(assumed);
}

TEST_P(Shapes, AWorkspaceFreedAtTheNextCallIsAnAllocationOfTheCall) {
  const v1::LaunchPlan plan = Plan("growing_workspace");
  EXPECT_EQ(plan.setup_size(), 0);
  ASSERT_EQ(plan.steady_size(), 2);
  EXPECT_TRUE(plan.steady(0).has_allocate());
}

TEST(Capture, LaunchesKnowTheirSourceLine) {
  const WorkloadCapture capture = CaptureOne(CandidateRequest("shapes", "heap_struct"));
  ASSERT_TRUE(capture.captured()) << capture.verdict.ShortDebugString();
  EXPECT_THAT(capture.plan->steady(0).source_line(), testing::MatchesRegex("shapes.cu:[0-9]+"));
}

TEST(Capture, TheSameCandidateGivesTheSamePlan) {
  for (const char* entry : {"structs", "heap_struct", "split_k", "pipeline"}) {
    const auto first = CaptureOne(CandidateRequest("shapes", entry)),
               second = CaptureOne(CandidateRequest("shapes", entry));
    ASSERT_TRUE(first.captured() && second.captured());
    EXPECT_EQ(first.plan->SerializeAsString(), second.plan->SerializeAsString()) << entry;
  }
}

TEST(Capture, SeveralWorkloadsGetAPlanEachFromAFreshProcess) {
  CaptureRequest request = CandidateRequest("shapes", "split_k");
  request.workloads.push_back(*WorkloadCatalog::BuiltIn().Resolve("gemm_n256_k256/M=256"));
  const auto result = Capture(request);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->workloads.size(), 2u);
  for (const WorkloadCapture& capture : result->workloads) {
    ASSERT_TRUE(capture.captured()) << capture.verdict.ShortDebugString();
    EXPECT_EQ(capture.plan->setup_size(), 3);
  }
  EXPECT_EQ(result->workloads[1].plan->buffers(0).size_bytes(), 256u * 256 * 2);
}

TEST(Capture, RefusesAGpuModelOfAnotherArch) {
  CaptureRequest request = CandidateRequest("shapes", "split_k");
  request.device_model = "NVIDIA B200";
  EXPECT_EQ(Capture(request).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sassay::capture
