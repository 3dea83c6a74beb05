#include "common/toolchain/ptxas.h"

#include <utime.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(60);

sassay::v1::Compilation Hopper(const std::vector<std::string>& options = DefaultPtxasOptions()) {
  sassay::v1::Compilation compilation;
  compilation.set_arch("sm_90a");
  compilation.mutable_ptxas_options()->Assign(options.begin(), options.end());
  return compilation;
}

// A kernel with a line table that names `file`.
std::string Ptx(const std::string& file, const std::string& body = "ret;") {
  return absl::StrCat(
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.loc 1 3 0\n", body,
      "\n}\n.file 1 \"", file, "\"\n");
}

class Ptxas : public ::testing::Test {
 protected:
  void SetUp() override {
    auto found = FindToolchain();
    if (!found.ok()) GTEST_SKIP() << found.status().message();
    if (!ProbeSandbox().Complete()) GTEST_SKIP() << ProbeSandbox().missing;
    toolchain_ = *found;
  }

  std::string Cubin(const std::string& ptx, const sassay::v1::Compilation& compilation = Hopper()) {
    auto assembly = AssemblePtx(toolchain_, compilation, ptx, kLong);
    EXPECT_TRUE(assembly.ok()) << assembly.status();
    if (!assembly.ok()) return "";
    EXPECT_TRUE(assembly->report.Succeeded()) << assembly->report.stderr_text;
    return assembly->cubin;
  }

  Toolchain toolchain_;
};

TEST(BuildPtxasArguments, FollowsTheRule) {
  EXPECT_THAT(BuildPtxasArguments("ptxas", Hopper(), "in.ptx", "out.cubin").value(),
              ElementsAre("ptxas", "-arch=sm_90a", "-m64", "-v", "--generate-line-info", "in.ptx", "-o", "out.cubin"));
}

TEST(BuildPtxasArguments, RefusesWhatABundleMayNotAskFor) {
  for (const char* option : {"-o", "--output-file=/x", "--options-file=/etc/passwd", "", "/etc/passwd",
                             "--maxrregcount=", "--maxrregcount=9999", "--maxrregcount=x", "-v\n"}) {
    auto arguments = BuildPtxasArguments("ptxas", Hopper({option}), "in", "out");
    EXPECT_EQ(arguments.status().code(), absl::StatusCode::kInvalidArgument) << option;
    EXPECT_THAT(std::string(arguments.status().message()), HasSubstr("ptxas_options"));
  }
  for (const char* arch : {"", "sm_", "90a", "sm_90a -o x", "sm_9x", "sm_90ab", "compute_90a"}) {
    sassay::v1::Compilation compilation = Hopper();
    compilation.set_arch(arch);
    EXPECT_FALSE(BuildPtxasArguments("ptxas", compilation, "in", "out").ok()) << arch;
  }
}

TEST_F(Ptxas, GivesTheSameBytesAgain) {
  std::string ptx = Ptx("/candidate/kernel.cu");
  EXPECT_TRUE(Cubin(ptx) == Cubin(ptx));
  EXPECT_EQ(Cubin(ptx).substr(0, 4),
            "\x7f"
            "ELF");
}

TEST_F(Ptxas, DoesNotSeeTheFilesThatTheLineTableNames) {
  auto folder = TemporaryDirectory::Create("ptxas-test");
  ASSERT_TRUE(folder.ok());
  fs::path source = folder->path() / "kernel.cu";
  std::string ptx = Ptx(source.string());
  std::string absent = Cubin(ptx);
  std::ofstream(source) << "text";
  EXPECT_TRUE(Cubin(ptx) == absent);
  // What would happen otherwise, and why the rule exists.
  AllowUnsandboxed token{"test"};
  std::string seen = AssemblePtx(toolchain_, Hopper(), ptx, kLong, &token)->cubin;
  EXPECT_FALSE(seen == absent);
  // A header of the system that exists on some machines only.
  std::string header = Ptx("/usr/include/stdio.h"), missing = Ptx("/usr/include/stdxx.h");
  EXPECT_TRUE(absl::StrReplaceAll(Cubin(header), {{"stdio", "stdxx"}}) == Cubin(missing));
}

TEST_F(Ptxas, BytesDependOnTheOptionsThoughNotOnTheirOrder) {
  std::string ptx = Ptx("/candidate/kernel.cu"), cubin = Cubin(ptx);
  EXPECT_FALSE(cubin == Cubin(ptx, Hopper({"--generate-line-info"})));
  EXPECT_TRUE(cubin == Cubin(ptx, Hopper({"--generate-line-info", "-v"})));
}

TEST_F(Ptxas, IsRunByNvccAsTheRuleSays) {
  if (toolchain_.nvcc.empty()) GTEST_SKIP() << "no nvcc beside ptxas";
  Command command;
  command.argv = {toolchain_.nvcc,
                  "--dryrun",
                  "-gencode",
                  "arch=compute_90a,code=sm_90a",
                  "-shared",
                  "-cudart",
                  "none",
                  "-lineinfo",
                  "-Xptxas",
                  "-v",
                  "--keep",
                  "--keep-dir",
                  ".",
                  "-o",
                  "k.so",
                  "kernel.cu"};
  command.environment = {{"PATH", "/usr/bin:/bin"}};
  auto report = RunToCompletion(command, kLong);
  ASSERT_TRUE(report.ok());
  std::string lines = absl::StrReplaceAll(report->stderr_text, {{"  ", " "}, {"\"", ""}});
  EXPECT_THAT(lines, HasSubstr("ptxas -arch=sm_90a -m64 -v --generate-line-info ./kernel.ptx -o ./kernel.cubin"));
}

TEST_F(Ptxas, ReportsRefusedPtx) {
  auto assembly = AssemblePtx(toolchain_, Hopper(), Ptx("/candidate/kernel.cu", "nonsense.f32 a, b;"), kLong);
  ASSERT_TRUE(assembly.ok());
  EXPECT_FALSE(assembly->report.Succeeded());
  EXPECT_EQ(assembly->cubin, "");
  EXPECT_THAT(assembly->report.stderr_text, HasSubstr("line 7"));
}

}  // namespace
}  // namespace sassay
