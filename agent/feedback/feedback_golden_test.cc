// Renders verdicts that the service and the agent gave for the candidates of tests/hostile and agent/examples (JSON in
// testdata), and compares with the texts beside them. To accept a new look, run with SASSAY_UPDATE_GOLDEN=1 and read
// the difference.
#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "agent/feedback/feedback.h"
#include "common/base/files.h"
#include "common/workload/catalog.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

std::string Root() {
  const char* root = std::getenv("SASSAY_TEST_SOURCE");
  return root == nullptr ? "" : root;
}

std::string Read(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(absl::StrCat(Root(), "/", path));
  EXPECT_TRUE(text.ok()) << text.status() << "; run this test through ctest";
  return text.value_or("");
}

void ExpectGolden(const std::string& name, const std::string& actual) {
  const std::string path = absl::StrCat("agent/feedback/testdata/", name, ".txt");
  if (std::getenv("SASSAY_UPDATE_GOLDEN") != nullptr) std::ofstream(absl::StrCat(Root(), "/", path)) << actual;
  EXPECT_EQ(actual, Read(path)) << "differs from " << path;
}

v1::Verdict ReadVerdict(const std::string& name) {
  v1::Verdict verdict;
  const auto status = google::protobuf::util::JsonStringToMessage(
      Read(absl::StrCat("agent/feedback/testdata/", name, ".verdict.json")), &verdict);
  EXPECT_TRUE(status.ok()) << name << ": " << status.ToString();
  return verdict;
}

v1::Workload WorkloadOf(const v1::Verdict& verdict) {
  const absl::StatusOr<v1::Workload> workload = WorkloadCatalog::BuiltIn().Resolve(verdict.workload());
  EXPECT_TRUE(workload.ok()) << workload.status();
  return workload.value_or(v1::Workload());
}

v1::Extracted Code() {
  v1::Extracted extracted;
  extracted.set_extraction(v1::EXTRACTION_CODE);
  extracted.set_path("kernel.cu");
  return extracted;
}

struct Golden {
  const char* name;
  // Its candidate.
  const char* source;
};

class FeedbackGoldenTest : public testing::TestWithParam<Golden> {};

TEST_P(FeedbackGoldenTest, RealVerdictIsToldAsRecorded) {
  const v1::Verdict verdict = ReadVerdict(GetParam().name);
  const v1::Workload workload = WorkloadOf(verdict);
  const v1::Extracted extracted = Code();
  FeedbackInput input;
  input.workload = &workload;
  input.extracted = &extracted;
  input.verdict = &verdict;
  input.source = Read(GetParam().source);
  input.turn = 2;
  input.turn_limit = 8;
  ExpectGolden(GetParam().name, FeedbackText(input));
}

INSTANTIATE_TEST_SUITE_P(Compile, FeedbackGoldenTest,
                         testing::Values(Golden{"ptxas_failure", "tests/hostile/compile/ptxas_failure.cu"},
                                         Golden{"syntax_error", "tests/hostile/compile/syntax_error.cu"},
                                         Golden{"wrong_arch_ptx", "tests/hostile/compile/wrong_arch_ptx.cu"}),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Capture, FeedbackGoldenTest,
                         testing::Values(Golden{"pointer_cached", "tests/hostile/capture/pointer_cached.cu"},
                                         Golden{"shared_memory_not_opted_in",
                                                "tests/hostile/capture/shared_memory_not_opted_in.cu"},
                                         Golden{"reads_device_back", "tests/hostile/capture/reads_device_back.cu"},
                                         Golden{"wrong_signature", "tests/hostile/capture/wrong_signature.cu"},
                                         Golden{"calls_cublas", "tests/hostile/capture/calls_cublas.cu"},
                                         Golden{"takes_all_memory", "tests/hostile/memory/takes_all_memory.cu"}),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Run, FeedbackGoldenTest,
                         testing::Values(Golden{"barrier_one_warp_skips",
                                                "tests/hostile/hang/barrier_one_warp_skips.cu"},
                                         Golden{"endless_loop", "tests/hostile/hang/endless_loop.cu"},
                                         Golden{"device_assert", "tests/hostile/hang/device_assert.cu"},
                                         Golden{"trap", "tests/hostile/hang/trap.cu"},
                                         Golden{"store_past_output", "tests/hostile/memory/store_past_output.cu"},
                                         Golden{"misaligned_vector", "tests/hostile/memory/misaligned_vector.cu"},
                                         Golden{"shared_race", "tests/hostile/memory/shared_race.cu"},
                                         Golden{"unwritten_workspace", "tests/hostile/memory/unwritten_workspace.cu"},
                                         Golden{"writes_input", "tests/hostile/memory/writes_input.cu"}),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Numbers, FeedbackGoldenTest,
                         testing::Values(Golden{"half_of_k", "tests/hostile/numerics/half_of_k.cu"},
                                         Golden{"wrong_transposition", "tests/hostile/numerics/wrong_transposition.cu"},
                                         Golden{"one_nan", "tests/hostile/numerics/one_nan.cu"},
                                         Golden{"missing_scale", "tests/hostile/numerics/missing_scale.cu"},
                                         Golden{"last_tile_skipped", "tests/hostile/numerics/last_tile_skipped.cu"},
                                         Golden{"bf16_accumulate", "tests/hostile/numerics/bf16_accumulate.cu"},
                                         Golden{"gqa_natural_lse", "tests/hostile/gqa/gqa_natural_lse.cu"},
                                         Golden{"prints_passed", "tests/hostile/cheating/prints_passed.cu"}),
                         [](const auto& info) { return info.param.name; });

constexpr char kSubmitted[] = R"pb(
  kernels {
    symbol: "_Z11GemmMmaSyncPK13__nv_bfloat16S1_PS_i"
    registers: 72
    static_shared_bytes: 20480
    max_threads_per_block: 128
  }
  launches {
    kernel: "_Z11GemmMmaSyncPK13__nv_bfloat16S1_PS_i"
    grid { x: 4 y: 1 z: 1 }
    block { x: 128 y: 1 z: 1 }
  }
)pb";

// What an H200 measured of a kernel of this kind (docs/measurements/2026-11-h200-hopper-examples.md gives its times).
constexpr char kTimed[] = R"pb(
  status: VERDICT_STATUS_CORRECT
  stage: STAGE_TIMING
  code: VERDICT_CODE_OK
  reason: "every stage that ran is content"
  workload: "gemm_n7168_k5120/M=8192"
  scorable: true
  versions { device: "NVIDIA H200" }
  evidence {
    status: DYNAMIC_PRESENT
    tensor_core_flop_share: 1
    warp_instructions: 60000000
    family_thread_counts { key: "GMMA" value: 587202560 }
    opcodes {
      kernel: "_Z4gemmv"
      opcode: "HGMMA.64x256x16.F32.BF16"
      family: "GMMA"
      warp_count: 18350080
      thread_count: 587202560
    }
  }
  timing {
    status: MEASURED
    speedup: 0.704
    speedup_low: 0.701
    speedup_high: 0.707
    candidate { median_ns: 1050000 }
    baseline { median_ns: 739200 }
    baseline_program { library: "cuBLASLt" version: "13.1" }
    floor { floor_ns: 561700 compute_ns: 561700 memory_ns: 51000 flop: 6.013e11 bytes: 274726912 }
  }
)pb";

constexpr char kTimedSubmitted[] = R"pb(
  kernels { symbol: "_Z4gemmv" registers: 168 spill_store_bytes: 96 spill_load_bytes: 128 }
  launches {
    kernel: "_Z4gemmv"
    grid { x: 28 y: 64 z: 1 }
    block { x: 384 y: 1 z: 1 }
    dynamic_shared_bytes: 196608
  }
)pb";

template <typename Message>
Message Parse(const char* text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

std::string CorrectText(const v1::Verdict& verdict, const char* submitted_text, double best, double target) {
  const v1::Workload workload = WorkloadOf(verdict);
  const v1::Submitted submitted = Parse<v1::Submitted>(submitted_text);
  const v1::Extracted extracted = Code();
  FeedbackInput input;
  input.workload = &workload;
  input.extracted = &extracted;
  input.verdict = &verdict;
  input.submitted = &submitted;
  input.turn = 3;
  input.turn_limit = 8;
  input.target_speedup = target;
  if (best > 0) input.best_speedup = best;
  return FeedbackText(input);
}

TEST(CorrectGoldenTest, EmulatedTurnSaysThatNoTimeExistsAndWhatWouldHelp) {
  ExpectGolden("gemm_mma_sync", CorrectText(ReadVerdict("gemm_mma_sync"), kSubmitted, 0, 0));
}

TEST(CorrectGoldenTest, TimedTurnHasShareOfRooflineBaselineSpillsWavesAndTarget) {
  ExpectGolden("timed_gemm", CorrectText(Parse<v1::Verdict>(kTimed), kTimedSubmitted, 0.62, 1.2));
}

constexpr char kDeadlock[] = R"pb(
  status: VERDICT_STATUS_TIMEOUT
  stage: STAGE_EVALUATE
  code: VERDICT_CODE_MBARRIER_DEADLOCK
  reason: "gemm: 4 warps wait for an mbarrier phase that never completes (shared 0x400: phase 0, pending 1 arrival, 4096 bytes missing) at kernel.cu:3"
  workload: "gemm_n256_k256/M=64"
  details {
    warps {
      where {
        kernel: "_Z4gemmv"
        source_line: "kernel.cu:3"
        source_text: "mbarrier_wait(full, phase);"
        ptx_line: 40
        ptx_text: "mbarrier.try_wait.parity.shared::cta.b64 p, [%r1], %r2;"
      }
      warp: 1
      state: "waiting for mbarrier at shared 0x400: phase 0, pending 1 arrival, 4096 bytes missing"
      count: 4
    }
  }
)pb";

TEST(HangGoldenTest, MbarrierDeadlockNamesBarrierPendingArrivalsAndMissingBytes) {
  const v1::Verdict verdict = Parse<v1::Verdict>(kDeadlock);
  const v1::Workload workload = WorkloadOf(verdict);
  FeedbackInput input;
  input.workload = &workload;
  input.verdict = &verdict;
  input.source = "__global__ void gemm() {\n  arrive_expect_tx(full, 8192);\n  mbarrier_wait(full, phase);\n}\n";
  ExpectGolden("mbarrier_deadlock", FeedbackText(input));
}

}  // namespace
}  // namespace sassay::agent
