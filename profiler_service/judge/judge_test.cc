#include "profiler_service/judge/judge.h"

#include <sys/mman.h>

#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/judge/numerics/element.h"
#include "profiler_service/judge/testing/memory_device.h"

namespace sassay::judge {
namespace {

using sassay::worker::JudgeReply;
using sassay::worker::JudgeRequest;
using testing::HasSubstr;

// A candidate's view of one buffer: the mapping a runner would have.
class Mapping {
 public:
  Mapping(const sassay::worker::SharedRegion& region, int fd) : region_(region) {
    base_ = static_cast<char*>(mmap(nullptr, region.object_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  }
  Mapping(Mapping&& other) noexcept : region_(other.region_), base_(std::exchange(other.base_, nullptr)) {}
  ~Mapping() {
    if (base_ != nullptr) munmap(base_, region_.object_bytes());
  }
  char* data() { return base_ + region_.offset_bytes(); }
  size_t size() const { return region_.size_bytes(); }
  std::string Bytes() { return std::string(data(), size()); }

 private:
  sassay::worker::SharedRegion region_;
  char* base_;
};

class JudgeTest : public testing::Test {
 protected:
  static constexpr uint64_t kCase = 5, kKept = 6;

  JudgeTest() : workload_(*WorkloadCatalog::BuiltIn().Resolve("gemm_n256_k256/M=64")) {
    options_.catalog = &WorkloadCatalog::BuiltIn();
    options_.threads = 2;
    judge_ = std::make_unique<Judge>(device_, options_, 64 << 20);
  }

  JudgeReply Ask(const JudgeRequest& request) {
    std::vector<int> descriptors;
    JudgeReply reply = judge_->Handle(request, descriptors);
    if (request.has_prepare() && reply.error().empty()) {
      mappings_.clear();
      for (const auto& region : reply.regions()) mappings_.emplace_back(region, descriptors[region.memory()]);
    }
    return reply;
  }

  JudgeReply Prepare(uint64_t seed, const std::string& distribution, uint64_t id = kCase,
                     const std::vector<uint64_t>& twins = {}) {
    JudgeRequest request;
    request.mutable_prepare()->mutable_twins()->Assign(twins.begin(), twins.end());
    request.set_case_id(id);
    *request.mutable_prepare()->mutable_workload() = workload_;
    request.mutable_prepare()->set_seed(seed);
    request.mutable_prepare()->set_distribution(distribution);
    for (const char* name : {"A", "B", "C"}) {
      auto* need = request.mutable_prepare()->add_needs();
      need->set_buffer(request.prepare().needs_size() - 1);
      need->set_tensor(name);
      need->set_output(*name == 'C');
      need->set_size_bytes(*name == 'B' ? 256 * 256 * 2 : 64 * 256 * 2);
    }
    return Ask(request);
  }

  JudgeReply Refill(uint64_t seed, const std::string& distribution) {
    JudgeRequest request;
    request.set_case_id(kCase);
    request.mutable_refill()->set_seed(seed);
    request.mutable_refill()->set_distribution(distribution);
    return Ask(request);
  }

  JudgeReply Keep() {
    JudgeRequest request;
    request.set_case_id(kCase);
    request.mutable_keep()->set_as(kKept);
    return Ask(request);
  }

  JudgeReply Compare(uint64_t id = kCase) {
    JudgeRequest request;
    request.set_case_id(id);
    request.mutable_compare();
    return Ask(request);
  }

  // The honest kernel.
  void RunGemm() {
    const auto a = DecodeFloats(sassay::v1::DTYPE_BFLOAT16, mappings_[0].Bytes());
    const auto b = DecodeFloats(sassay::v1::DTYPE_BFLOAT16, mappings_[1].Bytes());
    for (int i = 0; i < 64; ++i) {
      for (int j = 0; j < 256; ++j) {
        float sum = 0;
        for (int k = 0; k < 256; ++k) sum += a[i * 256 + k] * b[j * 256 + k];
        StoreElement(sassay::v1::DTYPE_BFLOAT16, sum, mappings_[2].data() + (i * 256 + j) * 2);
      }
    }
  }

  const sassay::v1::Workload workload_;
  StateOptions options_;
  MemoryDevice device_;
  std::unique_ptr<Judge> judge_;
  std::vector<Mapping> mappings_;
};

TEST_F(JudgeTest, AcceptsTheRightOutput) {
  ASSERT_EQ(Prepare(1, "normal").error(), "");
  RunGemm();
  const JudgeReply reply = Compare();
  ASSERT_EQ(reply.error(), "");
  EXPECT_TRUE(reply.numerics().passed()) << reply.DebugString();
  EXPECT_EQ(reply.findings_size(), 0);
  EXPECT_EQ(reply.numerics().worst_distribution(), "normal");
}

TEST_F(JudgeTest, UnwrittenOutputIsPoisonAndIsCounted) {
  Prepare(1, "normal");
  const JudgeReply reply = Compare();
  EXPECT_FALSE(reply.numerics().passed());
  EXPECT_EQ(reply.numerics().outputs(0).unwritten(), reply.numerics().outputs(0).wrong());
  EXPECT_GT(reply.numerics().outputs(0).unwritten(), 15000u);
}

TEST_F(JudgeTest, OutputOfAnEarlierFillDoesNotPass) {
  Prepare(1, "normal");
  RunGemm();
  ASSERT_EQ(Refill(2, "normal").error(), "");
  EXPECT_GT(Compare().numerics().outputs(0).unwritten(), 0u);
  RunGemm();
  EXPECT_TRUE(Compare().numerics().passed());
}

TEST_F(JudgeTest, WhatWasKeptIsComparedWhenTheCaseHasOtherContents) {
  Prepare(1, "normal");
  RunGemm();
  mappings_[0].data()[3] ^= 1;
  ASSERT_EQ(Keep().error(), "");
  ASSERT_EQ(Refill(2, "normal").error(), "");
  const JudgeReply kept = Compare(kKept);
  EXPECT_TRUE(kept.numerics().passed()) << kept.DebugString();
  ASSERT_EQ(kept.findings_size(), 1) << "the input that had changed by then";
  EXPECT_THAT(kept.findings(0).message(), HasSubstr("input A was written: 1 bytes differ"));
  ASSERT_EQ(Keep().error(), "");
  EXPECT_GT(Compare(kKept).numerics().outputs(0).unwritten(), 15000u) << "in the earlier one's place";
}

TEST_F(JudgeTest, NothingIsKeptOfACaseThatIsNotThere) {
  EXPECT_EQ(Keep().trouble(), sassay::worker::JUDGE_TROUBLE_NO_CASE);
  EXPECT_EQ(Compare(kKept).trouble(), sassay::worker::JUDGE_TROUBLE_NO_CASE);
}

TEST_F(JudgeTest, PoisonDiffersFromFillToFillWithTheSameSeed) {
  Prepare(1, "normal");
  const std::string first = mappings_[2].Bytes();
  Refill(1, "normal");
  EXPECT_NE(first, mappings_[2].Bytes());
}

TEST_F(JudgeTest, SeesAStorePastTheEndAndSaysHowFar) {
  Prepare(1, "normal");
  RunGemm();
  mappings_[2].data()[mappings_[2].size() + 6] ^= 1;
  const JudgeReply reply = Compare();
  ASSERT_EQ(reply.findings_size(), 1);
  EXPECT_EQ(reply.findings(0).code(), sassay::v1::VERDICT_CODE_GUARD_BAND);
  EXPECT_EQ(reply.findings(0).buffer(), "C");
  EXPECT_EQ(reply.findings(0).distance_bytes(), 6);
}

TEST_F(JudgeTest, SeesAStoreBeforeTheStart) {
  Prepare(1, "normal");
  RunGemm();
  mappings_[2].data()[-4] ^= 1;
  const JudgeReply reply = Compare();
  ASSERT_EQ(reply.findings_size(), 1);
  EXPECT_EQ(reply.findings(0).distance_bytes(), -4);
}

TEST_F(JudgeTest, SeesAModifiedInputAndNamesTheElement) {
  Prepare(1, "normal");
  RunGemm();
  mappings_[0].data()[(3 * 256 + 9) * 2] ^= 1;
  const JudgeReply reply = Compare();
  ASSERT_EQ(reply.findings_size(), 1);
  EXPECT_EQ(reply.findings(0).code(), sassay::v1::VERDICT_CODE_INPUT_MODIFIED);
  EXPECT_THAT(reply.findings(0).message(), HasSubstr("A[3,9]"));
}

TEST_F(JudgeTest, SameSeedGivesTheSameInputsAndTheSameWorstElement) {
  Prepare(7, "outliers");
  const std::string inputs = mappings_[0].Bytes();
  std::memset(mappings_[2].data(), 0, mappings_[2].size());
  const JudgeReply first = Compare();
  Prepare(7, "outliers");
  EXPECT_EQ(inputs, mappings_[0].Bytes());
  std::memset(mappings_[2].data(), 0, mappings_[2].size());
  EXPECT_EQ(first.SerializeAsString(), Compare().SerializeAsString());
}

TEST_F(JudgeTest, SaysWhetherInputsAndAnswersWereThereAlready) {
  EXPECT_EQ(Prepare(7, "normal").state_origin(), sassay::worker::STATE_ORIGIN_MADE);
  EXPECT_EQ(Refill(8, "normal").state_origin(), sassay::worker::STATE_ORIGIN_MADE);
  EXPECT_EQ(Refill(7, "normal").state_origin(), sassay::worker::STATE_ORIGIN_KEPT);
  EXPECT_EQ(Compare().state_origin(), sassay::worker::STATE_ORIGIN_NONE);
}

TEST_F(JudgeTest, AReplayFindsTheSamePoisonInWhatWasNeverWritten) {
  Prepare(7, "normal");
  Refill(8, "normal");
  const JudgeReply first = Compare();
  Prepare(7, "normal");
  Refill(8, "normal");
  EXPECT_EQ(first.SerializeAsString(), Compare().SerializeAsString());
}

TEST_F(JudgeTest, DroppedCasesFreeTheirMemory) {
  Prepare(1, "normal");
  Prepare(1, "normal", 6);
  EXPECT_EQ(device_.objects(), 6u);
  for (uint64_t id : {kCase, uint64_t{6}}) {
    JudgeRequest request;
    request.set_case_id(id);
    request.mutable_drop();
    EXPECT_EQ(Ask(request).error(), "");
  }
  EXPECT_EQ(device_.objects(), 0u);
  EXPECT_EQ(Compare().trouble(), sassay::worker::JUDGE_TROUBLE_NO_CASE);
}

TEST_F(JudgeTest, RefusesAReferenceThatWouldTakeTooLongBeforeAnythingIsAllocated) {
  options_.reference_limit_seconds = 0.001;
  options_.multiply_adds_per_second = 1e6;
  judge_ = std::make_unique<Judge>(device_, options_, 64 << 20);
  const JudgeReply reply = Prepare(1, "normal");
  EXPECT_EQ(reply.trouble(), sassay::worker::JUDGE_TROUBLE_REFERENCE_TOO_LONG);
  EXPECT_THAT(reply.error(), HasSubstr("would take about 4 s"));
  EXPECT_EQ(device_.objects(), 0u);
}

TEST_F(JudgeTest, OnAGpuTwinsLieInOneObjectAndLiveUntilTheLastOneIsDropped) {
  device_.set_kind("cuda");
  const JudgeReply reply = Prepare(1, "normal", kCase, {kKept});
  ASSERT_EQ(reply.error(), "");
  ASSERT_EQ(reply.regions_size(), 6);
  EXPECT_EQ(device_.objects(), 1u);
  uint64_t least = kGuardBytes, end = 0;
  for (const auto& region : reply.regions()) {
    EXPECT_EQ(region.memory(), 0u);
    EXPECT_EQ(region.offset_bytes() % (2 << 20), kGuardBytes) << "as in an object of its own";
    EXPECT_GE(region.offset_bytes(), least);
    end = region.offset_bytes() + region.size_bytes();
    least = end + 2 * kGuardBytes;
  }
  EXPECT_LE(end + kGuardBytes, reply.regions(0).object_bytes());
  RunGemm();
  EXPECT_EQ(Compare().error(), "");
  EXPECT_EQ(Compare(kKept).error(), "");
  JudgeRequest request;
  request.mutable_drop();
  request.set_case_id(kCase);
  Ask(request);
  EXPECT_EQ(device_.objects(), 1u);
  request.set_case_id(kKept);
  Ask(request);
  EXPECT_EQ(device_.objects(), 0u);
}

TEST_F(JudgeTest, ElsewhereEveryTensorOfATwinIsAnObject) {
  const JudgeReply reply = Prepare(1, "normal", kCase, {kKept});
  ASSERT_EQ(reply.error(), "");
  EXPECT_EQ(reply.regions(5).memory(), 5u);
  EXPECT_EQ(device_.objects(), 6u);
}

TEST_F(JudgeTest, AStrayStoreIntoAnyGuardOfASharedObjectIsTheBuffersOwn) {
  device_.set_kind("cuda");
  for (const int buffer : {0, 1, 2}) {
    ASSERT_EQ(Prepare(1, "normal").error(), "");
    ASSERT_EQ(Refill(2, "normal").error(), "");
    RunGemm();
    Mapping& stray = mappings_[static_cast<size_t>(buffer)];
    stray.data()[stray.size() + 70'000] ^= 1;
    const JudgeReply reply = Compare();
    ASSERT_EQ(reply.findings_size(), 1) << buffer;
    EXPECT_EQ(reply.findings(0).buffer(), std::string(1, "ABC"[buffer]));
    EXPECT_EQ(reply.findings(0).distance_bytes(), 70'000);
  }
}

TEST_F(JudgeTest, NewGuardsHaveOtherBytesAndAreGuardsStill) {
  ASSERT_EQ(Prepare(1, "normal").error(), "");
  const auto guard = [this] { return std::string(mappings_[0].data() - 64, 64); };
  const std::string before = guard();
  JudgeRequest request;
  request.set_case_id(kCase);
  request.mutable_refill()->set_seed(1);
  request.mutable_refill()->set_distribution("normal");
  request.mutable_refill()->set_new_guards(true);
  ASSERT_EQ(Ask(request).error(), "");
  EXPECT_NE(guard(), before);
  RunGemm();
  EXPECT_TRUE(Compare().findings().empty());
  mappings_[0].data()[-1] ^= 1;
  EXPECT_EQ(Compare().findings_size(), 1);
}

// Memory that somebody else holds says nothing about the candidate or its size.
TEST_F(JudgeTest, ADeviceWithoutMemoryIsTroubleOfItsOwnKind) {
  device_.objects_left = 1;
  const JudgeReply reply = Prepare(1, "normal");
  EXPECT_EQ(reply.trouble(), sassay::worker::JUDGE_TROUBLE_OTHER);
  EXPECT_THAT(reply.error(), HasSubstr("no memory left"));
  EXPECT_EQ(device_.objects(), 0u);
}

TEST_F(JudgeTest, RefusesANeedThatIsNoTensorOfTheWorkload) {
  JudgeRequest request;
  *request.mutable_prepare()->mutable_workload() = workload_;
  request.mutable_prepare()->set_distribution("normal");
  auto* need = request.mutable_prepare()->add_needs();
  need->set_tensor("A");
  need->set_size_bytes(12);
  EXPECT_EQ(Ask(request).trouble(), sassay::worker::JUDGE_TROUBLE_OTHER);
}

TEST_F(JudgeTest, RefusesADefinitionThatIsNotItsOwn) {
  sassay::v1::Workload other = workload_;
  other.set_definition_sha256("forged");
  JudgeRequest request;
  *request.mutable_prepare()->mutable_workload() = other;
  request.mutable_prepare()->set_distribution("normal");
  EXPECT_EQ(Ask(request).trouble(), sassay::worker::JUDGE_TROUBLE_OTHER);
}

TEST(WorkloadState, AReferenceThatNobodyWaitsForIsGivenUpAndCanBeComputedAfterAll) {
  StateOptions options;
  options.catalog = &WorkloadCatalog::BuiltIn();
  StateCache cache(options, 1 << 30);
  const auto state = *cache.Get(*WorkloadCatalog::BuiltIn().Resolve("gemm_n256_k256/M=64"), 1, "normal");
  const std::atomic<bool> stop{true};
  EXPECT_EQ(state->ExpectedOutputs(&stop).status().code(), absl::StatusCode::kCancelled);
  const auto expected = state->ExpectedOutputs();
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ((*expected)->at(0).values.size(), 64u * 256);
}

TEST_F(JudgeTest, AComparisonMadeBesideTheJudgesThreadIsTheSame) {
  Prepare(7, "normal");
  std::memset(mappings_[2].data(), 0, mappings_[2].size());
  JudgeRequest request;
  request.set_case_id(kCase);
  request.mutable_compare();
  const std::atomic<bool> go_on{false};
  const auto made = judge_->Prework(request)(go_on);
  std::memset(mappings_[2].data(), 1, mappings_[2].size());  // what comes after the look does not count
  const JudgeReply beside = Ask(request);
  std::memset(mappings_[2].data(), 0, mappings_[2].size());
  EXPECT_EQ(beside.SerializeAsString(), Ask(request).SerializeAsString());
  EXPECT_FALSE(beside.numerics().passed());
}

TEST(StateCache, ForgetsWhatWasUsedLongestAgo) {
  StateOptions options;
  options.catalog = &WorkloadCatalog::BuiltIn();
  const auto workload = *WorkloadCatalog::BuiltIn().Resolve("gemm_n256_k256/M=64");
  StateCache cache(options, 400 << 10);  // one state has 160 KiB of inputs
  const auto first = *cache.Get(workload, 1, "normal");
  cache.Get(workload, 2, "normal").IgnoreError();
  EXPECT_EQ(*cache.Get(workload, 1, "normal"), first);
  cache.Get(workload, 3, "normal").IgnoreError();
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(*cache.Get(workload, 1, "normal"), first);
}

// reference_kernels_test has the others.
TEST(Judge, EveryShippedBuiltinReferenceAcceptsItsShapes) {
  int builtin = 0;
  for (const auto& workload : WorkloadCatalog::BuiltIn().List()) {
    if (workload.reference().rfind("builtin:", 0) != 0) continue;
    ++builtin;
    EXPECT_TRUE(MakeReference(workload).ok()) << workload.name();
  }
  EXPECT_EQ(builtin, 20);
}

TEST_F(JudgeTest, ADeviceThatRunsNoKernelsOfOursHasNoCanary) {
  JudgeRequest request;
  request.mutable_canary();
  const JudgeReply reply = Ask(request);
  EXPECT_THAT(reply.error(), HasSubstr("has no canary"));
  EXPECT_EQ(reply.trouble(), sassay::worker::JUDGE_TROUBLE_OTHER);
  EXPECT_FALSE(reply.has_canary());
}

}  // namespace
}  // namespace sassay::judge
