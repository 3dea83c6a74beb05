#include "agent/compile/messages/diagnostics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

using sassay::v1::Diagnostic;
using sassay::v1::SourceFile;

class DiagnosticsTest : public ::testing::Test {
 protected:
  DiagnosticsTest() {
    SourceFile& file = sources_.emplace_back();
    file.set_path("kernel.cu");
    file.set_content("line one\n    x = 3;\nline three\n");
    context_.sources = &sources_;
    context_.path_names = {{"/candidate/", ""}, {"/build/", ""}, {"/cuda/", "cuda/"}};
  }

  std::vector<Diagnostic> Parse(NvccTool tool, absl::string_view text) {
    return ParseDiagnostics(tool, text, context_);
  }

  std::vector<SourceFile> sources_;
  DiagnosticContext context_;
};

TEST_F(DiagnosticsTest, ReadsTheFrontEnd) {
  auto found = Parse(NvccTool::kFrontEnd,
                     "/candidate/kernel.cu(2): error: identifier \"x\" is undefined\n"
                     "      x = 3;\n"
                     "      ^\n"
                     "          detected during instantiation of \"void f<T>() [with T=int]\" at line 9\n"
                     "\n"
                     "/candidate/kernel.cu(3): warning #177-D: variable \"y\" was declared but never referenced\n"
                     "  int y;\n"
                     "      ^\n"
                     "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n"
                     "1 error detected in the compilation of \"/candidate/kernel.cu\".\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(DiagnosticLine(found[0]),
            "kernel.cu:2: error: identifier \"x\" is undefined (detected during instantiation of \"void f<T>() [with "
            "T=int]\" "
            "at line 9)");
  EXPECT_EQ(found[0].column(), 5u);
  EXPECT_EQ(found[0].source_text(), "    x = 3;");
  EXPECT_EQ(found[1].severity(), "warning");
  EXPECT_EQ(found[1].line(), 3u);
}

TEST_F(DiagnosticsTest, NamesTheBracketThatIsOpenWhereTheSourceWasCutOff) {
  auto found = Parse(NvccTool::kFrontEnd,
                     "At end of source: error: expected a \"}\"\n"
                     "/candidate/kernel.cu(2): note #3196-D: to match this \"{\"\n"
                     "      x = 3;\n"
                     "        ^\n"
                     "\n"
                     "At end of source: error: expected a \";\"\n"
                     "\n"
                     "2 errors detected in the compilation of \"/candidate/kernel.cu\".\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(DiagnosticLine(found[0]),
            "kernel.cu:2: error: at the end of the source: expected a \"}\" to match this \"{\"");
  EXPECT_EQ(found[0].column(), 7u);
  EXPECT_EQ(found[0].source_text(), "    x = 3;");
  EXPECT_EQ(DiagnosticLine(found[1]), "error: at the end of the source: expected a \";\"");
}

TEST_F(DiagnosticsTest, KeepsPathsThatOnlyEndLikeOneOfOurs) {
  context_.path_names.insert(context_.path_names.begin() + 2, {"./", ""});
  auto found = Parse(NvccTool::kHostCompiler,
                     "./kernel.cu:1:10: fatal error: ../common.h: No such file or directory\n"
                     "/candidate/kernel.cu:2:1: error: in file included from ./kernel.cu\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(DiagnosticLine(found[0]), "kernel.cu:1: error: ../common.h: No such file or directory");
  EXPECT_EQ(found[1].message(), "in file included from kernel.cu");
}

TEST_F(DiagnosticsTest, ReadsTheLinker) {
  auto found =
      Parse(NvccTool::kLinker,
            "/usr/bin/ld: kernel.o: in function `run':\n"
            "/candidate/kernel.cu:2: undefined reference to `nowhere'\n"
            "/usr/bin/ld: b.o:/candidate/kernel.cu:3: multiple definition of `run'; a.o:a.cu:1: first defined here\n"
            "tmp.cpp:(.text+0x5): undefined reference to `other'\n"
            "/usr/bin/ld: k.so: hidden symbol `nowhere' isn't defined\n"
            "/usr/bin/ld: final link failed: bad value\n"
            "collect2: error: ld returned 1 exit status\n");
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(DiagnosticLine(found[0]), "kernel.cu:2: error: undefined reference to `nowhere'");
  EXPECT_EQ(found[0].source_text(), "    x = 3;");
  EXPECT_EQ(found[1].line(), 3u);
  EXPECT_EQ(DiagnosticLine(found[2]), "tmp.cpp: error: undefined reference to `other'");
  EXPECT_EQ(found[3].message(), "k.so: hidden symbol `nowhere' isn't defined");
}

TEST_F(DiagnosticsTest, MakesUtf8OfOtherEncodings) {
  auto found = Parse(NvccTool::kFrontEnd, "/build/x.h(2): error: unexpected \"\xe9\"\n  int \xe9;\n      ^\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message(), "unexpected \"?\"");
  EXPECT_EQ(found[0].source_text(), "int ?;");
}

TEST_F(DiagnosticsTest, ReadsTheHostCompiler) {
  auto found = Parse(NvccTool::kHostCompiler,
                     "/candidate/kernel.cu:2:10: fatal error: foo.h: No such file or directory\n"
                     "    2 | #include <foo.h>\n"
                     "      |          ^~~~~~~\n"
                     "compilation terminated.\n"
                     "/candidate/kernel.cu: Assembler messages:\n"
                     "/candidate/kernel.cu:1: Error: no such instruction: `bogus'\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(DiagnosticLine(found[0]), "kernel.cu:2: error: foo.h: No such file or directory");
  EXPECT_EQ(found[0].column(), 10u);
  EXPECT_EQ(found[1].severity(), "error");
  EXPECT_EQ(found[1].tool(), "host compiler");
}

TEST_F(DiagnosticsTest, MapsPtxasToTheSource) {
  context_.ptx = ".visible .entry _Z3bigPf(\n)\n{\n.loc 1 2 0\nadd.bogus %r1;\n}\n.file 1 \"/candidate/kernel.cu\"\n";
  auto found =
      Parse(NvccTool::kPtxas,
            "ptxas /work/kernel.ptx, line 5; error   : Unknown modifier '.bogus'\n"
            "ptxas fatal   : Ptx assembly aborted due to errors\n"
            "ptxas error   : Entry function '_Z3bigPf' uses too much shared data (0x4e200 bytes, 0x38c00 max)\n"
            "ptxas info    : Used 10 registers\n"
            "ptxas warning : Stack size for entry function 'elsewhere' cannot be determined\n");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(DiagnosticLine(found[0]), "kernel.cu:2: error: Unknown modifier '.bogus' (PTX line 5: add.bogus %r1;)");
  EXPECT_EQ(found[0].source_text(), "    x = 3;");
  EXPECT_EQ(DiagnosticLine(found[1]),
            "kernel.cu:2: error: Entry function 'big' uses too much shared data (0x4e200 bytes, 0x38c00 max)");
  EXPECT_EQ(found[2].severity(), "warning");
}

TEST_F(DiagnosticsTest, ReadsWhereALinkerMissesASymbol) {
  auto found = Parse(NvccTool::kLinker,
                     "/usr/bin/ld: /build/kernel.o: relocation R_X86_64_32 against symbol `x' can not be used when "
                     "making a shared object\n"
                     "collect2: error: ld returned 1 exit status\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(DiagnosticLine(found[0]),
            "error: kernel.o: relocation R_X86_64_32 against symbol `x' can not be used when making a shared object");
}

TEST_F(DiagnosticsTest, CutsUnknownPathsToTheName) {
  EXPECT_EQ(ShownPath(context_, "/home/somebody/secret/a.h"), "a.h");
  EXPECT_EQ(ShownPath(context_, "/cuda/include/cuda_bf16.hpp"), "cuda/include/cuda_bf16.hpp");
  EXPECT_EQ(ShownPath(context_, "/candidate/src/b.cu"), "src/b.cu");
}

TEST_F(DiagnosticsTest, PutsErrorsFirstAndDropsRepetitions) {
  auto found =
      Parse(NvccTool::kFrontEnd,
            "kernel.cu(1): warning #1-D: w\nkernel.cu(2): error: e\nkernel.cu(2): error: e\nkernel.cu(3): error: f\n");
  auto ordered = OrderDiagnostics(found, 2);
  ASSERT_EQ(ordered.size(), 2u);
  EXPECT_EQ(ordered[0].message(), "e");
  EXPECT_EQ(ordered[1].message(), "f");
}

TEST_F(DiagnosticsTest, SurvivesLongLines) {
  std::string line(1 << 20, 'a');
  EXPECT_TRUE(Parse(NvccTool::kFrontEnd, line + ": error: x\n" + line).empty());
}

}  // namespace
}  // namespace sassay
