#include "agent/models/answer.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/utf8.h"

namespace sassay::agent {
namespace {

constexpr size_t kMaxAnswerBytes = 16 << 20;
constexpr size_t kMaxCodeBytes = 1 << 20;

// A fenced code block.
struct Block {
  // First word behind the fence, lower case.
  std::string tag;
  // Everything between the fences.
  absl::string_view text;
  // Blanks before the fence, which do not belong to the lines either.
  size_t indent = 0;
  bool closed = false;
};

// A line that may be a fence.
struct Fence {
  char mark = 0;
  size_t length = 0;
  size_t indent = 0;
  absl::string_view info;
};

// As CommonMark 4.5 has it, but however far it is indented: models put code into lists.
bool ReadFence(absl::string_view line, Fence& fence) {
  fence.indent = std::min(line.find_first_not_of(" \t"), line.size());
  line.remove_prefix(fence.indent);
  if (line.empty() || (line[0] != '`' && line[0] != '~')) return false;
  fence.mark = line[0];
  fence.length = std::min(line.find_first_not_of(fence.mark), line.size());
  fence.info = absl::StripAsciiWhitespace(line.substr(fence.length));
  return fence.length >= 3 && (fence.mark == '~' || fence.info.find('`') == absl::string_view::npos);
}

// "cuda" for "CUDA", "{.cuda}", "cuda:kernel.cu" and "cuda title=x"; "cu" for "src/kernel.cu".
std::string TagOf(absl::string_view info) {
  while (!info.empty() && (info[0] == '{' || info[0] == '.')) info.remove_prefix(1);
  std::string tag = absl::AsciiStrToLower(info.substr(0, std::min<size_t>(info.find_first_of(" \t:,;={}()"), 64)));
  const size_t dot = tag.rfind('.');
  return dot == std::string::npos ? tag : tag.substr(dot + 1);
}

bool IsWrapper(absl::string_view tag) { return tag == "markdown" || tag == "md"; }

// Splits an answer into its blocks.
class BlockReader {
 public:
  explicit BlockReader(absl::string_view text) : text_(text) {}

  std::vector<Block> Read() {
    for (size_t begin = 0; begin < text_.size();) {
      const size_t end = std::min(text_.find('\n', begin), text_.size());
      TakeLine(begin, end);
      begin = end + 1;
    }
    if (open_) Close(text_.size(), false);
    return std::move(blocks_);
  }

  // After Read(): the lines outside of all blocks.
  std::string TakeProse() { return std::move(prose_); }

 private:
  void TakeLine(size_t begin, size_t end) {
    Fence fence;
    const absl::string_view line = text_.substr(begin, end - begin);
    if (!ReadFence(line, fence)) {
      if (!open_) absl::StrAppend(&prose_, line, "\n");
      return;
    }
    if (!open_) return Open(fence, end);
    if (fence.mark != fence_.mark || fence.length < fence_.length) return;
    if (fence.info.empty()) return Close(begin, true);
    // Markdown about markdown: the inner block counts.
    if (IsWrapper(TagOf(fence_.info))) Open(fence, end);
  }

  void Open(const Fence& fence, size_t end_of_line) {
    open_ = true;
    fence_ = fence;
    begin_ = std::min(end_of_line + 1, text_.size());
  }

  void Close(size_t end, bool closed) {
    open_ = false;
    const absl::string_view text = text_.substr(begin_, end - begin_);
    if (absl::StripAsciiWhitespace(text).empty()) return;
    blocks_.push_back({TagOf(fence_.info), text, fence_.indent, closed});
  }

  const absl::string_view text_;
  bool open_ = false;
  Fence fence_;
  size_t begin_ = 0;
  std::vector<Block> blocks_;
  std::string prose_;
};

// The text without the fence's own indentation.
std::string Dedent(const Block& block) {
  if (block.indent == 0) return std::string(block.text);
  std::string code;
  for (size_t begin = 0; begin < block.text.size();) {
    const size_t end = std::min(block.text.find('\n', begin), block.text.size() - 1) + 1;
    absl::string_view line = block.text.substr(begin, end - begin);
    for (size_t i = 0; i < block.indent && !line.empty() && (line[0] == ' ' || line[0] == '\t'); ++i)
      line.remove_prefix(1);
    code.append(line.data(), line.size());
    begin = end;
  }
  return code;
}

bool IsIn(Language language, absl::string_view tag) {
  static const auto* const kCuda =
      new std::set<absl::string_view>{"cuda", "cu", "cuh", "cpp", "c++", "cc", "cxx", "c", "h", "hpp", "cuda-cpp"};
  static const auto* const kTriton = new std::set<absl::string_view>{"python", "py", "python3", "triton"};
  return (language == Language::kCuda ? kCuda : kTriton)->count(tag) != 0;
}

bool IsWordCharacter(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The code without C++ comments: an entry point in a comment is none.
std::string WithoutComments(absl::string_view code) {
  std::string rest;
  while (!code.empty()) {
    const size_t slash = code.find('/');
    rest.append(code.data(), std::min(slash, code.size()));
    if (slash == absl::string_view::npos) break;
    code.remove_prefix(slash);
    const bool line = absl::StartsWith(code, "//"), block = absl::StartsWith(code, "/*");
    if (!line && !block) {
      rest += '/';
      code.remove_prefix(1);
      continue;
    }
    const size_t end = code.find(line ? "\n" : "*/", line ? 0 : 2);
    if (end == absl::string_view::npos) break;
    code.remove_prefix(end + (line ? 0 : 2));
    rest += ' ';
  }
  return rest;
}

// Whether `name`, a word of its own, is followed by '('.
bool Calls(absl::string_view code, absl::string_view name) {
  for (size_t at = code.find(name); at != absl::string_view::npos; at = code.find(name, at + 1)) {
    if (at > 0 && IsWordCharacter(code[at - 1])) continue;
    const absl::string_view after = absl::StripLeadingAsciiWhitespace(code.substr(at + name.size()));
    if (absl::StartsWith(after, "(")) return true;
  }
  return false;
}

bool HasEntryPoint(Language language, absl::string_view code) {
  if (language == Language::kTriton) {
    return absl::StartsWith(code, "def run(") || absl::StrContains(code, "\ndef run(");
  }
  const std::string bare = WithoutComments(code);
  const bool exported = absl::StrContains(bare, "extern \"C\"") && Calls(bare, "run");
  return exported || absl::StrContains(bare, "TVM_FFI_DLL_EXPORT_TYPED_FUNC(run");
}

const char* FenceFor(Language language) { return language == Language::kCuda ? "```cuda" : "```python"; }

ExtractedCode None(v1::Extraction extraction, std::string reason) { return {extraction, "", std::move(reason)}; }

// The one block among those that pass, or one of several equal ones. Null if there is none or several differ, which
// `several` tells.
template <typename Passes>
const Block* TheOne(const std::vector<Block>& blocks, const Passes& passes, bool& several) {
  const Block* one = nullptr;
  several = false;
  for (const Block& block : blocks) {
    if (!passes(block)) continue;
    if (one != nullptr && absl::StripAsciiWhitespace(one->text) != absl::StripAsciiWhitespace(block.text))
      several = true;
    one = &block;
  }
  return several ? nullptr : one;
}

ExtractedCode Use(const Block& block, bool cut) {
  if (!block.closed && cut) {
    return None(v1::EXTRACTION_CUT, "The answer was cut at its length limit before the code block ended.");
  }
  if (block.text.size() > kMaxCodeBytes) {
    return None(v1::EXTRACTION_UNUSABLE,
                absl::StrCat("The code has ", block.text.size(), " bytes; at most ", kMaxCodeBytes, " are accepted."));
  }
  const size_t bad = std::min(FirstInvalidUtf8(block.text), block.text.find('\0'));
  if (bad != absl::string_view::npos) {
    return None(v1::EXTRACTION_UNUSABLE, absl::StrCat("Byte ", bad, " of the code is no text."));
  }
  return {v1::EXTRACTION_CODE, Dedent(block), ""};
}

}  // namespace

std::string ProseOf(absl::string_view untrusted_answer) {
  BlockReader reader(untrusted_answer);
  reader.Read();
  return std::string(absl::StripAsciiWhitespace(reader.TakeProse()));
}

ExtractedCode ExtractCode(absl::string_view untrusted_answer, Language language, bool cut) {
  if (untrusted_answer.size() > kMaxAnswerBytes) {
    return None(v1::EXTRACTION_UNUSABLE, absl::StrCat("The answer has ", untrusted_answer.size(), " bytes."));
  }
  const std::vector<Block> blocks = BlockReader(untrusted_answer).Read();
  const auto has_entry = [&](const Block& block) { return HasEntryPoint(language, block.text); };
  const auto in_language = [&](const Block& block) { return IsIn(language, block.tag); };
  const auto may_be_code = [&](const Block& block) { return block.tag.empty() || in_language(block); };
  // What was being written when the answer was cut was to be the last word.
  if (cut && !blocks.empty() && !blocks.back().closed && (may_be_code(blocks.back()) || has_entry(blocks.back()))) {
    return Use(blocks.back(), cut);
  }
  bool several = false;
  if (const Block* block = TheOne(blocks, has_entry, several)) return Use(*block, cut);
  if (several) {
    return None(
        v1::EXTRACTION_AMBIGUOUS,
        absl::StrCat("Several different code blocks define run. Answer with the whole candidate in exactly one ",
                     FenceFor(language), " block."));
  }
  if (const Block* block = TheOne(blocks, in_language, several)) return Use(*block, cut);
  bool untagged_several = false;
  const Block* block = several ? nullptr : TheOne(blocks, may_be_code, untagged_several);
  if (block != nullptr) return Use(*block, cut);
  if (several || untagged_several) {
    return None(v1::EXTRACTION_AMBIGUOUS,
                absl::StrCat("Several code blocks, none of which defines run. Answer with the "
                             "whole candidate in exactly one ",
                             FenceFor(language), " block."));
  }
  return None(v1::EXTRACTION_NO_CODE,
              absl::StrCat(cut ? "The answer was cut at its length limit before it came to code."
                               : "The answer holds no code block.",
                           " Answer with the whole candidate in exactly one ", FenceFor(language), " block."));
}

}  // namespace sassay::agent
