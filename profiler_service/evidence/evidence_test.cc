#include "profiler_service/evidence/evidence.h"

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/toolchain/toolchain.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/admission/testing/example_bundle.h"
#include "profiler_service/evaluate/testing/fake_workers.h"
#include "profiler_service/evidence/counted_call_testing.h"

namespace sassay::evidence {
namespace {

using evaluate::Ended;
using evaluate::FakeWorkers;
using evaluate::InProcessJudge;
using evaluate::Tensors;
using sassay::v1::Evidence;
using ::testing::HasSubstr;

// Every thread of the example's two launches enters; of the first warps of gemm some go on.
constexpr char kCounts[] =
    "cubin_crc: 5 launches { first_launch: 0 launches: 1 kernel: 'gemm' functions { function: 'gemm'"
    "  pc_offset_bytes: [0, 16] warp_count: [512, 500] thread_count: [16384, 16000] } }"
    "launches { first_launch: 1 launches: 1 kernel: '_Z10tensor_map14CUtensorMap_stiPf' functions {"
    "  function: '_Z10tensor_map14CUtensorMap_stiPf' pc_offset_bytes: 0 warp_count: 32 thread_count: 1024 } }";

constexpr char kListing[] =
    ".text.gemm:\n/*0000*/ LDC R1, c[0x0][0x28] ;\n/*0010*/ HMMA.16816.F32.BF16 R4, R4, R8, RZ ;\n/*0020*/ EXIT ;\n"
    ".text._Z10tensor_map14CUtensorMap_stiPf:\n/*0000*/ UTMALDG.2D [UR8], [UR4] ;\n/*0010*/ EXIT ;\n";

class EvidenceTest : public testing::Test {
 protected:
  EvidenceTest() {
    device_.set_kind("cuda");
    device_.set_multiprocessors(132);
  }

  ExecutedEvidence Collect(const std::string& counts, const std::string& loaded = "cubin_crc: 5") {
    worker::RunnerReply reply = Ended();
    *reply.mutable_sass_counts() = Parse<worker::SassCounts>(counts);
    return CollectReply(reply, loaded);
  }
  ExecutedEvidence CollectReply(const worker::RunnerReply& reply, const std::string& loaded) {
    FakeWorkers workers(judge_, {[&](int, Tensors& tensors) {
                          evaluate::GemmRows(tensors, 0, right_rows_);
                          if (judge_dies_) judge_.Kill();
                          return ++calls_, reply;
                        }});
    *workers.load_reply.mutable_sass_counts() = Parse<worker::SassCounts>(loaded);
    const evaluate::StageContext context{bundle_, workers, absl::Now() + absl::Minutes(1)};
    return CollectEvidence(context, seeds_, {device_, "H", disassemble_, distribution_});
  }
  static admission::AdmittedBundle Example() {
    return std::get<admission::AdmittedBundle>(admission::Admit(
        admission::ExampleBundle().SerializeAsString(), admission::ExampleWorkload(), {}, admission::ExampleDevice()));
  }

  const admission::AdmittedBundle bundle_ = Example();
  InProcessJudge judge_;
  evaluate::Seeds seeds_ = evaluate::SeedPool("a secret of sixteen bytes").Fresh();
  worker::DeviceDescription device_;
  Disassembler disassemble_ = [](absl::string_view, absl::Duration) { return ParseDisassembly(kListing); };
  std::string distribution_ = "normal";
  int right_rows_ = 64;  // of 64
  bool judge_dies_ = false;
  int calls_ = 0;
};

TEST_F(EvidenceTest, CountsOfARunnerBecomeEvidenceAboutTheAdmittedCubin) {
  const ExecutedEvidence result = Collect(kCounts);
  EXPECT_FALSE(result.failure().has_value());
  EXPECT_EQ(result.evidence().status(), Evidence::DYNAMIC_PRESENT) << result.evidence().reason();
  EXPECT_EQ(result.evidence().family_thread_counts().at("TMA"), 1024u);
  EXPECT_EQ(result.evidence().launches_size(), 2);
  EXPECT_EQ(result.evidence().cubin_crc(), 5u);
  // 500 warps of 16 x 8 x 16 and a workload of 64 x 256 x 256.
  EXPECT_DOUBLE_EQ(result.evidence().tensor_core_flop_share(), 500.0 * 16 * 8 * 16 / (64 * 256 * 256));
  ASSERT_FALSE(result.hot().empty());
  EXPECT_EQ(result.hot()[0].kernel, "gemm");
  EXPECT_GT(result.device_ns(), 0u);
}

TEST_F(EvidenceTest, RunnerThatCannotCountIsNotAskedToRun) {
  const ExecutedEvidence result = Collect(kCounts, "unavailable: 'RmProfilingAdminOnly: 1'");
  EXPECT_EQ(result.evidence().status(), Evidence::UNAVAILABLE);
  EXPECT_EQ(result.evidence().reason(), "RmProfilingAdminOnly: 1");
  EXPECT_FALSE(result.failure().has_value());
  EXPECT_EQ(calls_, 0);
}

TEST_F(EvidenceTest, CountingThatBrokeDownIsUnavailable) {
  EXPECT_EQ(Collect("unavailable: 'CUPTI, taking the counts: unknown'").evidence().reason(),
            "CUPTI, taking the counts: unknown");
}

TEST_F(EvidenceTest, CrcOfBeforeTheCandidateRanIsTheOneThatCounts) {
  const Evidence evidence = Collect(kCounts, "cubin_crc: 6").evidence();
  EXPECT_EQ(evidence.status(), Evidence::UNAVAILABLE);
  EXPECT_THAT(evidence.reason(), HasSubstr("cannot be true"));
  EXPECT_TRUE(evidence.opcodes().empty());
}

TEST_F(EvidenceTest, LostLaunchIsCaught) {
  const std::string counts = kCounts;
  EXPECT_THAT(Collect(counts.substr(0, counts.find("launches { first_launch: 1"))).evidence().reason(),
              HasSubstr("nothing was counted for launch 1"));
}

TEST_F(EvidenceTest, CallThatWasCountedMustHaveBeenRight) {
  right_rows_ = 48;
  const Evidence evidence = Collect(kCounts).evidence();
  EXPECT_EQ(evidence.status(), Evidence::UNAVAILABLE);
  EXPECT_THAT(evidence.reason(), HasSubstr("not the one that was judged"));
  EXPECT_TRUE(evidence.opcodes().empty());
}

TEST_F(EvidenceTest, CallThatNobodyComparedIsNoEvidence) {
  judge_dies_ = true;
  const Evidence evidence = Collect(kCounts).evidence();
  EXPECT_EQ(evidence.status(), Evidence::UNAVAILABLE);
  EXPECT_THAT(evidence.reason(), HasSubstr("the counted call's outputs were not compared"));
  EXPECT_TRUE(evidence.opcodes().empty());
}

TEST_F(EvidenceTest, InputsAreThoseOfEvaluatesFirstCase) {
  distribution_ = "structured";
  EXPECT_EQ(Collect(kCounts).evidence().status(), Evidence::DYNAMIC_PRESENT);
  distribution_ = "no such distribution";
  EXPECT_THAT(Collect(kCounts).evidence().reason(), HasSubstr("no such distribution"));
}

TEST_F(EvidenceTest, MoreThanTheGpuCanDoIsNoEvidence) {
  const std::string forged = absl::StrReplaceAll(kCounts, {{"[512, 500]", "[512, 500000000000000]"}});
  EXPECT_THAT(Collect(forged).evidence().reason(), HasSubstr("that the GPU can issue in that time"));
}

TEST_F(EvidenceTest, WithoutADisassemblerItIsUnavailable) {
  disassemble_ = [](absl::string_view, absl::Duration) { return absl::NotFoundError("pip install nvdisasm"); };
  EXPECT_EQ(Collect(kCounts).evidence().reason(), "pip install nvdisasm");
}

TEST_F(EvidenceTest, RunThatEndsBadlyUnderCountingIsUnavailableAndSaysHow) {
  const auto timeout = Ended(worker::RUN_OUTCOME_TIMEOUT, v1::VERDICT_CODE_KERNEL_TIMEOUT, "gemm did not end");
  const ExecutedEvidence result = CollectReply(timeout, "cubin_crc: 5");
  EXPECT_EQ(result.evidence().status(), Evidence::UNAVAILABLE);
  EXPECT_THAT(result.evidence().reason(), HasSubstr("gemm did not end"));
  EXPECT_TRUE(result.failure().has_value());
}

TEST_F(EvidenceTest, EmulatedDeviceNeedsNoDisassembler) {
  device_.set_kind("emulated");
  disassemble_ = nullptr;
  worker::RunnerReply reply = Ended();
  *reply.mutable_evidence() = Parse<Evidence>("opcodes { opcode: 'add.f32' warp_count: 1 thread_count: 32 }");
  const Evidence evidence = CollectReply(reply, "").evidence();
  EXPECT_EQ(evidence.reason(), "executed PTX mapped to SASS families");
  EXPECT_EQ(evidence.opcodes_size(), 1);
}

TEST_F(EvidenceTest, RealDisassemblyOfTheAdmittedCubinHasTheCountedInstructions) {
  const auto toolchain = FindToolchain();
  if (!toolchain.ok() || toolchain->nvdisasm.empty()) GTEST_SKIP() << "needs nvdisasm";
  if (!ProbeSandbox().Complete()) GTEST_SKIP() << ProbeSandbox().missing;
  disassemble_ = [&](absl::string_view cubin, absl::Duration timeout) {
    return Disassemble(*toolchain, cubin, timeout);
  };
  const Evidence evidence = Collect(kCounts).evidence();
  EXPECT_EQ(evidence.status(), Evidence::CUBIN_SASS_ABSENT) << evidence.reason();
  EXPECT_EQ(evidence.thread_instructions(), 16384u + 16000 + 1024);
  EXPECT_THAT(Collect(absl::StrReplaceAll(kCounts, {{"[0, 16]", "[0, 17]"}})).evidence().reason(),
              HasSubstr("gemm has no instruction at 0x11"));
}

}  // namespace
}  // namespace sassay::evidence
