// Builds Triton candidates with the Triton that is installed; skipped, saying so, where there is none.
#include "agent/interop/triton/build_triton.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/workload/catalog.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class BuildTritonTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<TritonInstallation> installation = FindTriton();
    if (!installation.ok()) GTEST_SKIP() << installation.status().message();
    request_.installation = *installation;
    const absl::StatusOr<Toolchain> toolchain = FindToolchain();
    ASSERT_TRUE(toolchain.ok()) << toolchain.status();
    request_.toolchain = *toolchain;
    request_.arch = "sm_90a";
    request_.device = capture::DeviceTable::BuiltIn().Find("", "sm_90a").value();
    request_.workloads = {Workload("gemm_n256_k256/M=64")};
  }

  static v1::Workload Workload(const std::string& name) { return WorkloadCatalog::BuiltIn().Resolve(name).value(); }

  static std::string Source(const std::string& name) {
    const char* root = std::getenv("SASSAY_TEST_SOURCE");
    const auto text = ReadFile(absl::StrCat(root == nullptr ? "" : root, "/agent/interop/triton/testdata/", name));
    EXPECT_TRUE(text.ok()) << text.status() << "; run this test through ctest";
    return text.value_or("");
  }

  TritonOutcome Build(const std::string& source) {
    request_.source = source;
    absl::StatusOr<TritonOutcome> outcome = BuildTriton(request_);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? *std::move(outcome) : TritonOutcome(v1::Verdict());
  }

  TritonCandidate Candidate(const std::string& source) {
    TritonOutcome outcome = Build(source);
    if (const auto* verdict = std::get_if<v1::Verdict>(&outcome)) {
      ADD_FAILURE() << verdict->ShortDebugString();
      return {};
    }
    return std::get<TritonCandidate>(std::move(outcome));
  }

  v1::Verdict Verdict(const std::string& source) {
    const TritonOutcome outcome = Build(source);
    if (const auto* verdict = std::get_if<v1::Verdict>(&outcome)) return *verdict;
    ADD_FAILURE() << "a candidate came out of\n" << source;
    return {};
  }

  TritonRequest request_;
};

std::vector<std::string> Launched(const v1::LaunchPlan& plan) {
  std::vector<std::string> kernels;
  for (const v1::Step& step : plan.steady())
    if (step.has_launch()) kernels.push_back(step.launch().kernel());
  return kernels;
}

constexpr char kAdd[] = R"py(
import torch
import triton
import triton.language as tl


@triton.jit
def k(a, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(a + i, tl.load(a + i, mask=i < n), mask=i < n)


def run(A, B, C):
    %s
)py";

std::string Body(const std::string& body) {
  std::string source = kAdd;
  source.replace(source.find("%s"), 2, body);
  return source;
}

TEST_F(BuildTritonTest, GemmBecomesACubinAndAPlan) {
  const TritonCandidate candidate = Candidate(Source("gemm.py"));
  ASSERT_EQ(candidate.plans.size(), 1);
  EXPECT_THAT(Launched(candidate.plans[0]), ElementsAre("matmul"));
  ASSERT_EQ(candidate.kernels.size(), 1);
  EXPECT_GT(candidate.kernels[0].registers(), 0);
  const v1::KernelLaunch& launch = candidate.plans[0].steady(0).launch();
  EXPECT_EQ(static_cast<size_t>(launch.arguments_size()), candidate.kernels[0].parameter_bytes_size());
  for (int i = 0; i < launch.arguments_size(); ++i)
    EXPECT_EQ(launch.arguments(i).data().size(), candidate.kernels[0].parameter_bytes(i)) << i;
  EXPECT_THAT(candidate.ptx, HasSubstr("wgmma.mma_async"));
}

TEST_F(BuildTritonTest, TheSameSourceGivesTheSameBytes) {
  const TritonCandidate one = Candidate(Source("gemm.py"));
  const TritonCandidate other = Candidate(Source("gemm.py"));
  EXPECT_EQ(one.cubin, other.cubin);
  EXPECT_EQ(one.ptx, other.ptx);
}

TEST_F(BuildTritonTest, HostDescriptorsBecomeTensorMaps) {
  const TritonCandidate candidate = Candidate(Source("gemm_tma.py"));
  ASSERT_EQ(candidate.plans.size(), 1);
  EXPECT_EQ(candidate.plans[0].tensor_maps_size(), 3);
  EXPECT_THAT(candidate.ptx, HasSubstr("cp.async.bulk.tensor"));
  const v1::TensorMap& a = candidate.plans[0].tensor_maps(0);
  EXPECT_THAT(a.global_dim(), ElementsAre(256, 64));
  EXPECT_THAT(a.box_dim(), ElementsAre(64, 64));
}

TEST_F(BuildTritonTest, SeveralKernelsAndWorkloadsShareOneCubin) {
  request_.workloads = {Workload("gemm_n256_k256/M=64"), Workload("gemm_n256_k256/M=70")};
  const TritonCandidate candidate = Candidate(Source("split_k.py"));
  ASSERT_EQ(candidate.plans.size(), 2);
  EXPECT_EQ(Launched(candidate.plans[0]).size(), 2);
  EXPECT_THAT(candidate.plans[0].warnings(0), HasSubstr("none was timed"));
  EXPECT_EQ(candidate.plans[0].steady(0).allocate().buffer(), 3);
  EXPECT_EQ(candidate.plans[0].steady(1).memset().width_elements(), 64 * 256 * 4);
}

TEST_F(BuildTritonTest, BlackwellIsCompiledToo) {
  request_.arch = "sm_100a";
  request_.device = capture::DeviceTable::BuiltIn().Find("", "sm_100a").value();
  EXPECT_THAT(Candidate(Source("gemm.py")).ptx, HasSubstr(".target sm_100a"));
}

TEST_F(BuildTritonTest, KernelsThatDoNotCompileAreNamedByLine) {
  const v1::Verdict verdict = Verdict(
      "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(a):\n    tl.nonsense(a)\n\ndef run(A, B, "
      "C):\n    k[(1,)](A)\n");
  EXPECT_EQ(verdict.status(), v1::VERDICT_STATUS_COMPILE_ERROR);
  ASSERT_EQ(verdict.details().diagnostics_size(), 1);
  EXPECT_EQ(verdict.details().diagnostics(0).line(), 6);
  EXPECT_THAT(verdict.details().diagnostics(0).source_text(), HasSubstr("tl.nonsense(a)"));
}

TEST_F(BuildTritonTest, BrokenPythonIsACompileError) {
  const v1::Verdict verdict = Verdict("def run(A, B, C:\n  pass\n");
  EXPECT_EQ(verdict.status(), v1::VERDICT_STATUS_COMPILE_ERROR);
  EXPECT_EQ(verdict.details().diagnostics(0).line(), 1);
}

struct Refused {
  const char* name;
  const char* body;
  v1::VerdictCode code;
  const char* words;
};

TEST_F(BuildTritonTest, HostCodeThatIsNoLaunchIsRefusedByNameAndLine) {
  const Refused cases[] = {
      {"torch op", "torch.matmul(A, B.T, out=C)", v1::VERDICT_CODE_FORBIDDEN_LIBRARY, "kernel.py:14: torch.matmul"},
      {"operator", "D = A @ B.T", v1::VERDICT_CODE_FORBIDDEN_LIBRARY, "operator @"},
      {"method", "C.copy_(A)", v1::VERDICT_CODE_FORBIDDEN_LIBRARY, "Tensor.copy_"},
      {"module", "import numpy", v1::VERDICT_CODE_FORBIDDEN_LIBRARY, "module numpy"},
      {"functional", "import torch.nn.functional as F", v1::VERDICT_CODE_FORBIDDEN_LIBRARY, "torch.nn"},
      {"item", "k[(int(A[0].item()),)](C, 16, 16)", v1::VERDICT_CODE_HOST_READS_DEVICE, "item()"},
      {"condition", "assert A[0] == 0 or bool(A)", v1::VERDICT_CODE_HOST_READS_DEVICE, "contents"},
      {"no launch", "pass", v1::VERDICT_CODE_NO_LAUNCH, "without launching"},
      {"exit", "raise SystemExit(0)", v1::VERDICT_CODE_HOST_EXIT, "exit(0)"},
      {"exception", "A.nothing = A.shape[7]", v1::VERDICT_CODE_HOST_CRASH, "IndexError"},
      {"hard exit", "import os; os._exit(0)", v1::VERDICT_CODE_HOST_CRASH, "ended its Python process"},
      {"cached tensor", "run.__dict__.setdefault('a', A); k[(1,)](run.a, 16, 16)", v1::VERDICT_CODE_PTR_CACHED,
       "call 1"},
      {"call counter", "run.n = getattr(run, 'n', 0) + 1; k[(run.n,)](C, 16, 16)", v1::VERDICT_CODE_CALLS_DIFFER,
       "grid"},
      {"swallowed", "\n    try:\n        torch.mm(A, B)\n    except Exception:\n        pass",
       v1::VERDICT_CODE_FORBIDDEN_LIBRARY, "torch.mm"}};
  for (const Refused& refused : cases) {
    const v1::Verdict verdict = Verdict(Body(refused.body));
    EXPECT_EQ(verdict.status(), v1::VERDICT_STATUS_CAPTURE_ERROR) << refused.name;
    EXPECT_EQ(verdict.code(), refused.code) << refused.name << ": " << verdict.ShortDebugString();
    EXPECT_THAT(verdict.reason(), HasSubstr(refused.words)) << refused.name;
  }
}

TEST_F(BuildTritonTest, TheEntryPointIsAskedForByName) {
  EXPECT_EQ(Verdict("import triton\n").code(), v1::VERDICT_CODE_ENTRY_MISSING);
  const v1::Verdict verdict = Verdict("def run(A, B):\n  pass\n");
  EXPECT_EQ(verdict.code(), v1::VERDICT_CODE_ENTRY_SIGNATURE);
  EXPECT_THAT(verdict.reason(), HasSubstr("def run(A, B, C)"));
}

TEST_F(BuildTritonTest, EndlessHostCodeMeetsItsDeadline) {
  request_.timeout = absl::Seconds(5);
  EXPECT_EQ(Verdict(Body("while True: pass")).code(), v1::VERDICT_CODE_COMPILE_TIMEOUT);
}

TEST_F(BuildTritonTest, HostCodeDoesNotTakeTheMachinesMemory) {
  // Reserved and never touched, so that a machine which would grant it is not harmed by this test.
  const v1::Verdict verdict =
      Verdict(Body("import mmap\n    mmap.mmap(-1, 12 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)"));
  EXPECT_EQ(verdict.code(), v1::VERDICT_CODE_HOST_CRASH);
  EXPECT_THAT(verdict.reason(), HasSubstr("Cannot allocate memory"));
}

TEST_F(BuildTritonTest, ExceptionsThatAreNoTextAreACrashOfTheCandidate) {
  const v1::Verdict half = Verdict(Body("raise ValueError('half \\ud800')"));
  EXPECT_EQ(half.code(), v1::VERDICT_CODE_HOST_CRASH);
  EXPECT_THAT(half.reason(), HasSubstr("ValueError: half ?"));
  const v1::Verdict mute =
      Verdict(Body("class Mute(Exception):\n        def __str__(self): raise KeyboardInterrupt()\n    raise Mute()"));
  EXPECT_EQ(mute.code(), v1::VERDICT_CODE_HOST_CRASH);
  EXPECT_THAT(mute.reason(), HasSubstr("run() raised Mute"));
}

TEST_F(BuildTritonTest, TheSandboxHasNoNetworkAndNoFilesOfThisMachine) {
  const v1::Verdict verdict = Verdict(
      Body("import os, socket\n    assert not os.path.exists('/root') and not os.path.exists('/etc/passwd')\n"
           "    try:\n        socket.create_connection(('192.0.2.1', 80), 0.2)\n    except OSError as e:\n      "
           "  raise ValueError('no way out')"));
  EXPECT_EQ(verdict.code(), v1::VERDICT_CODE_HOST_CRASH);
  EXPECT_THAT(verdict.reason(), HasSubstr("no way out"));
}

}  // namespace
}  // namespace sassay::agent
