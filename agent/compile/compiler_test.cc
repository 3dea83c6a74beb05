#include "agent/compile/compiler.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/compile/messages/diagnostics.h"
#include "agent/compile/sources.h"
#include "common/base/files.h"
#include "common/bundle/cubin.h"
#include "common/toolchain/ptxas.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;
using sassay::v1::SourceFile;
using sassay::v1::Verdict;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const char kScale[] = R"(#include <cstdint>
namespace {
__global__ void scale(const float* a, float* b, int64_t n) {
  int64_t i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) b[i] = a[i] * 2;
}
}
extern "C" void run(const float* a, float* b, int64_t n, cudaStream_t s) { scale<<<(n + 255) / 256, 256, 0, s>>>(a, b, n); }
)";

// A source whose kernel executes `ptx`.
std::string WithPtx(const std::string& ptx) {
  return absl::StrCat(
      "__global__ void k(float* p) {\n  float x = p[0];\n  asm volatile(\"", ptx,
      "\");\n  p[0] = x;\n}\nextern \"C\" void run(float* p, cudaStream_t s) { k<<<1, 32, 0, s>>>(p); }\n");
}

SourceFile Source(const std::string& path, const std::string& content) {
  SourceFile source;
  source.set_path(path);
  source.set_content(content);
  return source;
}

class CompilerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto found = FindToolchain();
    if (!found.ok() || found->nvcc.empty()) GTEST_SKIP() << "needs nvcc";
    if (!ProbeSandbox().Complete()) GTEST_SKIP() << ProbeSandbox().missing;
    options_.toolchain = *found;
  }

  CompileOutcome Compile(const CompileRequest& request) {
    auto outcome = Compiler(options_).Compile(request);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? *std::move(outcome) : CompileOutcome(Verdict());
  }

  CompileOutcome Compile(const std::string& content) {
    CompileRequest request;
    request.sources = {Source("kernel.cu", content)};
    return Compile(request);
  }

  CompiledCandidate Good(const CompileOutcome& outcome) {
    const auto* verdict = std::get_if<Verdict>(&outcome);
    if (verdict != nullptr) ADD_FAILURE() << verdict->DebugString();
    return verdict != nullptr ? CompiledCandidate() : std::get<CompiledCandidate>(outcome);
  }

  Verdict Bad(const CompileOutcome& outcome) {
    const auto* verdict = std::get_if<Verdict>(&outcome);
    if (verdict == nullptr) {
      ADD_FAILURE() << "compiled";
      return Verdict();
    }
    EXPECT_EQ(verdict->status(), sassay::v1::VERDICT_STATUS_COMPILE_ERROR);
    EXPECT_EQ(verdict->stage(), sassay::v1::STAGE_COMPILE);
    EXPECT_THAT(verdict->reason(), Not(HasSubstr("\n")));
    for (const char* path : {"/tmp/", "/candidate", "/build", "/root", "/home"}) {
      EXPECT_THAT(verdict->DebugString(), Not(HasSubstr(path)));
    }
    return *verdict;
  }

  CompilerOptions options_;
};

TEST_F(CompilerTest, GivesCubinPtxHostLibraryAndFacts) {
  CompiledCandidate candidate = Good(Compile(kScale));
  auto cubin = Cubin::Parse(candidate.cubin);
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  EXPECT_EQ(cubin->arch(), "sm_90a");
  EXPECT_THAT(candidate.ptx, AllOf(HasSubstr(".target sm_90a"), HasSubstr("\"/candidate/kernel.cu\"")));
  EXPECT_EQ(candidate.shared_object.substr(1, 3), "ELF");
  EXPECT_THAT(candidate.shared_object, HasSubstr(candidate.cubin.substr(0x200, 0x400)));
  EXPECT_THAT(candidate.shared_object, Not(HasSubstr("libcudart")));
  ASSERT_EQ(candidate.kernels.size(), 1u);
  EXPECT_THAT(candidate.kernels[0].name(), HasSubstr("scale(float const*, float*, long)"));
  EXPECT_GT(candidate.kernels[0].registers(), 0u);
  EXPECT_THAT(candidate.kernels[0].parameter_bytes(), ::testing::ElementsAre(8, 8, 8));
  EXPECT_EQ(candidate.compilation.arch(), "sm_90a");
  EXPECT_THAT(candidate.compilation.ptxas_options(), ::testing::ElementsAre("-v", "--generate-line-info"));
  EXPECT_TRUE(candidate.diagnostics.empty()) << candidate.diagnostics[0].DebugString();
  EXPECT_EQ(candidate.sources.size(), 1u);
}

TEST_F(CompilerTest, HeadersOfTheTemplateLibraryComeAlong) {
  CompileRequest request;
  request.sources = {Source("kernel.cu",
                            "#include <sassay/ptx/mbarrier.cuh>\n__global__ void k() {\n  __shared__ uint64_t "
                            "bar;\n  sassay::ptx::mbarrier_init(&bar, 1);\n}\n"
                            "extern \"C\" void run(cudaStream_t s) { k<<<1, 1, 0, s>>>(); }\n")};
  const CompiledCandidate candidate = Good(Compile(request));
  EXPECT_THAT(candidate.ptx, HasSubstr("mbarrier.init.shared::cta.b64"));
  ASSERT_EQ(candidate.sources.size(), 3u);
  EXPECT_EQ(candidate.sources[2].path(), "sassay/ptx/mbarrier.cuh");

  // What the bundle holds gives the same candidate again.
  request.sources = candidate.sources;
  EXPECT_EQ(Good(Compile(request)).cubin, candidate.cubin);
}

TEST_F(CompilerTest, AMistakeInTheUseOfATemplateIsShownInTheCandidate) {
  const Verdict verdict =
      Bad(Compile("#include <sassay/ptx/tma.cuh>\n__global__ void k() {\n  "
                  "sassay::ptx::tma_commit(0);\n}\n"));
  ASSERT_GT(verdict.details().diagnostics_size(), 0);
  EXPECT_EQ(verdict.details().diagnostics(0).file(), "kernel.cu");
  EXPECT_EQ(verdict.details().diagnostics(0).line(), 3u);
}

TEST_F(CompilerTest, GivesTheSameBytesInAnyFolderAtAnyTime) {
  CompiledCandidate first = Good(Compile(kScale)), second = Good(Compile(kScale));
  EXPECT_TRUE(first.cubin == second.cubin);
  EXPECT_EQ(first.ptx, second.ptx);
  EXPECT_EQ(first.compilation.SerializeAsString(), second.compilation.SerializeAsString());
}

TEST_F(CompilerTest, GivesACubinThatPtxasAloneReproduces) {
  CompiledCandidate candidate = Good(Compile(kScale));
  auto assembly = AssemblePtx(options_.toolchain, candidate.compilation, candidate.ptx, absl::Seconds(60));
  ASSERT_TRUE(assembly.ok()) << assembly.status();
  EXPECT_TRUE(assembly->cubin == candidate.cubin);
}

TEST_F(CompilerTest, AnswersFromTheCacheQuickly) {
  auto folder = TemporaryDirectory::Create("compiler-test");
  options_.cache_directory = folder->path() / "cache";
  CompiledCandidate first = Good(Compile(kScale));
  CompiledCandidate second = Good(Compile(kScale));
  EXPECT_FALSE(first.from_cache);
  EXPECT_TRUE(second.from_cache);
  EXPECT_TRUE(first.cubin == second.cubin && first.shared_object == second.shared_object && first.ptx == second.ptx);
  EXPECT_EQ(first.kernels[0].SerializeAsString(), second.kernels[0].SerializeAsString());
  EXPECT_EQ(second.sources[0].content(), kScale);
  EXPECT_LT(second.wall, absl::Milliseconds(50) * 10) << "far from a cache hit";
  CompileRequest other;
  other.sources = {Source("kernel.cu", kScale)};
  other.defines = {"X=1"};
  EXPECT_FALSE(Good(Compile(other)).from_cache);
}

TEST_F(CompilerTest, ErrorFromTheCacheIsTheSameVerdict) {
  auto folder = TemporaryDirectory::Create("compiler-test");
  options_.cache_directory = folder->path() / "cache";
  const std::string source = "extern \"C\" void run() { int x = undeclared; }\n";
  const Verdict first = Bad(Compile(source));
  EXPECT_THAT(first.reason(), HasSubstr("undeclared"));
  // A compilation would be late.
  options_.timeout = absl::Milliseconds(1);
  EXPECT_EQ(Bad(Compile(source)).DebugString(), first.DebugString());
  EXPECT_EQ(Bad(Compile(source + "\n")).code(), sassay::v1::VERDICT_CODE_COMPILE_TIMEOUT);
}

TEST_F(CompilerTest, CompilesForBlackwell) {
  CompileRequest request;
  request.sources = {Source("kernel.cu", kScale)};
  request.arch = "sm_100a";
  EXPECT_EQ(Cubin::Parse(Good(Compile(request)).cubin)->arch(), "sm_100a");
}

TEST_F(CompilerTest, TakesSeveralFilesIncludeFoldersAndDefines) {
  auto folder = TemporaryDirectory::Create("compiler-test");
  fs::path include = folder->path() / "include";
  fs::create_directory(include);
  std::ofstream(include / "factor.h") << "constexpr float kFactor = FACTOR;\n";
  CompileRequest request;
  request.sources = {
      Source("src/a.cu",
             "#include \"b.cuh\"\n#include <factor.h>\n__global__ void a(float* p) { *p = b(*p) * kFactor; }\n"),
      Source("src/b.cuh", "__device__ inline float b(float x) { return x + 1; }\n"),
      Source("src/c.cu", "__global__ void c(float*);\n__global__ void c(float* p) { *p = 0; }\n")};
  request.include_directories = {include.string()};
  request.defines = {"FACTOR=(2.5f)"};
  CompiledCandidate candidate = Good(Compile(request));
  ASSERT_EQ(candidate.kernels.size(), 2u);
  EXPECT_THAT(candidate.compilation.options(), ::testing::Contains("-DFACTOR=(2.5f)"));
  EXPECT_THAT(candidate.ptx, Not(HasSubstr(folder->path().string())));
}

TEST_F(CompilerTest, ReportsASyntaxErrorWithLineAndText) {
  Verdict verdict = Bad(Compile("extern \"C\" void run() {\n  int x = 1\n  x = 2;\n}\n"));
  EXPECT_EQ(verdict.code(), sassay::v1::VERDICT_CODE_NVCC_ERROR);
  EXPECT_EQ(verdict.reason(), "kernel.cu:3: error: expected a \";\"");
  ASSERT_GE(verdict.details().diagnostics_size(), 1);
  const auto& diagnostic = verdict.details().diagnostics(0);
  EXPECT_EQ(diagnostic.file(), "kernel.cu");
  EXPECT_EQ(diagnostic.line(), 3u);
  EXPECT_EQ(diagnostic.column(), 3u);
  EXPECT_EQ(diagnostic.source_text(), "  x = 2;");
  EXPECT_EQ(diagnostic.tool(), "nvcc");
}

TEST_F(CompilerTest, MapsAPtxasErrorToTheSourceLine) {
  Verdict verdict = Bad(Compile(WithPtx("add.f32.backwards %f1, %f1, %f1;")));
  EXPECT_EQ(verdict.code(), sassay::v1::VERDICT_CODE_PTXAS_ERROR);
  EXPECT_THAT(verdict.reason(), AllOf(HasSubstr("kernel.cu:3: error:"), HasSubstr(".backwards")));
  EXPECT_THAT(verdict.details().diagnostics(0).source_text(), HasSubstr("asm volatile"));
}

TEST_F(CompilerTest, TellsPtxOfAnotherArchitecture) {
  Verdict verdict = Bad(Compile(WithPtx("tcgen05.fence::before_thread_sync;")));
  EXPECT_EQ(verdict.code(), sassay::v1::VERDICT_CODE_WRONG_ARCH_PTX);
  EXPECT_THAT(verdict.reason(), AllOf(HasSubstr("kernel.cu:3"), HasSubstr("sm_90a")));
}

TEST_F(CompilerTest, NamesTheKernelWithTooMuchSharedMemory) {
  Verdict verdict =
      Bad(Compile("__global__ void big(float* p) {\n  __shared__ float s[80000];\n  s[threadIdx.x] = p[0];\n"
                  "  __syncthreads();\n  p[1] = s[threadIdx.x ^ 3];\n}\n"
                  "extern \"C\" void run(float* p, cudaStream_t s) { big<<<1, 32, 0, s>>>(p); }\n"));
  EXPECT_EQ(verdict.code(), sassay::v1::VERDICT_CODE_PTXAS_ERROR);
  EXPECT_THAT(verdict.reason(), AllOf(HasSubstr("kernel.cu:"), HasSubstr("'big'"), HasSubstr("too much shared data")));
}

TEST_F(CompilerTest, BlamesTheHostCompiler) {
  Verdict verdict = Bad(Compile("extern \"C\" void run() { asm(\"bogus %rax\"); }\n"));
  EXPECT_EQ(verdict.code(), sassay::v1::VERDICT_CODE_HOST_COMPILER_ERROR);
  EXPECT_THAT(verdict.reason(), AllOf(HasSubstr("kernel.cu:1"), HasSubstr("bogus")));
}

TEST_F(CompilerTest, BlamesTheLinker) {
  Verdict verdict =
      Bad(Compile("extern \"C\" __attribute__((visibility(\"hidden\"))) void nowhere();\nextern \"C\" void run() { "
                  "nowhere(); }\n"));
  EXPECT_EQ(verdict.code(), sassay::v1::VERDICT_CODE_LINK_ERROR);
  EXPECT_THAT(verdict.reason(), HasSubstr("nowhere"));
}

TEST_F(CompilerTest, SaysWhyOneNameInTwoFilesIsAnError) {
  CompileRequest request;
  request.sources = {Source("a.cu", "static __global__ void kernel() {}\n"),
                     Source("b.cu", "static __global__ void kernel() {}\n")};
  Verdict verdict = Bad(Compile(request));
  EXPECT_EQ(verdict.code(), sassay::v1::VERDICT_CODE_NVCC_ERROR);
  ASSERT_EQ(verdict.details().notes_size(), 1);
  EXPECT_THAT(verdict.details().notes(0), HasSubstr("one translation unit"));
}

TEST_F(CompilerTest, DoesNotTakeTheSourcesWordsForALimit) {
  Verdict verdict = Bad(Compile(
      "#include <cstdio>\nextern \"C\" void run() {\n  if (undefined_name) std::printf(\"out of memory\\n\");\n}\n"));
  EXPECT_EQ(verdict.code(), sassay::v1::VERDICT_CODE_NVCC_ERROR);
  EXPECT_THAT(verdict.reason(), HasSubstr("kernel.cu:3: error: identifier \"undefined_name\" is undefined"));
}

TEST_F(CompilerTest, NamesAMissingHeader) {
  Verdict verdict = Bad(Compile("#include <no/such/header.h>\n"));
  EXPECT_EQ(verdict.code(), sassay::v1::VERDICT_CODE_NVCC_ERROR);
  EXPECT_THAT(verdict.reason(), AllOf(HasSubstr("kernel.cu:1"), HasSubstr("no/such/header.h")));
}

TEST_F(CompilerTest, HidesTheFilesOfTheMachine) {
  for (const char* source : {"#include \"/etc/passwd\"\nextern \"C\" void run() {}\n",
                             "extern \"C\" void run() { asm(\".incbin \\\"/etc/passwd\\\"\"); }\n"}) {
    Verdict verdict = Bad(Compile(source));
    EXPECT_THAT(verdict.DebugString(), AllOf(HasSubstr("kernel.cu"), Not(HasSubstr("root:"))));
  }
}

TEST_F(CompilerTest, EndsACompilerBomb) {
  options_.timeout = absl::Seconds(4);
  Verdict verdict = Bad(Compile(
      "template <int D, int S> struct B { static constexpr long v = B<D - 1, 2 * S>::v + B<D - 1, 2 * S + 1>::v; };\n"
      "template <int S> struct B<0, S> { static constexpr long v = S; };\n"
      "extern \"C\" void run(long* p) { *p = B<40, 1>::v; }\n"));
  EXPECT_EQ(verdict.code(), sassay::v1::VERDICT_CODE_COMPILE_TIMEOUT);
}

TEST_F(CompilerTest, FindsTheErrorAfterAFloodOfWarnings) {
  std::string source = "extern \"C\" void run() {\n";
  for (int i = 0; i < 400; ++i) absl::StrAppend(&source, "  { int a", std::string(3000, 'x'), i, "; }\n");
  source += "  int y = undefined_name;\n}\n";
  Verdict verdict = Bad(Compile(source));
  EXPECT_EQ(verdict.code(), sassay::v1::VERDICT_CODE_NVCC_ERROR);
  EXPECT_THAT(verdict.reason(), HasSubstr("identifier \"undefined_name\" is undefined"));
}

TEST_F(CompilerTest, ReportsMemoryAsALimit) {
  options_.memory_bytes = 200 << 20;
  Verdict verdict = Bad(Compile(kScale));
  EXPECT_EQ(verdict.code(), sassay::v1::VERDICT_CODE_COMPILE_LIMIT) << verdict.reason();
}

TEST_F(CompilerTest, FullDiskIsNotTheSourcesFault) {
  auto folder = TemporaryDirectory::Create("compiler-test");
  options_.cache_directory = folder->path() / "cache";
  const fs::path disk = folder->path() / "disk";
  fs::create_directory(disk);
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "cannot mount a small disk here";
  const char* before = std::getenv("TMPDIR");
  setenv("TMPDIR", disk.c_str(), 1);
  CompileRequest request;
  request.sources = {Source("kernel.cu", kScale)};
  const auto outcome = Compiler(options_).Compile(request);
  before != nullptr ? setenv("TMPDIR", before, 1) : unsetenv("TMPDIR");
  umount2(disk.c_str(), MNT_DETACH);
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kUnavailable) << outcome.status();
  EXPECT_THAT(std::string(outcome.status().message()), AllOf(HasSubstr("TMPDIR"), HasSubstr(disk.string())));
  EXPECT_FALSE(Good(Compile(request)).from_cache);
}

TEST_F(CompilerTest, KeepsWarnings) {
  CompiledCandidate candidate = Good(Compile("__global__ void k(float* p) {\n  int unused;\n  *p = 1;\n}\n"));
  ASSERT_EQ(candidate.diagnostics.size(), 1u);
  EXPECT_EQ(candidate.diagnostics[0].severity(), "warning");
  EXPECT_THAT(candidate.compilation.warnings(0), HasSubstr("kernel.cu:2: warning:"));
}

TEST_F(CompilerTest, RefusesARequestThatMakesNoSense) {
  CompileRequest request;
  EXPECT_EQ(Compiler(options_).Compile(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.sources = {Source("../x.cu", "")};
  EXPECT_EQ(Compiler(options_).Compile(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.sources = {Source("x.cu", "")};
  request.include_directories = {"usr"};
  EXPECT_EQ(Compiler(options_).Compile(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.include_directories.clear();
  request.defines = {"-o=/x"};
  EXPECT_EQ(Compiler(options_).Compile(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.defines.clear();
  options_.toolchain.nvcc.clear();
  EXPECT_EQ(Compiler(options_).Compile(request).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(CompilerTest, CompilesWithoutASandboxWhenTold) {
  options_.unsandboxed = AllowUnsandboxed{"test"};
  CompiledCandidate candidate = Good(Compile(kScale));
  EXPECT_EQ(candidate.unsandboxed_reason, "test");
  EXPECT_EQ(candidate.kernels.size(), 1u);
}

TEST_F(CompilerTest, ExamplesCompileWithoutAWarning) {
  const char* root = std::getenv("SASSAY_TEST_SOURCE");
  if (root == nullptr) GTEST_SKIP() << "SASSAY_TEST_SOURCE names the source tree";
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(root) / "agent/examples")) {
    if (entry.path().extension() != ".cu") continue;
    if (absl::StrContains(entry.path().string(), "tvm_ffi") && options_.toolchain.tvm_ffi_include.empty()) continue;
    CompileRequest request;
    request.sources = *LoadSources({entry.path().string()});
    if (absl::StrContains(entry.path().string(), "/blackwell/")) request.arch = "sm_100a";
    CompiledCandidate candidate = Good(Compile(request));
    EXPECT_TRUE(candidate.diagnostics.empty()) << entry.path() << candidate.diagnostics[0].DebugString();
    ++count;
  }
  EXPECT_GE(count, 10);
}

}  // namespace
}  // namespace sassay
