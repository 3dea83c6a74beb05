// No function of the template library without a test, and no code in a prompt that does not compile.
#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/compile/compiler.h"
#include "agent/knowledge/embedded_text.h"
#include "agent/knowledge/knowledge.h"
#include "agent/knowledge/notes.h"
#include "common/base/files.h"
#include "common/workload/catalog.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;

std::string Folder() { return std::string(SASSAY_SOURCE_DIR) + "/agent/knowledge/"; }

std::string Text(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(Folder() + path);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : "";
}

// What the candidates share.
constexpr const char* kShared[] = {"boxes.cuh", "self_check.cuh", "small_integers.cuh"};

std::string Shared() {
  std::string all;
  for (const char* file : kShared) absl::StrAppend(&all, Text(absl::StrCat("testdata/", file)));
  return all;
}

// A row of testdata/functions.tsv.
struct Function {
  std::string name, header;
  std::vector<std::string> archs;
  std::string ptx;
  std::string candidate;
};

std::vector<Function> Table() {
  std::vector<Function> table;
  for (absl::string_view line : absl::StrSplit(Text("testdata/functions.tsv"), '\n', absl::SkipEmpty())) {
    if (absl::StartsWith(line, "#")) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    EXPECT_EQ(cells.size(), 5u) << line;
    if (cells.size() == 5) table.push_back({cells[0], cells[1], absl::StrSplit(cells[2], ','), cells[3], cells[4]});
  }
  return table;
}

// Functions that a header defines: "SASSAY_PTX TYPE name(", and what is constexpr or the host's.
std::set<std::string> Defined(absl::string_view header) {
  static const std::regex form(R"((?:SASSAY_PTX|inline CUtensorMap|constexpr uint32_t)\s+(?:[\w:]+&?\s+)?(\w+)\()");
  const std::string text(header);
  std::set<std::string> names;
  for (std::sregex_iterator match(text.begin(), text.end(), form), end; match != end; ++match)
    names.insert((*match)[1]);
  return names;
}

TEST(TemplatesTest, EveryFunctionIsInTheTableAndEveryRowIsAFunction) {
  std::map<std::string, std::set<std::string>> tested;
  for (const Function& function : Table()) tested[function.header].insert(function.name);
  for (const EmbeddedText& header : PtxHeaders()) {
    if (absl::StrContains(header.path, "/detail/")) continue;
    const std::string name(header.path.substr(11, header.path.size() - 15));  // sassay/ptx/NAME.cuh
    EXPECT_EQ(Defined(header.content), tested[name]) << header.path;
    // Device functions that the form above does not see would go untested.
    const std::string text(header.content);
    const auto count = [&](const char* word) {
      size_t found = 0;
      for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
      return found;
    };
    EXPECT_EQ(count("__device__"), name == "common" || name == "tcgen05" ? 1u : 0u) << header.path;
  }
  EXPECT_EQ(tested.size(), 5u);
}

TEST(TemplatesTest, WhatIsForOneBlockOrAPairIsTestedAsBoth) {
  const std::string header = Text("include/sassay/ptx/tcgen05.cuh");
  static const std::regex form(R"(int kCtas = 1>\s*SASSAY_PTX void (\w+)\()");
  size_t found = 0;
  for (std::sregex_iterator match(header.begin(), header.end(), form), end; match != end; ++match, ++found) {
    for (const char* group : {"cta_group::1", "cta_group::2"}) {
      const std::vector<Function> table = Table();
      EXPECT_TRUE(std::any_of(table.begin(), table.end(),
                              [&](const Function& function) {
                                return function.name == (*match)[1] && absl::StrContains(function.ptx, group);
                              }))
          << (*match)[1] << " with " << group;
    }
  }
  EXPECT_GE(found, 9u);
}

TEST(TemplatesTest, EveryCandidateCallsTheFunctionsItIsToCheck) {
  for (const Function& function : Table()) {
    const std::string text = Text("testdata/" + function.candidate);
    const std::regex call("\\b" + function.name + "\\s*(<[^;]*>)?\\(");
    EXPECT_TRUE(std::regex_search(text, call) || std::regex_search(Shared(), call))
        << function.candidate << " does not call " << function.name;
  }
}

class CompiledTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto found = FindToolchain();
    if (!found.ok() || found->nvcc.empty()) GTEST_SKIP() << "needs nvcc";
    if (!ProbeSandbox().Complete()) GTEST_SKIP() << ProbeSandbox().missing;
    options_.toolchain = *found;
  }

  void Add(const std::string& path, const std::string& content) {
    request_.sources.emplace_back();
    request_.sources.back().set_path(path);
    request_.sources.back().set_content(content);
  }

  // The PTX; empty if it does not compile.
  std::string Ptx(const std::string& arch, const std::string& what) {
    request_.arch = arch;
    const absl::StatusOr<CompileOutcome> outcome = Compiler(options_).Compile(request_);
    request_.sources.clear();
    EXPECT_TRUE(outcome.ok()) << what << ": " << outcome.status();
    if (!outcome.ok()) return "";
    const auto* verdict = std::get_if<v1::Verdict>(&*outcome);
    EXPECT_EQ(verdict, nullptr) << what << " for " << arch << ":\n"
                                << (verdict == nullptr ? "" : verdict->DebugString());
    if (verdict != nullptr) return "";
    const CompiledCandidate& candidate = std::get<CompiledCandidate>(*outcome);
    for (const v1::Diagnostic& diagnostic : candidate.diagnostics)
      EXPECT_NE(diagnostic.severity(), "warning") << what << ": " << diagnostic.DebugString();
    return candidate.ptx;
  }

  CompilerOptions options_;
  CompileRequest request_;
};

// Every candidate of the table, for every architecture that its functions are for.
class CandidateTest : public CompiledTest, public ::testing::WithParamInterface<std::pair<std::string, std::string>> {};

TEST_P(CandidateTest, CompilesToTheInstructionsOfItsFunctions) {
  const auto& [arch, candidate] = GetParam();
  Add(candidate, Text("testdata/" + candidate));
  for (const char* shared : kShared) Add(shared, Text(absl::StrCat("testdata/", shared)));
  const std::string ptx = Ptx(arch, candidate);
  for (const Function& function : Table()) {
    if (function.candidate != candidate || function.ptx == "-") continue;
    if (std::find(function.archs.begin(), function.archs.end(), arch) == function.archs.end()) continue;
    EXPECT_NE(ptx.find(function.ptx), std::string::npos) << candidate << " for " << arch << " has no " << function.ptx;
  }
}

std::vector<std::pair<std::string, std::string>> Candidates() {
  std::set<std::pair<std::string, std::string>> found;
  for (const Function& function : Table()) {
    for (const std::string& arch : function.archs) found.insert({arch, function.candidate});
  }
  return {found.begin(), found.end()};
}

INSTANTIATE_TEST_SUITE_P(All, CandidateTest, ::testing::ValuesIn(Candidates()), [](const auto& info) {
  return absl::StrCat(info.param.first, "_", info.param.second.substr(0, info.param.second.find('.')));
});

// What stands between ```cuda and ```.
std::vector<std::string> CodeBlocks(const std::string& text) {
  std::vector<std::string> blocks;
  const std::string open = "```cuda\n";
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at + 1)) {
    const size_t begin = at + open.size(), end = text.find("```", begin);
    blocks.push_back(text.substr(begin, end - begin));
  }
  return blocks;
}

bool IsHeader(const std::string& block) {
  return std::any_of(PtxHeaders().begin(), PtxHeaders().end(),
                     [&](const auto& header) { return header.content == block; });
}

TEST(PromptTest, ShowsTheHeadersAsTheyCompile) {
  for (const char* arch : {"sm_90a", "sm_100a"}) {
    PromptRequest request;
    request.arch = arch;
    request.parts = *ParseKnowledgeParts("templates");
    const std::vector<std::string> blocks = CodeBlocks(MakePrompt(request)->system);
    EXPECT_EQ(blocks.size(), 4u);
    EXPECT_TRUE(std::all_of(blocks.begin(), blocks.end(), IsHeader)) << arch;
  }
}

v1::Workload FirstOf(const std::string& definition) {
  const std::vector<v1::Workload> all = WorkloadCatalog::BuiltIn().List();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const v1::Workload& workload) { return workload.definition() == definition; });
  EXPECT_NE(found, all.end()) << definition;
  return found == all.end() ? v1::Workload() : *found;
}

class PromptCodeTest : public CompiledTest,
                       public ::testing::WithParamInterface<std::pair<std::string, v1::EntryAbi>> {};

TEST_P(PromptCodeTest, EveryOtherBlockCompilesByItself) {
  const auto& [arch, abi] = GetParam();
  const bool tvm_ffi = abi == v1::ENTRY_ABI_TVM_FFI;
  if (tvm_ffi && options_.toolchain.tvm_ffi_include.empty()) GTEST_SKIP() << "needs apache-tvm-ffi";
  std::vector<std::string> definitions = {"gemm_n7168_k5120"};
  // TVM FFI's headers take their time, and the declarations differ by names alone.
  if (!tvm_ffi) definitions.insert(definitions.end(), {"mha_bwd_d128", "gqa_paged_decode_h32_kv8_d128_ps1"});
  std::set<std::string> blocks;
  for (const std::string& definition : definitions) {
    PromptRequest request;
    request.arch = arch;
    request.abi = abi;
    request.workload = FirstOf(definition);
    const Prompt prompt = *MakePrompt(request);
    for (std::string& block : CodeBlocks(prompt.system + prompt.task)) {
      if (!IsHeader(block)) blocks.insert(std::move(block));
    }
  }
  EXPECT_EQ(blocks.size(), definitions.size() + 1);  // the declarations and the example
  for (const std::string& block : blocks) {
    Add("kernel.cu", block + "\n__global__ void so_that_there_is_a_kernel() {}\n");
    Ptx(arch, block);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, PromptCodeTest,
    ::testing::Values(std::pair("sm_90a", v1::ENTRY_ABI_C), std::pair("sm_90a", v1::ENTRY_ABI_TVM_FFI),
                      std::pair("sm_100a", v1::ENTRY_ABI_C), std::pair("sm_100a", v1::ENTRY_ABI_TVM_FFI)),
    [](const auto& info) {
      return absl::StrCat(info.param.first, info.param.second == v1::ENTRY_ABI_C ? "_c" : "_tvm_ffi");
    });

TEST_F(CompiledTest, KernelsOfTheShippedNotesCompile) {
  const absl::StatusOr<RepairNotes> notes = RepairNotes::Load(Folder() + "notes:kernel");
  ASSERT_TRUE(notes.ok()) << notes.status();
  for (const RepairNote& note : notes->notes()) {
    for (const std::string& block : CodeBlocks(note.explanation)) {
      Add("kernel.cu", block);
      Ptx(note.archs.empty() ? "sm_90a" : note.archs.front(), note.name);
    }
    if (note.kernel.empty()) continue;
    Add("kernel.cu", note.kernel);
    Ptx(note.archs.empty() ? "sm_90a" : note.archs.front(), note.name);
  }
}

}  // namespace
}  // namespace sassay::agent
