#include "common/sass/disassembly.h"

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

// "/*01b0*/   @!P1 BRA `(.L_x_3) ;" -> {0x1b0, "BRA", "@!P1 BRA `(.L_x_3)"}; false for other lines.
bool ParseInstruction(absl::string_view line, SassInstruction& instruction) {
  line = absl::StripAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "/*")) return false;
  const size_t end = line.find("*/");
  if (end == absl::string_view::npos || !absl::SimpleHexAtoi(line.substr(0, end), &instruction.pc_offset)) return false;
  line = absl::StripLeadingAsciiWhitespace(line.substr(end + 2));
  absl::ConsumePrefix(&line, "{");
  line = absl::StripLeadingAsciiWhitespace(line);
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

absl::StatusOr<ExitReport> Run(const Toolchain& toolchain, const TemporaryDirectory& folder, absl::Duration timeout,
                               const AllowUnsandboxed* unsandboxed) {
  std::string file = (folder.path() / "candidate.cubin").string();
  Command command;
  command.argv = {unsandboxed != nullptr ? toolchain.nvdisasm : ToolInside(toolchain, toolchain.nvdisasm), "-c", "-g",
                  unsandboxed != nullptr ? file : kCubinInside};
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

}  // namespace

Disassembly ParseDisassembly(absl::string_view untrusted_text) {
  Disassembly functions;
  std::vector<SassInstruction>* current = nullptr;
  SourceLine source;
  for (absl::string_view line : absl::StrSplit(untrusted_text, '\n')) {
    SassInstruction instruction;
    absl::string_view label = line;
    if (absl::ConsumePrefix(&label, ".text.") && absl::ConsumeSuffix(&label, ":")) {
      current = &functions[std::string(label)];
      source = SourceLine();
    } else if (current != nullptr && ParseInstruction(line, instruction)) {
      instruction.source_file = source.file;
      instruction.source_line = source.line;
      current->push_back(std::move(instruction));
    } else {
      ParseSourceLine(line, source);
    }
  }
  return functions;
}

absl::StatusOr<Disassembly> Disassemble(const Toolchain& toolchain, absl::string_view untrusted_cubin,
                                        absl::Duration timeout, const AllowUnsandboxed* unsandboxed) {
  if (toolchain.nvdisasm.empty()) {
    return absl::NotFoundError("nvdisasm is not there: .venv/bin/pip install --no-deps nvidia-cuda-nvdisasm");
  }
  ASSIGN_OR_RETURN(TemporaryDirectory folder, TemporaryDirectory::Create("sassay-nvdisasm"));
  RETURN_IF_ERROR(WriteFileAtomically(folder.path() / "candidate.cubin", untrusted_cubin));
  ASSIGN_OR_RETURN(ExitReport report, Run(toolchain, folder, timeout, unsandboxed));
  RETURN_IF_ERROR(CheckReport(report));
  return ParseDisassembly(report.stdout_text);
}

std::map<std::string, uint32_t> CountFamilies(const std::vector<SassInstruction>& instructions) {
  std::map<std::string, uint32_t> counts;
  for (const auto& instruction : instructions) {
    if (std::string family = SassFamily(instruction.opcode); !family.empty()) ++counts[family];
  }
  return counts;
}

}  // namespace sassay
