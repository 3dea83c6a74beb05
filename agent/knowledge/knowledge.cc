#include "agent/knowledge/knowledge.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/knowledge/embedded_text.h"
#include "agent/knowledge/task.h"
#include "common/base/suggest.h"

namespace sassay::agent {
namespace {

// What differs between architectures, besides whole texts.
struct Architecture {
  const char* name;
  const char* gpu;
  const char* number;
  std::vector<const char*> headers;
  // Of the contract.
  const char* family;
  const char* illegal;
  const char* slow;
};

const Architecture kArchitectures[] = {
    {"sm_90a",
     "H100 and H200",
     "90",
     {"sassay/ptx/common.cuh", "sassay/ptx/mbarrier.cuh", "sassay/ptx/tma.cuh", "sassay/ptx/wgmma.cuh"},
     "wgmma or TMA",
     "wgmma or setmaxnreg not executed by all four warps of a warpgroup",
     "wgmma serialised by the compiler (it warns: keep fence, products, commit and wait in one inlined function)"},
    {"sm_100a",
     "B200",
     "100",
     {"sassay/ptx/common.cuh", "sassay/ptx/mbarrier.cuh", "sassay/ptx/tma.cuh", "sassay/ptx/tcgen05.cuh"},
     "tcgen05",
     "an instruction descriptor with a shape or type that there is not; cta_group::1 and ::2 mixed",
     "one accumulator, so that the epilogue waits for the products"},
};

const Architecture* FindArchitecture(absl::string_view name) {
  for (const Architecture& architecture : kArchitectures) {
    if (name == architecture.name) return &architecture;
  }
  return nullptr;
}

absl::string_view Find(absl::Span<const EmbeddedText> texts, absl::string_view path) {
  for (const EmbeddedText& text : texts) {
    if (text.path == path) return text.content;
  }
  return "";
}

std::string Text(absl::string_view path) { return std::string(Find(PromptTexts(), path)); }

// Without the first lines, which tell tests what to expect.
std::string Code(absl::string_view path) {
  absl::string_view code = Find(PromptTexts(), path);
  while (absl::StartsWith(code, "// expect: ") || absl::StartsWith(code, "// on cuda: "))
    code.remove_prefix(code.find('\n') + 1);
  return std::string(code);
}

std::string Role(const Architecture& arch) {
  return absl::StrReplaceAll(Text("role.md"), {{"{{gpu}}", arch.gpu}, {"{{arch}}", arch.name}});
}

std::string Params(const Architecture& arch) { return Text(absl::StrCat("params_", arch.name, ".md")); }

std::string Templates(const Architecture& arch) {
  std::string text = Text(absl::StrCat("templates_", arch.name, ".md"));
  for (const char* header : arch.headers)
    absl::StrAppend(&text, "\n<", header, ">\n```cuda\n", Find(PtxHeaders(), header), "```\n");
  return text;
}

// The example with the entry point that `abi` asks for.
std::string Example(const Architecture& arch, sassay::v1::EntryAbi abi) {
  const std::string code = Code(absl::StrCat("example_", arch.name, ".cu"));
  if (abi != sassay::v1::ENTRY_ABI_TVM_FFI) return code;
  const std::string includes =
      "#include <tvm/ffi/container/tensor.h>\n#include <tvm/ffi/extra/c_env_api.h>\n#include <tvm/ffi/function.h>\n\n"
      "using namespace sassay::ptx;";
  return absl::StrCat(absl::StrReplaceAll(code, {{"extern \"C\" void run(", "static void Launch("},
                                                 {"\nusing namespace sassay::ptx;", includes}}),
                      Code("entry_tvm_ffi.inc"));
}

std::string Contract(const Architecture& arch, const PromptRequest& request) {
  const bool tvm_ffi = request.abi == sassay::v1::ENTRY_ABI_TVM_FFI;
  const std::string baseline = BaselineName(request.workload);
  const std::string entry = Text(tvm_ffi ? "abi_tvm_ffi.md" : "abi_c.md");
  return absl::StrReplaceAll(Text("contract.md"), {{"{{number}}", arch.number},
                                                   {"{{arch}}", arch.name},
                                                   {"{{abi_headers}}", tvm_ffi ? ", and TVM FFI's" : ""},
                                                   {"{{abi}}", absl::StripSuffix(entry, "\n")},
                                                   {"{{family}}", arch.family},
                                                   {"{{illegal}}", arch.illegal},
                                                   {"{{slow}}", arch.slow},
                                                   {"{{baseline}}", baseline.empty() ? "" : ", beside " + baseline},
                                                   {"{{example}}", Example(arch, request.abi)}});
}

PromptPart MakePart(const char* name, std::string text) {
  const uint64_t bytes = text.size(), tokens = EstimateTokens(text);
  return {name, std::move(text), bytes, tokens};
}

}  // namespace

absl::StatusOr<KnowledgeParts> ParseKnowledgeParts(absl::string_view untrusted) {
  if (untrusted == "all") return KnowledgeParts();
  KnowledgeParts parts = {false, false, false};
  if (untrusted == "none") return parts;
  for (absl::string_view word : absl::StrSplit(untrusted, ',')) {
    word = absl::StripAsciiWhitespace(word);
    if (word == "params") {
      parts.params = true;
    } else if (word == "templates") {
      parts.templates = true;
    } else if (word == "contract") {
      parts.contract = true;
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "--knowledge must be params, templates and contract, separated by commas, or all, or none, not \"", word,
          "\".", DidYouMean(std::string(word), {"params", "templates", "contract", "all", "none"})));
    }
  }
  return parts;
}

std::string KnowledgePartsText(const KnowledgeParts& parts) {
  std::vector<const char*> words;
  if (parts.params) words.push_back("params");
  if (parts.templates) words.push_back("templates");
  if (parts.contract) words.push_back("contract");
  return words.empty() ? "none" : absl::StrJoin(words, ",");
}

absl::StatusOr<Prompt> MakePrompt(const PromptRequest& request) {
  const Architecture* arch = FindArchitecture(request.arch);
  if (arch == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("no knowledge of the architecture \"", request.arch, "\": there are sm_90a and sm_100a"));
  Prompt prompt;
  prompt.parts.push_back(MakePart("role", Role(*arch)));
  if (request.parts.params) prompt.parts.push_back(MakePart("params", Params(*arch)));
  if (request.parts.templates) prompt.parts.push_back(MakePart("templates", Templates(*arch)));
  if (request.parts.contract) prompt.parts.push_back(MakePart("contract", Contract(*arch, request)));
  prompt.system = absl::StrJoin(prompt.parts, "\n", [](std::string* out, const PromptPart& p) { out->append(p.text); });
  if (request.workload.name().empty()) return prompt;
  prompt.task = TaskText(request.workload, request.arch, request.abi);
  prompt.parts.push_back(MakePart("task", prompt.task));
  return prompt;
}

}  // namespace sassay::agent
