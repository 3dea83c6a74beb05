// Every way in which host code cannot be captured gets its code, and words that teach.
#include <gmock/gmock.h>

#include "agent/capture/plan/capture_testing.h"

namespace sassay::capture {
namespace {

namespace v1 = sassay::v1;
using testing::HasSubstr;

struct Case {
  const char* entry;
  v1::VerdictCode code;
  const char* words;
};

class Refused : public testing::TestWithParam<Case> {};

TEST_P(Refused, NamesTheCause) {
  CaptureRequest request = CandidateRequest("refused", GetParam().entry);
  // Only who is to run into the time limit gets a short one.
  request.timeout = absl::Seconds(GetParam().code == v1::VERDICT_CODE_HOST_TIMEOUT ? 3 : 60);
  const WorkloadCapture capture = CaptureOne(request);
  ASSERT_FALSE(capture.captured()) << capture.plan->ShortDebugString();
  EXPECT_EQ(capture.verdict.status(), v1::VERDICT_STATUS_CAPTURE_ERROR);
  EXPECT_EQ(capture.verdict.stage(), v1::STAGE_CAPTURE);
  EXPECT_EQ(v1::VerdictCode_Name(capture.verdict.code()), v1::VerdictCode_Name(GetParam().code))
      << capture.verdict.reason();
  EXPECT_THAT(capture.verdict.reason(), HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    HostCode, Refused,
    testing::Values(
        Case{"no_such_entry", v1::VERDICT_CODE_ENTRY_MISSING, "exports no entry point"},
        Case{"cpp_entry", v1::VERDICT_CODE_ENTRY_SIGNATURE, "extern \"C\""},
        Case{"too_few", v1::VERDICT_CODE_ENTRY_SIGNATURE, "4 parameters, expected 5"},
        Case{"wrong_type", v1::VERDICT_CODE_ENTRY_SIGNATURE, "parameter 'A' is float*"},
        Case{"reads_back", v1::VERDICT_CODE_HOST_READS_DEVICE, "refused.cu:"},
        Case{"caches_pointer", v1::VERDICT_CODE_PTR_CACHED, "parameter 1 still points at the first call's tensor A"},
        Case{"caches_map", v1::VERDICT_CODE_PTR_CACHED, "its tensor map still points at the first call's tensor A"},
        Case{"caches_distance", v1::VERDICT_CODE_PTR_CACHED, "distance between two tensors"},
        Case{"too_much_shared", v1::VERDICT_CODE_SHARED_MEMORY_LIMIT, "232448"},
        Case{"checks_and_aborts", v1::VERDICT_CODE_SHARED_MEMORY_LIMIT, "cudaFuncSetAttribute returned error 1"},
        Case{"big_block", v1::VERDICT_CODE_BLOCK_LIMIT, "2048 threads; a block may have at most 1024"},
        Case{"big_templated_block", v1::VERDICT_CODE_BLOCK_LIMIT,
             "launch of (anonymous namespace)::templated<__nv_bfloat16>: "},
        Case{"empty_grid", v1::VERDICT_CODE_LAUNCH_INVALID, "grid (0,1,1)"},
        Case{"half_a_cluster", v1::VERDICT_CODE_LAUNCH_INVALID, "required cluster (2,0,0)"},
        Case{"other_cluster", v1::VERDICT_CODE_LAUNCH_INVALID, "cluster (2,1,1); the kernel requires exactly (1,1,1)"},
        Case{"odd_grid", v1::VERDICT_CODE_LAUNCH_INVALID, "grid (3,1,1) is not a multiple of cluster (2,1,1)"},
        Case{"cluster_set_again", v1::VERDICT_CODE_HOST_CUDA_ERROR, "fixed by __cluster_dims__"},
        Case{"segfaults", v1::VERDICT_CODE_HOST_CRASH, "SIGSEGV at refused.cu:"},
        Case{"dereferences", v1::VERDICT_CODE_HOST_CRASH, "dereferenced a device pointer at refused.cu:"},
        Case{"loops", v1::VERDICT_CODE_HOST_TIMEOUT, "did not return in the first call"},
        Case{"forks", v1::VERDICT_CODE_HOST_LIMIT, "start a process"},
        Case{"fork_bomb_beside_a_thread", v1::VERDICT_CODE_HOST_LIMIT, "start a process"},
        Case{"kills_all", v1::VERDICT_CODE_HOST_LIMIT, "send a signal to another process"},
        Case{"kills_supervisor", v1::VERDICT_CODE_HOST_LIMIT, "send a signal to another process"},
        Case{"kills_supervisor_by_a_pipe", v1::VERDICT_CODE_HOST_LIMIT, "killed the processes that capture it"},
        Case{"closes_everything", v1::VERDICT_CODE_HOST_TIMEOUT, "did not return in the first call"},
        Case{"throws_bytes", v1::VERDICT_CODE_HOST_CRASH, "threw an exception: bad size ?? here"},
        Case{"uses_freed_workspace", v1::VERDICT_CODE_POINTER_OUT_OF_BUFFER,
             "4096 bytes that was freed at refused.cu:"},
        Case{"uses_freed_at_once", v1::VERDICT_CODE_POINTER_OUT_OF_BUFFER, "4096 bytes that was freed at refused.cu:"},
        Case{"passes_pinned", v1::VERDICT_CODE_UNSUPPORTED_API, "parameter 1 points into page-locked host memory"},
        Case{"grows_each_call", v1::VERDICT_CODE_CALLS_DIFFER,
             "16384 bytes in the third call and for 8192 in the second"},
        Case{"wraps_around", v1::VERDICT_CODE_HOST_CUDA_ERROR, "cudaMemset2DAsync returned error 1"},
        Case{"huge_host_allocation", v1::VERDICT_CODE_HOST_CUDA_ERROR, "cudaMallocHost returned error 2"},
        Case{"writes_a_big_file", v1::VERDICT_CODE_HOST_LIMIT, "a file larger than"},
        Case{"starts_threads", v1::VERDICT_CODE_HOST_LIMIT, "more threads than"},
        Case{"quick_exits", v1::VERDICT_CODE_HOST_EXIT, "quick_exit(3)"},
        Case{"exits", v1::VERDICT_CODE_HOST_EXIT, "exit(3)"}, Case{"raw_exit", v1::VERDICT_CODE_HOST_EXIT, "status 5"},
        Case{"throws", v1::VERDICT_CODE_HOST_CRASH, "no such tile"},
        Case{"eats_memory", v1::VERDICT_CODE_HOST_CRASH, "std::bad_alloc"},
        Case{"no_launch", v1::VERDICT_CODE_NO_LAUNCH, "without launching"},
        Case{"counts_calls", v1::VERDICT_CODE_CALLS_DIFFER, "parameter 2"},
        Case{"counts_beside_a_leftover", v1::VERDICT_CODE_CALLS_DIFFER, "parameter 2 (byte 0)"},
        Case{"autotunes", v1::VERDICT_CODE_HOST_READS_DEVICE, "autotuning"},
        Case{"bad_map", v1::VERDICT_CODE_TENSOR_MAP_INVALID, "globalStrides[0] is 500"},
        Case{"wide_map", v1::VERDICT_CODE_TENSOR_MAP_INVALID, "256 bytes, more than the swizzle's 128"},
        Case{"copies_too_far", v1::VERDICT_CODE_POINTER_OUT_OF_BUFFER, "cudaMemcpyAsync: the destination"},
        Case{"points_past_end", v1::VERDICT_CODE_POINTER_OUT_OF_BUFFER, "2 bytes past the end of tensor C"},
        Case{"graph", v1::VERDICT_CODE_UNSUPPORTED_API, "unsupported: cudaStreamBeginCapture"},
        Case{"huge_allocation", v1::VERDICT_CODE_HOST_CUDA_ERROR, "1099511627776 bytes"}),
    [](const auto& info) { return std::string(info.param.entry); });

TEST(Attempts, OfWhatIsForbiddenFailAndAreWarnings) {
  const WorkloadCapture capture = CaptureOne(CandidateRequest("refused", "forks_beside_a_thread"));
  ASSERT_TRUE(capture.captured()) << capture.verdict.reason();
  EXPECT_THAT(capture.plan->warnings(), testing::Contains(HasSubstr("tried to start a process")));
}

TEST(Supervisor, IsClosedToTheCandidate) {
  const WorkloadCapture capture = CaptureOne(CandidateRequest("refused", "opens_supervisor"));
  EXPECT_TRUE(capture.captured()) << capture.verdict.reason();
}

TEST(Supervisor, AloneSaysHowTheCandidateEnded) {
  const WorkloadCapture capture = CaptureOne(CandidateRequest("refused", "forges_ending"));
  EXPECT_TRUE(capture.captured()) << capture.verdict.reason();
}

TEST(EntryAbi, ThatTheCandidateHasNotIsNamedWithTheOneItHas) {
  CaptureRequest request = CandidateRequest("shapes", "structs");
  request.abi = v1::ENTRY_ABI_TVM_FFI;
  const v1::Verdict verdict = CaptureOne(request).verdict;
  EXPECT_EQ(verdict.code(), v1::VERDICT_CODE_ENTRY_MISSING);
  EXPECT_THAT(verdict.reason(), HasSubstr("exports structs() as extern \"C\", and the ABI tvm_ffi was asked for"));
}

TEST(Workloads, WithATensorBeyondEveryGpuAreTheCallersFault) {
  CaptureRequest request = CandidateRequest("shapes", "structs");
  request.workloads[0].mutable_inputs(0)->set_shape(0, int64_t{1} << 40);
  const absl::Status status = Capture(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("tensor A has"));
}

TEST(Workloads, WithAHalfScalarAreTheCallersFault) {
  CaptureRequest request = CandidateRequest("shapes", "structs");
  v1::TensorSpec* alpha = request.workloads[0].add_inputs();
  alpha->set_name("alpha");
  alpha->set_dtype(v1::DTYPE_FLOAT16);
  alpha->set_scalar(true);
  const absl::Status status = Capture(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("scalar alpha"));
}

TEST(RefusedLibrary, IsNamedByTheFunctionThatIsCalled) {
  const WorkloadCapture capture = CaptureOne(CandidateRequest("library_call", "run"));
  ASSERT_FALSE(capture.captured());
  EXPECT_EQ(capture.verdict.code(), v1::VERDICT_CODE_FORBIDDEN_LIBRARY);
  EXPECT_THAT(capture.verdict.reason(), HasSubstr("cublasCreate_v2"));
}

TEST(RefusedFlood, EndsWithoutFillingMemory) {
  CaptureRequest request = CandidateRequest("refused", "floods");
  request.timeout = absl::Seconds(3);
  const WorkloadCapture capture = CaptureOne(request);
  ASSERT_FALSE(capture.captured());
  EXPECT_THAT(capture.verdict.code(), testing::AnyOf(v1::VERDICT_CODE_HOST_LIMIT, v1::VERDICT_CODE_HOST_TIMEOUT));
  EXPECT_THAT(capture.verdict.details().notes(0), HasSubstr("host code printed: PASSED"));
  EXPECT_LT(capture.verdict.details().notes(0).size(), 8192u);
}

class TvmFfi : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(SASSAY_TVM_FFI_INCLUDE).empty()) GTEST_SKIP() << "the apache-tvm-ffi wheel is not installed";
  }
  static WorkloadCapture Capture(const char* entry) {
    CaptureRequest request = CandidateRequest("tvm_ffi", entry);
    request.tvm_ffi_library = TvmFfiLibrary(SASSAY_TVM_FFI_INCLUDE);
    return CaptureOne(request);
  }
};

TEST_F(TvmFfi, LaunchesOnTheStreamOfTheEnvironment) {
  const WorkloadCapture capture = Capture("right");
  ASSERT_TRUE(capture.captured()) << capture.verdict.reason();
  EXPECT_EQ(capture.plan->abi(), v1::ENTRY_ABI_TVM_FFI);
  ASSERT_EQ(capture.plan->steady_size(), 1);
  const v1::KernelLaunch& launch = capture.plan->steady(0).launch();
  EXPECT_EQ(launch.arguments(1).relocations(0).pointer().buffer(), 2u);
  EXPECT_EQ(launch.arguments(2).data(), std::string("\x40\0\0\0\0\0\0\0", 8));
}

TEST_F(TvmFfi, RaisedErrorsKeepTheirMessage) {
  EXPECT_THAT(Capture("checks").verdict.reason(), HasSubstr("A must have three axes"));
}

TEST_F(TvmFfi, WrongSignaturesAreNamedAsSuch) {
  for (const char* entry : {"too_few", "wrong_type"}) {
    const WorkloadCapture capture = Capture(entry);
    EXPECT_EQ(capture.verdict.code(), v1::VERDICT_CODE_ENTRY_SIGNATURE) << capture.verdict.reason();
    EXPECT_THAT(capture.verdict.reason(), HasSubstr("Mismatched"));
  }
}

TEST_F(TvmFfi, WithoutTheLibraryIsTheMachinesTrouble) {
  const absl::Status status = sassay::capture::Capture(CandidateRequest("tvm_ffi", "right")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("apache-tvm-ffi"));
}

TEST(Lenient, CapturesOneCallAndWarns) {
  for (const char* entry : {"caches_pointer", "caches_map", "counts_calls", "autotunes"}) {
    CaptureRequest request = CandidateRequest("refused", entry);
    request.profile = v1::CAPTURE_PROFILE_LENIENT;
    const WorkloadCapture capture = CaptureOne(request);
    ASSERT_TRUE(capture.captured()) << entry << ": " << capture.verdict.reason();
    EXPECT_EQ(capture.plan->profile(), v1::CAPTURE_PROFILE_LENIENT);
    EXPECT_THAT(capture.plan->warnings(), testing::Contains(HasSubstr("lenient"))) << entry;
  }
}

TEST(Lenient, StillRefusesDataDependentHostCode) {
  CaptureRequest request = CandidateRequest("refused", "reads_back");
  request.profile = v1::CAPTURE_PROFILE_LENIENT;
  EXPECT_EQ(CaptureOne(request).verdict.code(), v1::VERDICT_CODE_HOST_READS_DEVICE);
}

}  // namespace
}  // namespace sassay::capture
