// Executed SASS on a real GPU, counted by profiler-runner as the service starts it: sandboxed, in a process of its own.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/toolchain/toolchain.h"
#include "gmock/gmock.h"
#include "profiler_service/evidence/sass_summary.h"
#include "tests/workers/runner_fixture.h"

namespace sassay::runner {
namespace {

using sassay::v1::Evidence;
using ::testing::HasSubstr;

constexpr double kFlopsOfOne = 2.0 * 64 * 8 * 16;

class EvidenceGpuTest : public RunnerFixture {
 protected:
  EvidenceGpuTest() : RunnerFixture("cuda:0") {}

  void SetUp() override {
    if (const std::string reason = device::cuda::WhyNoGpu(); !reason.empty()) GTEST_SKIP() << reason;
    RunnerFixture::SetUp();
    if (judge_->info().arch != "sm_90a") GTEST_SKIP() << "the kernels are for sm_90a, this is " << judge_->info().arch;
    const auto toolchain = FindToolchain();
    if (!toolchain.ok() || toolchain->nvdisasm.empty()) GTEST_SKIP() << "no nvdisasm here";
    const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "counted_kernels.cubin";
    const auto cubin = ReadFile(path);
    ASSERT_TRUE(cubin.ok()) << cubin.status();
    cubin_ = *cubin;
    const AllowUnsandboxed unsandboxed{"the test's own cubin"};
    auto code = DisassembleWithLines(*toolchain, cubin_, absl::Seconds(30), &unsandboxed);
    ASSERT_TRUE(code.ok()) << code.status();
    code_ = *std::move(code);
  }

  // One launch of 4 blocks of 128 threads for each kernel named.
  v1::Bundle BundleOf(const std::vector<std::string>& kernels, int times) {
    v1::Bundle bundle = BundleLaunching(kernels[0], Pointer(1) + Int(times), 4, 128);
    for (size_t i = 1; i < kernels.size(); ++i) {
      *bundle.mutable_plans(0)->add_steady() =
          BundleLaunching(kernels[i], Pointer(1) + Int(times), 4, 128).plans(0).steady(0);
    }
    bundle.set_cubin(cubin_);
    return bundle;
  }

  absl::StatusOr<worker::RunnerReply> RunCounted(const v1::Bundle& bundle) {
    auto runner = pool_->Acquire(device_, worker::RUN_MODE_COUNTED, absl::Now() + absl::Seconds(60));
    if (!runner.ok()) return runner.status();
    const auto loaded = (*runner)->Load(bundle, worker::RUN_MODE_COUNTED);
    if (!loaded.ok() || loaded->outcome() != worker::RUN_OUTCOME_OK) return loaded;
    crc_ = loaded->sass_counts().cubin_crc();
    for (const auto& reply : {(*runner)->Bind(regions_, descriptors_), (*runner)->Setup(1, absl::Seconds(20))}) {
      if (!reply.ok() || reply->outcome() != worker::RUN_OUTCOME_OK) return reply;
    }
    return (*runner)->Steady(2, absl::Seconds(20));
  }

  Evidence Count(const std::vector<std::string>& kernels, int times, double flop) {
    const v1::Bundle bundle = BundleOf(kernels, times);
    const auto reply = RunCounted(bundle);
    EXPECT_TRUE(reply.ok()) << reply.status();
    if (!reply.ok()) return {};
    EXPECT_EQ(reply->outcome(), worker::RUN_OUTCOME_OK) << reply->message();
    EXPECT_EQ(reply->sass_counts().unavailable(), "");
    EXPECT_NE(crc_, 0u);
    const auto launches = evidence::JoinCounts({reply->sass_counts(), crc_, bundle.plans(0), code_, {}, 1e15});
    EXPECT_TRUE(launches.ok()) << launches.status();
    return launches.ok() ? evidence::SummarizeSass(*launches, code_, flop, "H") : Evidence();
  }

  std::string cubin_;
  Disassembly code_;
  uint64_t crc_ = 0;
};

TEST_F(EvidenceGpuTest, EveryWarpgroupMultiplyIsCounted) {
  const Evidence evidence = Count({"multiplies"}, 10, kFlopsOfOne * 10 * 4);
  EXPECT_EQ(evidence.status(), Evidence::DYNAMIC_PRESENT);
  EXPECT_EQ(evidence.opcodes(0).opcode(), "HGMMA.64x8x16.F32.BF16");
  EXPECT_EQ(evidence.opcodes(0).warp_count(), 4u * 4 * 10);
  EXPECT_EQ(evidence.opcodes(0).thread_count(), 4u * 128 * 10);
  EXPECT_DOUBLE_EQ(evidence.tensor_core_flop_share(), 1.0);
}

TEST_F(EvidenceGpuTest, BranchThatIsNeverTakenIsNotExecuted) {
  const Evidence evidence = Count({"might_multiply"}, 10, kFlopsOfOne);
  EXPECT_EQ(evidence.status(), Evidence::DYNAMIC_NOT_EXECUTED);
  EXPECT_DOUBLE_EQ(evidence.tensor_core_flop_share(), 0.0);
  EXPECT_GT(evidence.thread_instructions(), 0u);
}

TEST_F(EvidenceGpuTest, EachLaunchHasItsOwnCounts) {
  const Evidence evidence = Count({"adds", "multiplies", "adds", "multiplies"}, 3, kFlopsOfOne * 3 * 4 * 2);
  ASSERT_EQ(evidence.launches_size(), 4);
  for (const int adds : {0, 2}) {
    EXPECT_TRUE(evidence.launches(adds).family_thread_counts().empty());
    EXPECT_EQ(evidence.launches(adds).warp_instructions(), evidence.launches(0).warp_instructions());
  }
  for (const int multiplies : {1, 3}) {
    EXPECT_EQ(evidence.launches(multiplies).family_thread_counts().at("GMMA"), 4u * 128 * 3);
  }
  EXPECT_DOUBLE_EQ(evidence.tensor_core_flop_share(), 1.0);
}

TEST_F(EvidenceGpuTest, PredicateTrueThreadsAreCountedAndNotWholeWarps) {
  const Evidence evidence = Count({"adds"}, 1, 0);
  uint64_t stores = 0;
  for (const v1::OpcodeCount& count : evidence.opcodes()) {
    if (absl::StartsWith(count.opcode(), "STG")) stores += count.thread_count();
  }
  EXPECT_EQ(stores, 4u * 64);
}

TEST_F(EvidenceGpuTest, HotInstructionsHaveTheirSourceLines) {
  const v1::Bundle bundle = BundleOf({"multiplies"}, 50);
  const auto reply = RunCounted(bundle);
  ASSERT_TRUE(reply.ok()) << reply.status();
  const auto launches = evidence::JoinCounts({reply->sass_counts(), crc_, bundle.plans(0), code_, {}, 1e15});
  ASSERT_TRUE(launches.ok()) << launches.status();
  const auto hot = evidence::HottestInstructions(*launches, 8);
  ASSERT_EQ(hot.size(), 8u);
  EXPECT_EQ(hot[0].source_file, "counted_kernels.cu");
  EXPECT_GT(hot[0].source_line, 0u);
}

TEST_F(EvidenceGpuTest, FaultUnderCountingIsAFault) {
  const auto reply = RunCounted(BundleOf({"adds", "faults"}, 1));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->outcome(), worker::RUN_OUTCOME_FAULT);
  EXPECT_THAT(reply->message(), HasSubstr("faults"));
}

TEST_F(EvidenceGpuTest, ManyLaunchesAreCountedTogetherAfterTheFirst) {
  const Evidence evidence = Count(std::vector<std::string>(1000, "multiplies"), 1, kFlopsOfOne * 4 * 1000);
  EXPECT_DOUBLE_EQ(evidence.tensor_core_flop_share(), 1.0);
}

}  // namespace
}  // namespace sassay::runner
