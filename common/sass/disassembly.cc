#include "common/sass/disassembly.h"

#include <algorithm>
#include <future>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/sass/families.h"

namespace sassay {
namespace {

// Of every architecture since sm_70.
constexpr uint64_t kInstructionBytes = 16;
constexpr uint64_t kTextLimit = uint64_t{256} << 20;
constexpr const char* kCubinInside = "/work/candidate.cubin";

// What the line markers before an instruction said last.
struct SourceLine {
  std::string file;
  uint32_t line = 0;
};

// "@!P1 BRA `(.L_x_3) ;  /* 0x… */" -> "BRA".
absl::string_view Opcode(absl::string_view text) {
  if (absl::StartsWith(text, "@")) {
    text = absl::StripLeadingAsciiWhitespace(text.substr(std::min(text.size(), text.find_first_of(" \t"))));
  }
  return text.substr(0, text.find_first_of(" \t;"));
}

// "/*01b0*/   @!P1 BRA `(.L_x_3) ;": the offset, and `line` becomes what follows it; false for other lines.
bool ConsumeOffset(absl::string_view& line, uint64_t& offset) {
  line = absl::StripAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "/*")) return false;
  const size_t end = line.find_first_not_of("0123456789abcdef");
  if (end == absl::string_view::npos || !absl::StartsWith(line.substr(end), "*/")) return false;
  if (!absl::SimpleHexAtoi(line.substr(0, end), &offset)) return false;
  line = absl::StripLeadingAsciiWhitespace(line.substr(end + 2));
  absl::ConsumePrefix(&line, "{");
  line = absl::StripLeadingAsciiWhitespace(line);
  return true;
}

// What follows an offset: {"BRA", "@!P1 BRA `(.L_x_3)"}; false if it is no instruction.
bool ParseInstruction(absl::string_view line, SassInstruction& instruction) {
  const absl::string_view opcode = Opcode(line);
  if (opcode.empty() || !absl::ascii_isupper(opcode[0])) return false;
  instruction.opcode = std::string(opcode);
  const absl::string_view text = absl::StripTrailingAsciiWhitespace(line.substr(0, line.find(';')));
  instruction.text = std::string(text.substr(0, SassInstruction::kMaxTextBytes));
  return true;
}

// `//## File "/work/kernel.cu", line 11` and, of inlined code, what follows it; false for other lines.
bool ParseSourceLine(absl::string_view line, SourceLine& source) {
  line = absl::StripLeadingAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "//## File \"")) return false;
  const size_t end = line.find("\", line ");
  if (end == absl::string_view::npos) return false;
  const absl::string_view path = line.substr(0, end);
  const absl::string_view rest = line.substr(end + 8);
  uint32_t number = 0;
  if (!absl::SimpleAtoi(rest.substr(0, rest.find_first_not_of("0123456789")), &number)) return false;
  source.line = number;
  source.file = std::string(path.substr(path.rfind('/') + 1));
  return true;
}

// Reads a listing line by line and believes nothing that a compiler would not have written.
class Listing {
 public:
  absl::Status Add(absl::string_view line) {
    absl::string_view label = line;
    if (absl::ConsumePrefix(&label, ".text.") && absl::ConsumeSuffix(&label, ":")) return Begin(label);
    uint64_t offset = 0;
    if (current_ != nullptr && ConsumeOffset(line, offset)) return AddInstruction(offset, line);
    ParseSourceLine(line, source_);
    return absl::OkStatus();
  }

  Disassembly Take() { return std::move(functions_); }

 private:
  absl::Status Begin(absl::string_view label) {
    const auto [function, is_new] = functions_.try_emplace(std::string(label));
    if (!is_new) return Forged("the function is there twice", label);
    name_ = function->first;
    current_ = &function->second;
    source_ = SourceLine();
    return absl::OkStatus();
  }

  absl::Status AddInstruction(uint64_t offset, absl::string_view text) {
    const uint64_t expected = current_->size() * kInstructionBytes;
    if (offset != expected) {
      return Forged(absl::StrCat("an instruction at 0x", absl::Hex(offset), ", expected 0x", absl::Hex(expected)),
                    name_);
    }
    SassInstruction instruction;
    if (!ParseInstruction(text, instruction)) {
      return Forged(absl::StrCat("no instruction at 0x", absl::Hex(offset)), name_);
    }
    instruction.pc_offset = offset;
    instruction.source_file = source_.file;
    instruction.source_line = source_.line;
    current_->push_back(std::move(instruction));
    return absl::OkStatus();
  }

  static absl::Status Forged(absl::string_view what, absl::string_view function) {
    return absl::DataLossError(absl::StrCat("the disassembly cannot be believed: ", what, " in ", function));
  }

  Disassembly functions_;
  std::string name_;
  std::vector<SassInstruction>* current_ = nullptr;
  SourceLine source_;
};

bool SameCode(const std::vector<SassInstruction>& a, const std::vector<SassInstruction>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const SassInstruction& x, const SassInstruction& y) { return x.opcode == y.opcode; });
}

bool SameFunctions(const Disassembly& a, const Disassembly& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && SameCode(x.second, y.second); });
}

absl::StatusOr<ExitReport> Run(const Toolchain& toolchain, const TemporaryDirectory& folder,
                               const std::vector<std::string>& options, absl::Duration timeout,
                               const AllowUnsandboxed* unsandboxed) {
  Command command;
  command.argv = {unsandboxed != nullptr ? toolchain.nvdisasm : ToolInside(toolchain, toolchain.nvdisasm)};
  command.argv.insert(command.argv.end(), options.begin(), options.end());
  command.argv.push_back(unsandboxed != nullptr ? (folder.path() / "candidate.cubin").string() : kCubinInside);
  command.environment = {{"PATH", "/usr/bin:/bin"}};
  SandboxPolicy policy;
  policy.read_only = ToolMounts(toolchain, toolchain.nvdisasm);
  policy.writable = {{folder.path().string(), "/work"}};
  policy.address_space_bytes = uint64_t{8} << 30;
  policy.cpu_time = timeout;
  ASSIGN_OR_RETURN(command, unsandboxed != nullptr ? WrapWithoutSandbox(command, policy, *unsandboxed)
                                                   : WrapInSandbox(command, policy));
  return RunToCompletion(command, timeout, kTextLimit);
}

absl::Status CheckReport(const ExitReport& report) {
  if (report.kind == ExitReport::Kind::kTimedOut) {
    return absl::DeadlineExceededError(absl::StrCat("nvdisasm was ", DescribeExit(report)));
  }
  if (report.Succeeded()) return absl::OkStatus();
  RETURN_IF_ERROR(SandboxFailure(report));
  absl::string_view first = report.stderr_text;
  first = absl::StripAsciiWhitespace(first.substr(0, first.find('\n')));
  return absl::InvalidArgumentError(absl::StrCat("nvdisasm refuses the cubin: ", DescribeExit(report), ": ", first));
}

// The text that nvdisasm prints with these options.
absl::StatusOr<std::string> ListingOf(const Toolchain& toolchain, absl::string_view untrusted_cubin,
                                      const std::vector<std::string>& options, absl::Duration timeout,
                                      const AllowUnsandboxed* unsandboxed) {
  if (toolchain.nvdisasm.empty()) {
    return absl::NotFoundError("nvdisasm is not there: .venv/bin/pip install --no-deps nvidia-cuda-nvdisasm");
  }
  ASSIGN_OR_RETURN(TemporaryDirectory folder, TemporaryDirectory::Create("sassay-nvdisasm"));
  RETURN_IF_ERROR(WriteFileAtomically(folder.path() / "candidate.cubin", untrusted_cubin));
  ASSIGN_OR_RETURN(ExitReport report, Run(toolchain, folder, options, timeout, unsandboxed));
  RETURN_IF_ERROR(CheckReport(report));
  return std::move(report.stdout_text);
}

}  // namespace

absl::StatusOr<Disassembly> ParseDisassembly(absl::string_view untrusted_text) {
  Listing listing;
  for (absl::string_view line : absl::StrSplit(untrusted_text, '\n')) RETURN_IF_ERROR(listing.Add(line));
  return listing.Take();
}

void AddSourceLines(absl::string_view untrusted_text, Disassembly& code) {
  const auto lined = ParseDisassembly(untrusted_text);
  if (!lined.ok() || !SameFunctions(*lined, code)) return;
  for (auto& [function, instructions] : code) {
    const std::vector<SassInstruction>& with_lines = lined->at(function);
    for (size_t i = 0; i < instructions.size(); ++i) {
      instructions[i].source_file = with_lines[i].source_file;
      instructions[i].source_line = with_lines[i].source_line;
    }
  }
}

absl::StatusOr<Disassembly> Disassemble(const Toolchain& toolchain, absl::string_view untrusted_cubin,
                                        absl::Duration timeout, const AllowUnsandboxed* unsandboxed) {
  ASSIGN_OR_RETURN(const std::string text, ListingOf(toolchain, untrusted_cubin, {"-c"}, timeout, unsandboxed));
  return ParseDisassembly(text);
}

absl::StatusOr<Disassembly> DisassembleWithLines(const Toolchain& toolchain, absl::string_view untrusted_cubin,
                                                 absl::Duration timeout, const AllowUnsandboxed* unsandboxed) {
  auto lines = std::async(std::launch::async, [&] {
    return ListingOf(toolchain, untrusted_cubin, {"-c", "-g"}, timeout, unsandboxed);
  });
  ASSIGN_OR_RETURN(Disassembly code, Disassemble(toolchain, untrusted_cubin, timeout, unsandboxed));
  if (const auto text = lines.get(); text.ok()) AddSourceLines(*text, code);
  return code;
}

std::map<std::string, uint32_t> CountFamilies(const std::vector<SassInstruction>& instructions) {
  std::map<std::string, uint32_t> counts;
  for (const auto& instruction : instructions) {
    if (std::string family = SassFamily(instruction.opcode); !family.empty()) ++counts[family];
  }
  return counts;
}

}  // namespace sassay
