#include "profiler_service/admission/code_digest.h"

#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "common/bundle/elf.h"
#include "common/bundle/ptx_words.h"

namespace sassay::admission {
namespace {

// SASS since Volta: 16 bytes an instruction, the opcode in the low twelve bits.
constexpr uint64_t kInstructionBytes = 16;
constexpr uint16_t kNop = 0x918, kBra = 0x947;

std::string Half(const std::string& sha256_hex) { return sha256_hex.substr(0, 32); }

uint64_t WithoutFill(absl::string_view code) {
  uint64_t count = code.size() / kInstructionBytes;
  while (count > 0) {
    const uint16_t opcode = ReadAt<uint16_t>(code, (count - 1) * kInstructionBytes).value_or(0) & 0xfff;
    if (opcode != kNop && opcode != kBra) break;
    --count;
  }
  return count;
}

bool IsIdentifier(absl::string_view word) {
  return absl::ascii_isalpha(word[0]) || word[0] == '_' || word[0] == '$' || word[0] == '%';
}

// "%tid.x" and the like say something; "%r12" only which.
bool IsSpecialRegister(absl::string_view word) { return word[0] == '%' && !absl::ascii_isdigit(word.back()); }

// One body, from behind its opening brace.
class BodyReader {
 public:
  explicit BodyReader(PtxWords& words) : words_(words) {}

  CodeDigest Read() {
    int depth = 1;
    bool begins = true;
    for (absl::string_view word = words_.Next(); !word.empty(); word = words_.Next()) {
      if (word == "{") ++depth;
      if (word == "}" && --depth == 0) break;
      begins = Take(word, begins);
    }
    CodeDigest read;
    read.digest = Half(Sha256Hex(text_));
    read.instructions = instructions_;
    return read;
  }

 private:
  // Whether a statement begins behind the word.
  bool Take(absl::string_view word, bool begins) {
    if (word == ".loc" || word == ".file") return words_.SkipLine(), begins;
    if (begins && word == ".reg") return SkipStatement(), true;
    if (begins && IsIdentifier(word) && words_.Peek() == ":") {
      absl::StrAppend(&text_, Renamed(word), words_.Next(), "\n");
      return true;
    }
    if (begins && word == "@") return TakePredicate(), true;
    if (begins && IsIdentifier(word)) {
      ++instructions_;
      absl::StrAppend(&text_, word, " ");
      return false;
    }
    absl::StrAppend(&text_, IsIdentifier(word) && !IsSpecialRegister(word) ? Renamed(word) : std::string(word), " ");
    return word == ";" || word == "{" || word == "}";
  }

  void TakePredicate() {
    absl::StrAppend(&text_, "@");
    absl::string_view word = words_.Next();
    if (word == "!") {
      absl::StrAppend(&text_, word);
      word = words_.Next();
    }
    absl::StrAppend(&text_, word.empty() ? "" : Renamed(word), " ");
  }

  void SkipStatement() {
    for (absl::string_view word = words_.Next(); !word.empty() && word != ";"; word = words_.Next()) continue;
  }

  // "%rd4.x" is a part of a vector: the part stays.
  std::string Renamed(absl::string_view word) {
    const size_t dot = word.find('.');
    const absl::string_view part = dot == absl::string_view::npos ? "" : word.substr(dot);
    const auto [at, is_new] = names_.emplace(word.substr(0, dot), names_.size());
    return absl::StrCat("#", at->second, part);
  }

  PtxWords& words_;
  std::map<absl::string_view, size_t> names_;
  std::string text_;
  uint64_t instructions_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<CodeDigest>> MachineCodeDigests(absl::string_view untrusted_elf) {
  ASSIGN_OR_RETURN(const Elf elf, Elf::Parse(untrusted_elf));
  std::vector<CodeDigest> digests;
  for (const ElfSection& section : elf.sections()) {
    absl::string_view name = section.name;
    if (!absl::ConsumePrefix(&name, ".text.") || section.bytes.empty()) continue;
    digests.push_back({std::string(name), Half(Sha256Hex(section.bytes)), WithoutFill(section.bytes)});
  }
  return digests;
}

std::vector<CodeDigest> PtxCodeDigests(absl::string_view untrusted_ptx) {
  std::vector<CodeDigest> digests;
  PtxWords words(untrusted_ptx);
  for (absl::string_view word = words.Next(); !word.empty(); word = words.Next()) {
    if (word != ".entry") continue;
    const std::string symbol(words.Next());
    // A declaration has no body.
    while (!word.empty() && word != "{" && word != ";") word = words.Next();
    if (word != "{") continue;
    digests.push_back(BodyReader(words).Read());
    digests.back().symbol = symbol;
  }
  return digests;
}

}  // namespace sassay::admission
