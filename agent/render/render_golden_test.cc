// Renders known messages and compares with the files in testdata. To accept a new look, run with SASSAY_UPDATE_GOLDEN=1
// and read the difference.
#include <cstdlib>
#include <fstream>
#include <functional>

#include "absl/strings/str_cat.h"
#include "agent/explain/explain.h"
#include "agent/render/inspection.h"
#include "agent/render/reports.h"
#include "agent/render/verdict.h"
#include "common/base/files.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

template <typename Message>
Message Parse(const char* text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

void ExpectGolden(const std::string& name, const std::string& actual) {
  const char* root = std::getenv("SASSAY_TEST_SOURCE");
  ASSERT_NE(root, nullptr) << "run this test through ctest";
  const std::string path = absl::StrCat(root, "/agent/render/testdata/", name);
  if (std::getenv("SASSAY_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << actual;
  const absl::StatusOr<std::string> expected = ReadFile(path);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(actual, *expected) << "differs from " << path;
}

const char kMismatch[] = R"pb(
  submission_id: "sub-42"
  status: VERDICT_STATUS_INCORRECT_NUMERICAL
  stage: STAGE_EVALUATE
  code: VERDICT_CODE_MISMATCH
  reason: "4,096 of 65,536 elements of C are wrong: all errors have row >= 192"
  workload: "gemm_n256_k256/M=256"
  provenance: PROVENANCE_VERIFIED
  capture_profile: CAPTURE_PROFILE_STRICT
  bundle_sha256: "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"
  replay_id: "r-7"
  attempt: 2
  numerics {
    passed: false
    peer_rule_passed: false
    distributions: "normal"
    distributions: "uniform"
    worst_distribution: "uniform"
    outputs {
      output: "C"
      elements: 65536
      wrong: 4096
      non_finite: 0
      unwritten: 0
      worst_index: 200
      worst_index: 3
      worst_expected: 1.25
      worst_actual: 0
      max_abs_error: 1.25
      relative_rms_error: 0.31
      allowed_relative_rms_error: 0.004
      pattern: "all errors have row >= 192"
      peer_rule_wrong: 4000
    }
  }
  stages { stage: STAGE_ADMISSION outcome: PASSED wall_ns: 1200000 }
  stages { stage: STAGE_EVALUATE outcome: FAILED wall_ns: 830000000 device_ns: 640000000 reason: "C differs" }
  stages { stage: STAGE_TIMING outcome: SKIPPED reason: "evaluate decided" }
  versions { rules: "2026.1" sassay: "0.1.0" device: "emulated sm_90a" toolkit: "13.0.88" }
)pb";

const char kSanitizer[] = R"pb(
  submission_id: "sub-43"
  status: VERDICT_STATUS_SANITIZER_ERROR
  stage: STAGE_SANITIZE
  code: VERDICT_CODE_OOB_GLOBAL_WRITE
  reason: "gemm writes 2 bytes past the end of C"
  workload: "gemm_n256_k256/M=256"
  details {
    findings {
      code: VERDICT_CODE_OOB_GLOBAL_WRITE
      message: "writes 2 bytes 0 bytes past the end of C (131,072 bytes)"
      count: 16
      where {
        kernel: "_Z4gemmPKvS0_Pv"
        block { x: 15 y: 15 z: 0 }
        thread { x: 15 y: 3 z: 0 }
        source_line: "kernel.cu:23"
        source_text: "  C[row * N + col + 1] = acc;"
        ptx_line: 118
        ptx_text: "st.global.b16 [%rd9+2], %rs1;"
      }
      buffer: "C"
      distance_bytes: 0
      access_bytes: 2
    }
    findings {
      code: VERDICT_CODE_SHARED_RACE
      message: "write and read of shared byte 64 without a barrier between"
      where {
        kernel: "k"
        block { x: 1 }
        thread { x: 0 }
        source_line: "kernel.cu:18"
      }
      other {
        kernel: "k"
        block { x: 1 }
        thread { x: 32 }
        source_line: "kernel.cu:22"
      }
    }
    device_output: "row 3\n\033[31mred\n"
    notes: "evaluate: skipped"
    warnings: "captured in lenient"
  }
)pb";

const char kTimeout[] = R"pb(
  status: VERDICT_STATUS_TIMEOUT
  stage: STAGE_EVALUATE
  code: VERDICT_CODE_BARRIER_DEADLOCK
  reason: "3 warps wait at barrier 0"
  details {
    warps {
      count: 3
      state: "waiting at barrier 0"
      warp: 0
      where {
        source_line: "kernel.cu:31"
        block { x: 0 y: 0 z: 0 }
        ptx_text: "bar.sync 0;"
      }
    }
    warps {
      count: 1
      state: "exited"
      warp: 3
      where { block { x: 0 y: 0 z: 0 } }
    }
  }
)pb";

const char kCorrect[] = R"pb(
  submission_id: "sub-44"
  status: VERDICT_STATUS_CORRECT
  stage: STAGE_TIMING
  code: VERDICT_CODE_OK
  reason: "every stage passed"
  workload: "gemm_n7168_k5120/M=8192"
  provenance: PROVENANCE_VERIFIED
  scorable: true
  capture_profile: CAPTURE_PROFILE_STRICT
  evidence {
    status: DYNAMIC_PRESENT
    tensor_core_flop_share: 0.998
    opcodes { kernel: "gemm" opcode: "HGMMA.64x256x16.F32.BF16" family: "GMMA" warp_count: 1024 thread_count: 32768 }
    opcodes { kernel: "reduce" opcode: "FADD" warp_count: 96 thread_count: 3000 }
    launches {
      launch: 0
      launches: 1
      kernel: "gemm"
      warp_instructions: 5120
      family_thread_counts { key: "GMMA" value: 32768 }
      family_thread_counts { key: "TMA" value: 64 }
    }
    launches { launch: 1 launches: 3 kernel: "reduce" warp_instructions: 700 }
  }
  timing {
    status: MEASURED
    speedup: 0.704
    speedup_low: 0.701
    speedup_high: 0.707
    sm_clock_min_mhz: 1590
    sm_clock_max_mhz: 1980
    clock_event_reasons: 4
    method: "events; cold L2"
    baseline_history { measurements: 20 median_ns: 985000 measured_ns: 986000 }
    candidate { samples_ns: 1 samples_ns: 2 median_ns: 1400000 median_low_ns: 1390000 median_high_ns: 1410000 }
    baseline { samples_ns: 1 median_ns: 986000 median_low_ns: 985000 median_high_ns: 987000 }
    voided_samples { key: "clock changed" value: 3 }
  }
)pb";

const char kCompileError[] = R"pb(
  status: VERDICT_STATUS_COMPILE_ERROR
  stage: STAGE_COMPILE
  code: VERDICT_CODE_NVCC_ERROR
  reason: "kernel.cu:12: identifier \"blockDimx\" is undefined"
  details {
    diagnostics {
      severity: "error"
      file: "kernel.cu"
      line: 12
      column: 18
      message: "identifier \"blockDimx\" is undefined"
      source_text: "  int i = blockIdx.x * blockDimx + threadIdx.x;"
      tool: "nvcc"
    }
    diagnostics { severity: "warning" message: "spilling" tool: "ptxas" }
  }
)pb";

const char kDiagnosed[] = R"pb(
  submission_id: "s42"
  status: VERDICT_STATUS_TIMEOUT
  stage: STAGE_EVALUATE
  code: VERDICT_CODE_KERNEL_TIMEOUT
  reason: "gemm did not end before its deadline"
  details {
    warps {
      count: 8
      warp: 1
      state: "waiting at a barrier"
      function: ""
      pc: 640
      sass: "BAR.SYNC.DEFER_BLOCKING 0x0"
      where {
        kernel: "_Z4gemmPKfPf"
        source_line: "gemm.cu:84"
        block { x: 0 }
      }
    }
  }
  sanitizers { tool: "memcheck" version: "2025.3.1.0" outcome: CLEAN workload: "gemm/M=256" wall_ns: 450000000 }
  sanitizers {
    tool: "racecheck"
    version: "2025.3.1.0"
    outcome: FINDINGS
    workload: "gemm/M=64"
    reason: "Write at gemm.cu:9 and Read at gemm.cu:10"
    advisory { code: VERDICT_CODE_SHARED_RACE }
    errors: 1
  }
  diagnoses {
    kind: DIAGNOSIS_NCU
    outcome: DONE
    version: "2025.3.1.0"
    summary: "gemm, launch 0: takes 1.66 us, memory 0.64 %"
    metrics { kernel: "gemm" section: "Occupancy" name: "Achieved Occupancy" unit: "%" value: "11.43" }
    metrics { kernel: "gemm" section: "Occupancy" name: "Block Limit Registers" unit: "block" value: "16" }
    advice { kernel: "gemm" rule: "SOLBottleneck" text: "The grid is too small." }
    artifacts { name: "s42.ncu-rep" sha256: "ab" size_bytes: 144367 }
  }
  diagnoses {
    kind: DIAGNOSIS_HOTSPOTS
    outcome: DONE
    hot {
      kernel: "_Z4gemmPKfPf"
      pc: 256
      sass: "HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8]"
      warp_count: 4096
      thread_count: 131072
      source_line: "gemm.cu:40"
      source_text: "wgmma(acc);"
    }
  }
  diagnoses { kind: DIAGNOSIS_DEBUG outcome: UNAVAILABLE reason: "cuda-gdb was not found" }
)pb";

TEST(RenderGoldenTest, SanitizersAndDiagnosesShowNumbersAdviceAndFiles) {
  ExpectGolden("diagnosed.txt", RenderVerdict(Parse<v1::Verdict>(kDiagnosed), Style(false)));
}

TEST(RenderGoldenTest, WrongNumbersShowCountWorstElementAndPattern) {
  ExpectGolden("mismatch.txt", RenderVerdict(Parse<v1::Verdict>(kMismatch), Style(false)));
}

TEST(RenderGoldenTest, FindingsShowThreadAndSourceLine) {
  ExpectGolden("sanitizer.txt", RenderVerdict(Parse<v1::Verdict>(kSanitizer), Style(false)));
}

TEST(RenderGoldenTest, TimeoutShowsWhereTheWarpsStand) {
  ExpectGolden("timeout.txt", RenderVerdict(Parse<v1::Verdict>(kTimeout), Style(false)));
}

TEST(RenderGoldenTest, CorrectShowsEvidenceAndTimingWithConditions) {
  ExpectGolden("correct.txt", RenderVerdict(Parse<v1::Verdict>(kCorrect), Style(false)));
}

TEST(RenderGoldenTest, ACopySaysWhoseItIsAndWhichStagesRanThen) {
  v1::Verdict verdict = Parse<v1::Verdict>(R"pb(
    submission_id: "sub-45"
    reused_from: "sub-44"
    status: VERDICT_STATUS_CORRECT
    stage: STAGE_EVIDENCE
    code: VERDICT_CODE_OK
    reason: "every stage that ran is content"
    workload: "gemm_n256_k256/M=256"
    stages { stage: STAGE_EVALUATE outcome: PASSED wall_ns: 8000000 cached: true }
    stages { stage: STAGE_TIMING outcome: UNAVAILABLE reason: "emulated device" wall_ns: 5000 cached: true }
    stages { stage: STAGE_SANITIZE outcome: SKIPPED }
  )pb");
  ExpectGolden("cached.txt", RenderVerdict(verdict, Style(false)));
}

TEST(RenderGoldenTest, CompileErrorShowsDiagnosticsWithSourceLine) {
  ExpectGolden("compile_error.txt", RenderVerdict(Parse<v1::Verdict>(kCompileError), Style(false)));
}

TEST(RenderGoldenTest, ColouredVerdict) {
  ExpectGolden("mismatch_colour.txt", RenderVerdict(Parse<v1::Verdict>(kMismatch), Style(true)));
}

const char kInspection[] = R"pb(
  bundle_sha256: "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"
  bundle_bytes: 40960
  cubin_bytes: 20480
  ptx_bytes: 9000
  source_sha256: "aa"
  sources: "kernel.cu"
  compilation { arch: "sm_90a" toolkit_version: "13.0.88" options: "-O3" options: "-lineinfo" }
  kernels {
    symbol: "_Z4gemmv"
    name: "gemm()"
    registers: 40
    static_shared_bytes: 2048
    parameter_bytes: 8
    parameter_bytes: 128
    max_threads_per_block: 1024
    sass_families { key: "GMMA" value: 12 }
  }
  plans {
    workload: "gemm_n256_k256/M=256"
    abi: ENTRY_ABI_C
    profile: CAPTURE_PROFILE_STRICT
    device_model: "NVIDIA H200"
    buffers { kind: BUFFER_KIND_INPUT name: "A" size_bytes: 131072 }
    buffers { kind: BUFFER_KIND_SETUP_ALLOCATION size_bytes: 65536 source_line: "kernel.cu:41" }
    tensor_maps {
      data_type: 9
      base { buffer: 0 offset_bytes: 16 }
      global_dim: 256
      global_dim: 256
      global_stride_bytes: 512
      box_dim: 64
      box_dim: 64
      swizzle: 3
    }
    tensor_maps {
      data_type: 16
      base { buffer: 0 }
      global_dim: 8
      box_dim: 8
      swizzle: 7
    }
    setup {
      allocate { buffer: 1 }
      source_line: "kernel.cu:41"
    }
    steady {
      memset {
        destination { buffer: 1 }
        value: 0
        element_bytes: 1
        width_elements: 65536
        rows: 1
      }
    }
    steady {
      launch {
        kernel: "_Z4gemmv"
        grid { x: 2 y: 2 z: 1 }
        block { x: 128 y: 1 z: 1 }
        dynamic_shared_bytes: 49152
        arguments {
          data: "\000\000\000\000\000\000\000\000"
          relocations { pointer { buffer: 77 offset_bytes: 4 } }
        }
        arguments { data: "\000\001\000\000" }
      }
      stream: 1
      source_line: "kernel.cu:57"
    }
    assumptions { property: "cudaDevAttrMultiProcessorCount" value: 132 }
  }
)pb";

TEST(RenderGoldenTest, InspectionShowsKernelsBuffersAndStepsAndSurvivesWrongIndices) {
  ExpectGolden("inspection.txt", RenderInspection(Parse<v1::Inspection>(kInspection), Style(false)));
}

const char kWorkload[] = R"pb(
  name: "gemm_n256_k256/M=256"
  definition: "gemm_n256_k256"
  description: "C = A B^T"
  flop: 3.3554e7
  minimum_bytes: 393216
  axes { key: "M" value: 256 }
  axes { key: "N" value: 256 }
  variable_axes: "M"
  reference: "builtin:gemm"
  inputs { name: "A" shape: 256 shape: 256 dtype: DTYPE_BFLOAT16 }
  inputs { name: "scale" dtype: DTYPE_FLOAT32 scalar: true }
  outputs { name: "C" shape: 256 shape: 256 dtype: DTYPE_BFLOAT16 }
)pb";

TEST(RenderGoldenTest, WorkloadShowsTheSignatureToWrite) {
  ExpectGolden("workload.txt", RenderWorkload(Parse<v1::Workload>(kWorkload), Style(false)));
}

const char kDoctor[] = R"pb(
  works: false
  checks { name: "nvcc" state: OK found: "13.0.88 in /usr/local/cuda" }
  checks {
    name: "sandbox"
    state: MISSING
    found: "bwrap is not installed"
    effect: "nothing runs"
    remedy: "apt-get install bubblewrap"
  }
  checks {
    name: "gpu"
    state: OPTIONAL_MISSING
    found: "no libcuda.so.1"
    effect: "a remote service is needed for timing"
  }
)pb";

TEST(RenderGoldenTest, DoctorShowsTheCommandThatMends) {
  ExpectGolden("doctor.txt", RenderDoctorReport(Parse<v1::DoctorReport>(kDoctor), Style(false)));
}

TEST(RenderGoldenTest, Explanation) {
  ExpectGolden("explanation.txt", RenderExplanation(ToProto(*FindExplanation("PTR_CACHED")), Style(false)));
}

}  // namespace
}  // namespace sassay::agent
